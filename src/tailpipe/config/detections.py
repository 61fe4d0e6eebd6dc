"""Detections of a config: what no single option can tell, and which detections of plugins run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase

from tailpipe.config.syntax import Block, Span
from tailpipe.config.text import Problem
from tailpipe.errors import UsageError
from tailpipe.model.detection import Detection, DetectionSet, SigmaRules, detection_flaws
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.table import COMMON_COLUMNS, Table

__all__ = ["detection_problems", "find_detection", "is_in_set", "set_problems", "sigma_problems"]


def detection_problems(
    detection: Detection, block: Block, tables: Collection[str], table: Callable[[str], Table | None]
) -> Iterator[Problem]:
    """What is wrong with a detection as a whole; `table` gives the table of a name, if it is sound."""
    for flaw in detection_flaws(detection):
        yield Problem(flaw.message, _span(block, flaw.argument), flaw.hint)
    if detection.table not in tables:
        hint = did_you_mean(detection.table, tables, "see: tailpipe table list")
        yield Problem(f'unknown table "{detection.table}"', _span(block, "table"), hint)
    elif (found := table(detection.table)) is not None and not found.map_fields:
        yield from _event_problems(detection, block, found)
        yield from _column_problems(detection, block, found)


def _event_problems(detection: Detection, block: Block, table: Table) -> Iterator[Problem]:
    known = _columns(table)
    for name in ("must_hit", "must_not_hit"):
        for case in getattr(detection, name):
            for event in case if isinstance(case, tuple | list) else (case,):
                for key in event if isinstance(event, Mapping) else ():
                    if str(key).lower() not in known:
                        hint = did_you_mean(str(key), list(known), "an event is a map of columns")
                        yield Problem(f'table "{table.name}" has no column "{key}"', _span(block, name), hint)


def _column_problems(detection: Detection, block: Block, table: Table) -> Iterator[Problem]:
    known = _columns(table)
    for name in detection.show:
        if name.lower() not in known:
            hint = did_you_mean(name, list(known), f"see: tailpipe table show {table.name}")
            yield Problem(f'table "{table.name}" has no column "{name}"', _span(block, "show"), hint)


def _columns(table: Table) -> dict[str, None]:
    return {column.name.lower(): None for column in (*table.columns, *COMMON_COLUMNS)}


def sigma_problems(rules: SigmaRules, block: Block, tables: Collection[str]) -> Iterator[Problem]:
    """A table of a set of Sigma rules that does not exist; the rules are read when they are run."""
    if rules.table not in tables:
        hint = did_you_mean(rules.table, tables, "see: tailpipe table list")
        yield Problem(f'unknown table "{rules.table}"', _span(block, "table"), hint)


def set_problems(chosen: DetectionSet, block: Block, known: Collection[str]) -> Iterator[Problem]:
    """Names of a set that match no detection of a plugin."""
    for argument in ("names", "exclude"):
        for name in getattr(chosen, argument):
            if not any(fnmatchcase(one, name) for one in known):
                hint = did_you_mean(name, known, "see: tailpipe detection list --all")
                yield Problem(f'no detection of a plugin matches "{name}"', _span(block, argument), hint)


def is_in_set(chosen: DetectionSet, name: str) -> bool:
    """Whether a set chooses the detection of a plugin by its name."""
    return any(fnmatchcase(name, one) for one in chosen.names) and not any(
        fnmatchcase(name, one) for one in chosen.exclude
    )


def _span(block: Block, name: str) -> Span:
    return next((one.value.span for one in block.body.attributes if one.name == name), block.span)


def find_detection(name: str, known: Mapping[str, Detection]) -> Detection:
    """The detection of that name, or a `UsageError` that names the nearest."""
    if name not in known:
        raise UsageError(f"detection not found: {name}", hint=did_you_mean(name, known, "see: tailpipe detection list"))
    return known[name]
