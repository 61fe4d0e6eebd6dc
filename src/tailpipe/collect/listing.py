"""List a source's artifacts, and date them by their layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any

from tailpipe.collect.events import DatedNames, UnavailableArtifacts, UnlistedDays, UnmatchedFiles
from tailpipe.collect.item import WorkItem
from tailpipe.errors import TailpipeError
from tailpipe.formats.grok import compile_layout
from tailpipe.formats.path_templates import date_layout
from tailpipe.frozen import frozen
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import DaySet
from tailpipe.model.option import secrets_in
from tailpipe.model.redaction import Redactor
from tailpipe.model.source import Source
from tailpipe.model.table import PATH_COLUMNS, Table
from tailpipe.model.window import Window
from tailpipe.plugin.linear import Regex

_NAMES = 5000
"""How many names are searched for dates."""
_COUNTED = 100
"""After so many artifacts their number is reported."""


@frozen
class Listing:
    """What a source has listed; what its layout does not match, what it cannot give, and what is of other days."""

    listed: tuple[WorkItem, ...]
    unmatched_files: UnmatchedFiles | None = None
    unavailable_artifacts: tuple[UnavailableArtifacts, ...] = ()
    unlisted_days: UnlistedDays | None = None
    problems: tuple[str, ...] = ()
    """What of the source could not be listed, and why: nobody knows which days it holds."""
    dated_names: DatedNames | None = None
    is_cut: bool = False
    """Whether listing has stopped because it had been enough."""


def list_source(
    source: Source,
    table: Table,
    days: DaySet,
    *,
    today: date,
    count: Callable[[int], None] = lambda _: None,
    noticed: Callable[[Artifact], None] = lambda _: None,
    most: int | None = None,
) -> Listing:
    """The artifacts of these days, and those without a date; `most` limits how many are listed.

    `count` is called now and then with the number of artifacts so far, and `noticed` with each as it is listed.
    """
    # The window spans the days; artifacts without a date are listed in any case.
    start = datetime.combine(max(days.first or today, date(1970, 1, 1)), time(), UTC)
    end = datetime.combine(min(days.last or today, today), time(), UTC) + timedelta(days=1)
    text = getattr(source, "file_layout", None) or table.layout(source)
    layout = compile_layout(text, getattr(source, "patterns", None)) if text else None
    if text and hasattr(source, "file_layout"):
        laid_out: Any = source
        source = replace(laid_out, file_layout=text)  # one that knows the layout need not look everywhere
    listed: list[WorkItem] = []
    unavailable: dict[str, list[str]] = defaultdict(list)
    others: list[date] = []
    problems: list[str] = []
    seen, first, unmatched = 0, "", 0
    undated: list[str] = []
    for artifact in islice(_artifacts(source, Window(start, max(start, end))), most):
        seen += 1
        if seen % _COUNTED == 0:
            count(seen)
        if artifact.problem:
            problems.append(artifact.problem)
            continue
        if (artifact.kind == "range") != source.yields_events:
            raise TailpipeError(
                f"source {source.type} lists an artifact of the kind {artifact.kind}, but"
                f" {'yields events' if source.yields_events else 'gives bytes'}",
                hint="the plugin must list ranges and set yields_events, or do neither",
            )
        is_laid_out = bool(artifact.path) or not artifact.unavailable
        dated = _dated(artifact, layout) if layout and is_laid_out else artifact
        if dated is None:
            unmatched += 1
            first = first or artifact.path or artifact.uri
        elif dated.day is None or dated.day in days:
            if dated.unavailable:
                unavailable[dated.unavailable].append(dated.uri)
            else:
                listed.append(WorkItem(source.name, dated))
                noticed(dated)
                if not text and dated.day is None and dated.path and len(undated) < _NAMES:
                    undated.append(dated.path)
        else:
            others.append(dated.day)
    # A layout is proposed to a source that could have one, if most paths have a date.
    found = date_layout(undated) if hasattr(source, "file_layout") else None
    return Listing(
        tuple(listed),
        UnmatchedFiles(source.name, seen, unmatched, text or "", first) if unmatched or not seen else None,
        tuple(
            UnavailableArtifacts(source.name, reason, len(uris), min(uris))
            for reason, uris in sorted(unavailable.items())
        ),
        UnlistedDays(source.name, len(others), min(others), max(others)) if others else None,
        tuple(problems),
        DatedNames(source.name, len(undated), found[1], found[0]) if found else None,
        is_cut=seen == most,
    )


def is_permission(problem: str) -> bool:
    """Whether other permissions would let a part of a source be listed."""
    return problem.casefold().endswith("permission denied")


def _artifacts(source: Source, window: Window) -> Iterator[Artifact]:
    """What the source lists. An exception that a plugin did not expect fails this source, not the whole run."""
    try:
        yield from source.artifacts(window)
    except TailpipeError:
        raise
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        message = f'cannot list source "{source.name}": {words}'
        raise TailpipeError(Redactor(secrets_in(source))(message)) from error


@contextmanager
def released(sources: Iterable[Source], warn: Callable[[str], None]) -> Iterator[None]:
    """List sources of which nothing is collected: afterwards they give back what they have taken."""
    try:
        yield
    finally:
        for source in sources:
            try:
                source.release()
            except TailpipeError as error:
                warn(error.with_hint)


def _dated(artifact: Artifact, layout: Regex) -> Artifact | None:
    match = layout.fullmatch(artifact.path or artifact.uri)
    if match is None:
        return None
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    fields = {name: value for name, value in groups.items() if name in PATH_COLUMNS}
    return replace(artifact, day=_day(groups) or artifact.day, fields={**artifact.fields, **fields})


def _day(groups: dict[str, str]) -> date | None:
    """The day that the groups name; without all three of them, or with a day that does not exist, none."""
    try:
        return date(int(groups["year"]), int(groups["month"]), int(groups["day"]))
    except (KeyError, ValueError):
        return None
