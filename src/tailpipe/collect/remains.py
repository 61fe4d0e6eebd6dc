"""What becomes of content that was collected and is not listed any more: it was removed, or its file was rewritten."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tailpipe.collect.item import Cause, WorkItem
from tailpipe.collect.plan import Skip, UnitPlan
from tailpipe.collect.scope import Scope
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit

__all__ = ["ADDED", "NOT_REPLACED", "REWRITTEN", "gone", "left", "rewritten_days", "stays"]

LEFT = "no longer listed: its rows stay"
"""Why nothing is read of an artifact whose rows were to be overwritten."""

REWRITTEN = "rewritten since: the rows of its earlier content stay"
"""The same, if its source lists another content under that name."""

NOT_REPLACED = (LEFT, REWRITTEN)

ADDED = "rewritten: its new rows are added to those of its earlier content"
"""What a run without --overwrite says of a Day's file whose content is another one now."""


def rewritten_days(
    readable: Iterable[WorkItem], items: Iterable[WorkItem], entries: Mapping[Unit, Sequence[LedgerEntry]]
) -> defaultdict[Unit, list[LedgerEntry]]:
    """The entries of Days whose file now has another content, which is new, while no other file has theirs.

    Nobody can tell a file that was corrected from a log that was cut: the rows stay, and are reported.
    """
    found = {item.entry.identity for item in items if item.entry is not None}
    listed = {(one.source, one.artifact.uri) for one in readable if one.entry is None}
    rewritten: defaultdict[Unit, list[LedgerEntry]] = defaultdict(list)
    for unit, known in entries.items() if listed else ():
        if unit.day is not None:
            rewritten[unit] += [
                entry
                for entry in known
                if entry.kind == "file" and entry.identity not in found and (entry.source, entry.uri) in listed
            ]
    return rewritten


def left(
    units: Iterable[UnitPlan],
    items: Iterable[WorkItem],
    scopes: Mapping[str, Scope],
    lost: Mapping[Unit, DaySet],
    rewritten: Mapping[Unit, Sequence[LedgerEntry]],
) -> list[Skip]:
    """The artifacts of units that are done again which their source no longer lists, unless their day was dropped."""
    found = {item.entry.identity for item in items if item.entry is not None}
    found |= {entry.identity for entries in rewritten.values() for entry in entries}
    return [
        Skip(entry.source, entry.uri or entry.origin, LEFT)
        for unit in units
        if unit.unit.day not in lost.get(unit.unit, NO_DAYS)
        for entry in unit.keeps
        if entry.identity not in found and entry.source in scopes
    ]


def gone(
    units: Iterable[UnitPlan],
    items: Iterable[WorkItem],
    scopes: Mapping[str, Scope],
    redone: Mapping[Unit, Cause],
    entries: Mapping[Unit, Sequence[LedgerEntry]],
) -> list[Skip]:
    """What was to be overwritten, and cannot be: no artifact has that content now, so its rows are all there is of it.

    A file may have been rewritten in place; what it holds now is another artifact, and is taken beside.
    """
    planned, listed = {unit.unit for unit in units}, {item.artifact.uri for item in items}
    found = {item.entry.identity for item in items if item.entry is not None}
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
