"""Detections: rules over the rows of a table; what they find are hits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.duration import parse_duration
from tailpipe.model.names import check_reference_name
from tailpipe.model.notifier import Notifier
from tailpipe.model.option import Declared, fact, label, option

HIT_TABLE = "detection_hit"
HITS = f"{HIT_TABLE}.hits"
"""The partition that hits are stored in."""
NEW_ROWS = "new_rows"
"""What the statement of a detection calls the rows that it has not seen yet."""
MOST_STEPS = 20
"""Conditions in `steps`; each costs a pass over the rows that are counted."""
SEVERITIES = ("info", "low", "medium", "high", "critical")
"""From the least to the most urgent."""

Severity = Literal["info", "low", "medium", "high", "critical"]

_TACTIC = r"TA\d{4}"
_TECHNIQUE = r"T\d{4}(?:\.\d{3})?"
_MITRE = re.compile(rf"{_TACTIC}(?::{_TECHNIQUE})?|{_TECHNIQUE}")
_LONGEST = timedelta(days=366)


def _check_mitre(tags: Sequence[str]) -> None:
    for tag in tags:
        if not _MITRE.fullmatch(tag):
            hint = "write a tactic, a technique, or both: TA0001, T1078, TA0001:T1078.004"
            raise UsageError(f'"{tag}" is not a tactic or technique of MITRE ATT&CK', hint=hint)


def _check_threshold(threshold: int) -> None:
    if threshold < 1:
        raise UsageError("threshold must be at least 1")


def _check_span(text: str) -> None:
    if not timedelta(0) < parse_duration(text) <= _LONGEST:
        raise UsageError(f'"{text}" is not a duration from 1us to 366d', hint="such as 90s, 10m, 24h or 7d")


def _check_events(events: Sequence[Any]) -> None:
    for case in events:
        for event in case if isinstance(case, tuple | list) else (case,):
            if not isinstance(event, str | dict) or not event:
                hint = "an event is a map of columns, or the text of log lines; events that belong together are a list"
                raise UsageError("expected an event", hint=hint)
        if not case:
            raise UsageError("a case has no event")


class Detection(Declared):
    """A rule over the new rows of a table; every row, group or new value that it finds is a hit."""

    name: str = label("Name of the detection, as the command line spells it.", check=check_reference_name)
    table: str = option("Table whose rows are examined.")
    title: str | None = option("What a hit means, in a few words.", default=None)
    description: str | None = option("Why it matters, and what to do about a hit.", default=None)
    where: str | None = option("DuckDB SQL condition on a row of the table.", default=None)
    sql: str | None = option(
        "DuckDB SQL query over `new_rows`, the rows to examine, that returns the `tp_id` of those that are found.",
        default=None,
    )
    severity: Severity = option("How urgent a hit is.", default="medium")
    mitre: Sequence[str] = option(
        "Tactics and techniques of MITRE ATT&CK, such as `TA0001:T1078`.", default=(), check=_check_mitre
    )
    tags: Sequence[str] = option("Words that select detections.", default=())
    group_by: Sequence[str] = option("SQL expressions; rows with equal values form a group.", default=())
    threshold: int | None = option("Number of rows of a group that make a hit.", default=None, check=_check_threshold)
    distinct: str | None = option(
        "SQL expression whose distinct values are counted for `threshold`, instead of rows.", default=None
    )
    steps: Sequence[str] = option(
        "SQL conditions on rows of a group that must all be met within `within`, in this order.", default=()
    )
    ordered: bool = option("Whether rows must meet `steps` in their order.", default=True)
    within: str | None = option(
        "Longest time between the rows of a threshold or of steps, such as `10m`.", default=None, check=_check_span
    )
    first_seen: Sequence[str] = option(
        "SQL expressions; only the first row with new values is a hit. The first run learns values and reports none.",
        default=(),
    )
    suppress: str | None = option(
        "Time around a hit in which the same group makes no other, such as `1h`.", default=None, check=_check_span
    )
    show: Sequence[str] = option("Columns that a hit shows; all that have a value without it.", default=())
    notify: Sequence[Notifier] = option("Notifiers that hits are sent to.", default=())
    must_hit: Sequence[Any] = option(
        "Events that must make a hit, for `tailpipe detection test`: each a map of columns, the text of log lines, or a"
        " list of related events.",
        default=(),
        check=_check_events,
    )
    must_not_hit: Sequence[Any] = option("Events that must make no hit.", default=(), check=_check_events)
    is_shipped: bool = fact("Whether a plugin brings it.", default=False)
    origin: str = fact("The file that it comes from, if it is no block of the config.", default="")

    @property
    def window(self) -> timedelta:
        """The longest time between the rows of a threshold."""
        return parse_duration(self.within) if self.within else timedelta(0)

    @property
    def quiet(self) -> timedelta:
        """The time around a hit in which the same group makes no other."""
        return parse_duration(self.suppress) if self.suppress else timedelta(0)

    @property
    def is_counting(self) -> bool:
        """Whether rows make a hit only together."""
        return self.threshold is not None or bool(self.steps)

    @property
    def condition(self) -> str:
        """The condition on a row that matters to the detection, unless it is a statement."""
        steps = " OR ".join(f"({step}\n)" for step in self.steps)
        return f"({self.where}\n) AND ({steps})" if self.where and steps else self.where or steps

    @property
    def version(self) -> str:
        """A print of all that decides what it finds: it changes if and only if that does."""
        import hashlib  # late, because a query needs none of it
        import json

        rule = [self.table, self.where, self.sql, list(self.group_by), self.threshold, self.distinct, self.within]
        rule += [list(self.first_seen), self.suppress]
        if self.steps:
            rule += [list(self.steps), self.ordered]
        return hashlib.sha256(json.dumps(rule).encode()).hexdigest()[:12]


class DetectionSet(Declared):
    """A choice of the detections that plugins bring; they run only if one is chosen."""

    name: str = label("Name of the set, for messages.", check=check_reference_name)
    names: Sequence[str] = option("Names of detections; wildcards are allowed.")
    exclude: Sequence[str] = option("Names of detections to skip; wildcards are allowed.", default=())
    min_severity: Severity = option("Least severity of the detections.", default="info")
    notify: Sequence[Notifier] = option("Notifiers that hits are sent to.", default=())


class SigmaRules(Declared):
    """Directories of Sigma rules that run over one table."""

    name: str = label("Name of the set; names of its detections begin with it.", check=check_reference_name)
    paths: Sequence[str] = option("Files or directories of YAML, relative to the config file; `~` is allowed.")
    table: str = option("Table whose rows are examined.")
    min_severity: Severity = option("Least level of the rules.", default="info")
    exclude: Sequence[str] = option("Ids, names or titles of rules to skip.", default=())
    values: Mapping[str, Sequence[str]] = option("Values of placeholders, by name.", default={})
    fields: Mapping[str, str] = option(
        "SQL expressions for fields that the table spells otherwise, by the name that rules use.", default={}
    )
    keywords: str | None = option("Column that rules of keywords are looked for in.", default=None)
    notify: Sequence[Notifier] = option("Notifiers that hits are sent to.", default=())


@frozen
class Flaw:
    """A problem between the options of a detection: the argument that is wrong, why, and what to do."""

    argument: str
    message: str
    hint: str = ""


def detection_flaws(one: Detection) -> list[Flaw]:
    """What is wrong with the arguments of a detection together."""
    found = []
    if (one.where is None and not one.steps) == (one.sql is None):
        both = "both where and sql" if one.sql is not None else "neither where nor sql"
        hint = f"write a condition as where, or a query over {NEW_ROWS} as sql"
        found.append(Flaw("sql" if one.sql else "", f'detection "{one.name}" has {both}', hint))
    for name, value in (("where", one.where), ("sql", one.sql), *(("steps", step) for step in one.steps)):
        if value is not None and not value.strip():
            found.append(Flaw(name, f"{name} is empty"))
    found += _counting_flaws(one)
    if one.group_by and not one.is_counting and one.suppress is None:
        hint = "without them, each row is a hit of its own"
        found.append(Flaw("group_by", "group_by needs threshold or suppress", hint))
    if one.sql is not None and one.threshold is not None:
        found.append(Flaw("sql", "sql and threshold exclude each other", "count in the statement, or write where"))
    return found


def _counting_flaws(one: Detection) -> list[Flaw]:
    found = []
    if one.threshold is not None and one.within is None:
        found.append(Flaw("threshold", "threshold needs within", 'say how long it counts: within = "10m"'))
    alone = [name for name in ("within", "distinct") if getattr(one, name) is not None and one.threshold is None]
    needing = [name for name in alone if name != "within" or not one.steps]
    found += [Flaw(name, f"{name} needs threshold", "say how many make a hit: threshold = 5") for name in needing]
    if one.first_seen and one.threshold is not None:
        found.append(Flaw("first_seen", "first_seen and threshold exclude each other", "write two detections"))
    if not one.steps:
        return found
    if one.within is None:
        found.append(Flaw("steps", "steps needs within", 'say how long all of them may take: within = "10m"'))
    if len(one.steps) == 1 or len(one.steps) > MOST_STEPS:
        found.append(Flaw("steps", f"steps must be 2 to {MOST_STEPS} conditions"))
    others = [name for name in ("sql", "threshold") if getattr(one, name) is not None]
    others += ["first_seen"] if one.first_seen else []
    found += [Flaw(name, f"{name} and steps exclude each other", "write two detections") for name in others]
    return found
