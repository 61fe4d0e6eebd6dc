"""Compact partitions: a job over the groups of small files, then one transaction for each unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.commit import Transaction
from tailpipe.catalog.locks import each_in_turn
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.kernel.carry import CarriedFile
from tailpipe.kernel.compact import Compaction, Index
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.evolve import merged_columns
from tailpipe.kernel.task import Staging
from tailpipe.lifecycle.policy import FileGroup, Wanted, groups_to_compact
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.packing import fill
from tailpipe.model.partition import Partition
from tailpipe.model.staged import Staged, StagedFile
from tailpipe.model.table import Table

if TYPE_CHECKING:  # most workspaces have no store
    from tailpipe.stores.landing import Landing

    LandingOf = Callable[[str], Landing | None]

BATCH_BYTES = 4 * 1024 * 1024 * 1024
"""About how much is staged at once; then it is committed, and the next job begins."""


@frozen
class Subject:
    """A partition to compact: its table, if it still has one, and its index now, if that is to be applied."""

    partition: str
    table: Table | None = None
    index: Index | None = None
    wanted: Wanted = field(default_factory=Wanted)


@frozen
class Compacted:
    """The result of compacting a partition, or its preview: how many files and bytes became how many others."""

    partition: str
    groups: int = 0
    rows: int = 0
    files: int = 0
    bytes: int = 0
    new_files: int | None = None
    new_bytes: int | None = None
    locked: str = ""
    """Why nothing could be done: another process writes the partition."""


def subjects_of(
    names: Iterable[str],
    partitions: Mapping[str, Partition],
    tables: Mapping[str, Table],
    days: DaySet | None,
    *,
    reindex: bool,
) -> list[Subject]:
    """What to compact of these partitions: some days of them, or all."""
    wanted = EVERY_DAY if days is None else days
    return [subject_of(name, partitions.get(name), tables, wanted, reindex=reindex) for name in names]


def subject_of(
    name: str, partition: Partition | None, tables: Mapping[str, Table], days: DaySet, *, reindex: bool
) -> Subject:
    """What to compact of a partition; one that the config no longer names has no index to apply."""
    if reindex and partition is None:
        hint = "compact it without --reindex"
        raise UsageError(f"{name} is no longer in the config, so its index is unknown", hint=hint)
    index = Index(partition.tp_index) if reindex and partition is not None else None
    return Subject(name, tables.get(name.partition(".")[0]), index, Wanted(days))


def compact_all(
    catalog: Catalog,
    engine: Engine,
    subjects: Iterable[Subject],
    *,
    dry_run: bool,
    landing_of: LandingOf = lambda _: None,
) -> list[Compacted]:
    """Compact partitions one after the other, or preview it; a locked partition stops no other."""
    act = preview if dry_run else compact
    return each_in_turn(
        subjects,
        lambda one: act(catalog, engine, one, landing_of(one.partition)),
        lambda one, why: Compacted(one.partition, locked=why),
    )


def preview(catalog: Catalog, engine: Engine, subject: Subject, landing: Landing | None = None) -> Compacted:
    """What compacting would do; nothing is changed."""
    return _sums(subject, _plan(catalog, engine, subject, landing).groups)


def compact(catalog: Catalog, engine: Engine, subject: Subject, landing: Landing | None = None) -> Compacted:
    """Merge the small files of each unit, date and index.

    Rows, accounts, ledger and coverage stay as they are. A query that is under way keeps the files it
    has begun with: these are removed after the grace period only. With a `landing` tasks put the new files into the
    store themselves.
    """
    if not _plan(catalog, engine, subject, landing).groups:
        catalog.settle(subject.partition)
        return Compacted(subject.partition)  # without Spark
    with catalog.writer(subject.partition) as writer:
        if landing is not None:
            landing.begin(writer)
        plan = _plan(catalog, engine, subject, landing)
        done: list[StagedFile] = []
        for batch in _batches(plan.groups):
            done += _Batch(writer, engine, subject, plan, landing).run(batch)
        writer.clean()
    return replace(_sums(subject, plan.groups), new_files=len(done), new_bytes=sum(file.size for file in done))


class _Columns:
    """The columns of new files: those of the whole partition, or at least those of a group; each worked out once."""

    def __init__(self, snapshot: Snapshot, table: Table | None) -> None:
        self._snapshot, self._table = snapshot, table
        self._merged: dict[frozenset[int], dict[str, str] | None] = {}

    @cached_property
    def _whole(self) -> dict[str, str] | None:
        return merged_columns(list(self._snapshot.columns.values()), self._table)

    def of(self, group: FileGroup) -> dict[str, str] | None:
        """Those of a group's new files; None if no single file can have the columns of all of its files."""
        if self._whole is not None:
            return self._whole
        numbers = frozenset(file.columns_id for file in group.files)
        if numbers not in self._merged:
            sets = [self._snapshot.columns[number] for number in sorted(numbers)]
            self._merged[numbers] = merged_columns(sets, self._table) or merged_columns(sets, None)
        return self._merged[numbers]


@frozen
class _Plan:
    """The groups to be done, and the columns of their new files."""

    snapshot: Snapshot
    groups: list[FileGroup]
    columns: _Columns


@frozen
class _Batch:
    """Units that one job does together."""

    writer: Writer
    engine: Engine
    subject: Subject
    plan: _Plan
    landing: Landing | None = None

    def run(self, groups: Sequence[FileGroup]) -> list[StagedFile]:
        if self.landing is None:
            self.writer.check_space(sum(group.size for group in groups))
        units = {unit: list(some) for unit, some in groupby(groups, key=lambda group: group.unit)}
        begun: dict[str, Transaction] = {}
        done: list[StagedFile] = []
        try:
            for unit in units:
                begun[unit] = self.writer.begin(Unit.from_key(unit), "rewrite")
            tasks = [self._task(group, begun[group.unit], n) for n, group in enumerate(groups)]
            made = iter(self.engine.compact(tasks))
            for unit, some in units.items():
                files = tuple(file for _ in some for file in next(made))
                retires = tuple(file.path for group in some for file in group.files)
                self._commit(begun.pop(unit), Staged(files, retires=retires, carried=sum(file.rows for file in files)))
                done += files
        finally:
            for transaction in begun.values():  # after a failure or an interrupt: nothing of them stays
                transaction.abort()
        return done

    def _commit(self, transaction: Transaction, staged: Staged) -> None:
        if self.landing is None:
            transaction.commit(staged)
        else:
            self.landing.commit(self.writer, transaction, staged)

    def _task(self, group: FileGroup, transaction: Transaction, number: int) -> Compaction:
        columns = self.plan.columns.of(group)
        assert columns is not None  # noqa: S101 - such a group was left out
        return Compaction(
            tuple(_carried(self.plan.snapshot, group.files)),
            columns,
            Staging(
                str(transaction.staging),
                f"c{number:05d}",
                place=self.landing.place(transaction) if self.landing else None,
            ),
            group.size,
            self.subject.index if group.is_moved else None,
            group.part_bytes,
        )


def _plan(catalog: Catalog, engine: Engine, subject: Subject, landing: Landing | None) -> _Plan:
    """The groups to be done; without those whose files have columns that no single file can have."""
    snapshot = catalog.snapshot(partition=subject.partition)
    if landing is not None:
        snapshot = landing.remote(snapshot)
    groups = groups_to_compact(snapshot.files, subject.wanted, _misplaced(snapshot, engine, subject))
    columns = _Columns(snapshot, subject.table)
    return _Plan(snapshot, [group for group in groups if columns.of(group) is not None], columns)


def _misplaced(snapshot: Snapshot, engine: Engine, subject: Subject) -> set[str]:
    if subject.index is None:
        return set()
    files = [file for file in snapshot.files if file.tp_date in subject.wanted.days]
    if subject.index.column is None:
        return {file.path for file in files if file.tp_index != "default"}
    if not files:
        return set()
    columns = merged_columns(list(snapshot.columns.values()), subject.table) or {}
    kinds = {name.lower(): kind for name, kind in columns.items()}
    if subject.index.column.lower() not in kinds:
        hint = did_you_mean(subject.index.column, columns, "correct tp_index of the partition")
        raise UsageError(f'no file of {subject.partition} has a column "{subject.index.column}"', hint=hint)
    kind = kinds[subject.index.column.lower()]
    carried = list(_carried(snapshot, files))
    stored = {one.path: file.path for one, file in zip(carried, files, strict=True)}
    return {stored[path] for path in engine.misplaced(carried, subject.index.column, kind)}


def _carried(snapshot: Snapshot, files: Sequence[LiveFile]) -> Iterator[CarriedFile]:
    for path, file in zip(snapshot.local(files), files, strict=True):
        yield CarriedFile(path, file.tp_date, file.tp_index, snapshot.columns[file.columns_id])


def _batches(groups: Sequence[FileGroup]) -> list[list[FileGroup]]:
    """Whole units together, as long as there is room; a unit is never parted."""
    units = [list(some) for _, some in groupby(groups, key=lambda group: group.unit)]
    bins = fill(units, lambda unit: sum(group.size for group in unit), BATCH_BYTES)
    return [[group for unit in one for group in unit] for one in bins]


def _sums(subject: Subject, groups: Sequence[FileGroup]) -> Compacted:
    return Compacted(
        subject.partition,
        len(groups),
        sum(group.rows for group in groups),
        sum(len(group.files) for group in groups),
        sum(group.size for group in groups),
    )
