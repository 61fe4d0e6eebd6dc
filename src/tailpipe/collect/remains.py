"""Content that was collected and is no longer listed: it was removed, or its file was rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailpipe.collect.item import Cause, WorkItem
from tailpipe.collect.plan import Skip, UnitPlan
from tailpipe.collect.scope import Scope
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit

LEFT = "no longer listed: its rows stay"
"""Why nothing is read of an artifact whose rows were to be overwritten."""

REWRITTEN = "rewritten since: the rows of its earlier content stay"
"""Why nothing is read of an artifact whose rows were to be overwritten, if its name has other content now."""

NOT_REPLACED = (LEFT, REWRITTEN)

ADDED = "rewritten: its new rows are added to those of its earlier content"
"""The report of a run without --overwrite about the file of a Day that has other content now."""


def remaining(
    units: Sequence[UnitPlan],
    items: Sequence[WorkItem],
    scopes: Mapping[str, Scope],
    redone: Mapping[Unit, Cause],
    entries: Mapping[Unit, Sequence[LedgerEntry]],
    lost: Mapping[Unit, DaySet],
) -> list[Skip]:
    """The entries whose rows stay although their source no longer lists that content, and why.

    They are of planned units, unless the day was dropped, and of units that were to be overwritten, but of which no
    artifact is left: their rows cannot be read again. A file that was corrected looks like a log that was cut: what it
    contains now is another artifact, and the earlier rows stay.
    """
    found = {item.entry.identity for item in items if item.entry is not None}
    left, added = [], []
    for unit in units:
        if unit.unit.day in lost.get(unit.unit, NO_DAYS):
            continue
        new = {(one.source, one.artifact.uri) for one in unit.artifacts if one.entry is None and unit.unit.day}
        rewritten = [
            entry
            for entry in entries.get(unit.unit, ())
            if entry.kind == "file" and entry.identity not in found and (entry.source, entry.uri) in new
        ]
        gone = [one for one in unit.keeps if one.identity not in found and one.source in scopes]
        left += [_skip(entry, LEFT) for entry in gone if entry not in rewritten]
        added += [_skip(entry, REWRITTEN if unit.reason == "overwritten" else ADDED) for entry in rewritten]
    planned, listed = {unit.unit for unit in units}, {item.artifact.uri for item in items}
    for name in (one for one, cause in redone.items() if cause == "overwritten" and one not in planned):
        for entry in entries[name]:
            if entry.identity not in found and entry.source in scopes:
                left.append(_skip(entry, REWRITTEN if entry.uri in listed else LEFT))
    return left + added


def _skip(entry: LedgerEntry, reason: str) -> Skip:
    return Skip(entry.source, entry.uri or entry.origin, reason)
