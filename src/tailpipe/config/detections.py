"""Detections of a config: checks across options, and which detections of plugins run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase

from tailpipe.config.syntax import Block
from tailpipe.config.text import Problem
from tailpipe.errors import UsageError
from tailpipe.model.detection import Detection, DetectionSet, SigmaRules, detection_flaws
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.table import COMMON_COLUMNS, Table


def problems_of(
    value: Detection | DetectionSet | SigmaRules,
    block: Block,
    tables: Collection[str],
    table: Callable[[str], Table | None],
    shipped: Collection[str],
) -> Iterator[Problem]:
    """What is wrong with a block; `table` gives the table of a name, if it is sound, `shipped` are those of plugins."""
    if isinstance(value, DetectionSet):
        for argument in ("names", "exclude"):
            for name in getattr(value, argument):
                if not any(fnmatchcase(one, name) for one in shipped):
                    hint = did_you_mean(name, shipped, "see: tailpipe detection list --all")
                    yield Problem(f'no detection of a plugin matches "{name}"', block.span_of(argument), hint)
        return
    for flaw in detection_flaws(value) if isinstance(value, Detection) else ():
        yield Problem(flaw.message, block.span_of(flaw.argument), flaw.hint)
    if value.table not in tables:  # the rules of a SigmaRules are read when they are run
        hint = did_you_mean(value.table, tables, "see: tailpipe table list")
        yield Problem(f'unknown table "{value.table}"', block.span_of("table"), hint)
    elif isinstance(value, Detection) and (found := table(value.table)) is not None and not found.map_fields:
        yield from _column_problems(value, block, found)


def _column_problems(detection: Detection, block: Block, table: Table) -> Iterator[Problem]:
    known = {column.name.lower(): None for column in (*table.columns, *COMMON_COLUMNS)}
    keys = [
        (argument, str(key), "an event is a map of columns")
        for argument in ("must_hit", "must_not_hit")
        for case in getattr(detection, argument)
        for event in (case if isinstance(case, tuple | list) else (case,))
        for key in (event if isinstance(event, Mapping) else ())
    ]
    keys += [("show", name, f"see: tailpipe table show {table.name}") for name in detection.show]
    for argument, name, otherwise in keys:
        if name.lower() not in known:
            hint = did_you_mean(name, list(known), otherwise)
            yield Problem(f'table "{table.name}" has no column "{name}"', block.span_of(argument), hint)


def is_in_set(chosen: DetectionSet, name: str) -> bool:
    """Whether a set chooses the detection of a plugin by its name."""
    return any(fnmatchcase(name, one) for one in chosen.names) and not any(
        fnmatchcase(name, one) for one in chosen.exclude
    )


def find_detection(name: str, known: Mapping[str, Detection]) -> Detection:
    """The detection of that name, or a `UsageError` that names the nearest."""
    if name not in known:
        raise UsageError(f"detection not found: {name}", hint=did_you_mean(name, known, "see: tailpipe detection list"))
    return known[name]
