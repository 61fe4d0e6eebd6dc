"""What becomes of content that was collected and is not listed any more: it was removed, or its file was rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from tailpipe.collect.item import Cause, WorkItem
from tailpipe.collect.plan import Skip, UnitPlan
from tailpipe.collect.scope import Scope
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit

Identity = tuple[str, int]

LEFT = "no longer listed: its rows stay"
"""Why nothing is read of an artifact whose rows were to be overwritten."""

REWRITTEN = "rewritten since: the rows of its earlier content stay"
"""The same, if its source lists another content under that name."""

NOT_REPLACED = (LEFT, REWRITTEN)

ADDED = "rewritten: its new rows are added to those of its earlier content"
"""What a run without --overwrite says of a Day's file whose content is another one now."""


def rewritten_days(
    units: Iterable[UnitPlan], found: Set[Identity], entries: Mapping[Unit, Sequence[LedgerEntry]]
) -> dict[Unit, list[LedgerEntry]]:
    """The entries of planned Days whose file has new content now, while no listed file has theirs.

    A file that was corrected looks like a log that was cut: the rows stay, and are reported.
    """
    rewritten = {}
    for unit in units:
        new = {(one.source, one.artifact.uri) for one in unit.artifacts if one.entry is None}
        if new and unit.unit.day is not None:
            rewritten[unit.unit] = [
                entry
                for entry in entries.get(unit.unit, ())
                if entry.kind == "file" and entry.identity not in found and (entry.source, entry.uri) in new
            ]
    return rewritten


def left(
    units: Iterable[UnitPlan],
    found: Set[Identity],
    scopes: Mapping[str, Scope],
    lost: Mapping[Unit, DaySet],
    rewritten: Mapping[Unit, Sequence[LedgerEntry]],
) -> list[Skip]:
    """The artifacts of units that are done again which their source no longer lists, unless their day was dropped."""
    return [
        Skip(entry.source, entry.uri or entry.origin, LEFT)
        for unit in units
        if unit.unit.day not in lost.get(unit.unit, NO_DAYS)
        for entry in unit.keeps
        if entry.identity not in found and entry.source in scopes and entry not in rewritten.get(unit.unit, ())
    ]


def gone(
    units: Iterable[UnitPlan],
    items: Iterable[WorkItem],
    found: Set[Identity],
    scopes: Mapping[str, Scope],
    redone: Mapping[Unit, Cause],
    entries: Mapping[Unit, Sequence[LedgerEntry]],
) -> list[Skip]:
    """What was to be overwritten, and cannot be: no artifact has that content now, so its rows are all there is of it.

    A file may have been rewritten in place; what it holds now is another artifact, and is taken beside.
    """
    planned, listed = {unit.unit for unit in units}, {item.artifact.uri for item in items}
    return [
        Skip(entry.source, entry.uri or entry.origin, REWRITTEN if entry.uri in listed else LEFT)
        for unit, cause in redone.items()
        if cause == "overwritten" and unit not in planned
        for entry in entries[unit]
        if entry.identity not in found and entry.source in scopes
    ]


def stays(
    units: Iterable[UnitPlan], lost: Mapping[Unit, DaySet], rewritten: Mapping[Unit, Sequence[LedgerEntry]]
) -> list[Skip]:
    """The contents whose rows stay although something else is in their files now, unless their day was dropped."""
    return [
        Skip(entry.source, entry.uri or entry.origin, REWRITTEN if unit.reason == "overwritten" else ADDED)
        for unit in units
        if unit.unit.day not in lost.get(unit.unit, NO_DAYS)
        for entry in rewritten.get(unit.unit, ())
    ]
