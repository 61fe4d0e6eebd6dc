"""Duplicates: drop events that were requested again, and the same events from two sources, from a unit.

This runs after the tasks of a unit and before its commit: staged rows are compared with each other and with the live
files that stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from tailpipe.catalog.snapshot import Snapshot
from tailpipe.collect.unit import UnitWork
from tailpipe.kernel.dedupe import EVENT, Dedupe, Deduped
from tailpipe.kernel.task import Outcome
from tailpipe.model.artifact import Accounts
from tailpipe.model.staged import StagedFile


def repeated_events(work: UnitWork, snapshot: Snapshot, rejected: Sequence[str]) -> Iterator[Dedupe]:
    """The tasks that find events that the unit already has, in its live files and those of its rejected rows.

    A unit whose ranges are requested again drops them instead: see `UnitWork.carry`.
    """
    files = [file for file in work.files if file.path in work.keyed_files]
    live = () if work.has_reread_ranges else tuple(snapshot.paths())
    of_rejected = () if work.has_reread_ranges else tuple(rejected)
    for role, rivals in (("data", live), ("rejected", (*live, *of_rejected))):
        chosen = tuple(file for file in files if file.role == role)
        if chosen:
            yield Dedupe(chosen, rivals, EVENT, work.staging(f"events-{role}"))


def events_of_other_units(work: UnitWork, snapshot: Snapshot) -> Iterator[Dedupe]:
    """The tasks that find events of other units: the end of a range may be the beginning of the next.

    An event has one time, so its row has one date, and only live rows of that date can be the same.
    """
    keyed = work.keyed_files
    files = [file for file in work.files if file.path in keyed and file.role == "data"]
    live = list(zip(snapshot.paths(), snapshot.files, strict=True))
    for day in sorted({file.tp_date for file in files if file.tp_date is not None}):
        others = tuple(path for path, one in live if one.tp_date == day and one.unit != str(work.plan.unit))
        if others:
            chosen = tuple(file for file in files if file.tp_date == day)
            yield Dedupe(chosen, others, EVENT, work.staging(f"other-{day}"))


def same_events(work: UnitWork, snapshot: Snapshot, key: Sequence[str]) -> Iterator[Dedupe]:
    """The tasks that find rows with the same key, by date: in the unit itself, and in all live files that stay."""
    by_date: dict[date, list[StagedFile]] = {}
    for file in work.files:
        if file.role == "data" and file.tp_date is not None:
            by_date.setdefault(file.tp_date, []).append(file)
    for day, files in sorted(by_date.items()):
        own = None if work.plan.kind == "append" else str(work.plan.unit)
        live = snapshot.local([file for file in snapshot.files if file.tp_date == day and file.unit != own])
        live += [work.path(file) for file in work.carried if file.tp_date == day]
        yield Dedupe(tuple(files), tuple(live), tuple(key), work.staging(f"same-{day}"))


def leave_out(work: UnitWork, partition: str, tasks: Sequence[Dedupe], found: Sequence[Deduped]) -> None:
    """Remove the duplicates from the outcomes of a unit."""
    for task, one in zip(tasks, found, strict=True):
        if one.lost:
            role = task.files[0].role
            work.outcomes = [_without(outcome, one, role == "rejected", partition) for outcome in work.outcomes]


def _without(outcome: Outcome, found: Deduped, is_rejected: bool, partition: str) -> Outcome:
    files = (found.files.get(file.path, file) for file in outcome.files)
    results = []
    for result in outcome.results:
        lost = found.lost.get(result.reading.row_prefix(partition), 0)
        gone = Accounts(rejected=-lost, duplicate=lost) if is_rejected else Accounts(kept=-lost, duplicate=lost)
        results.append(replace(result, accounts=result.accounts + gone))
    made = replace(outcome, files=tuple(file for file in files if file is not None), results=tuple(results))
    return replace(made, samples=made.samples if made.accounts.rejected else ())
