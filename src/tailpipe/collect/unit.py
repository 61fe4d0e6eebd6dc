"""One unit: from the outcomes of its tasks to its transaction, or to the reasons why it is not committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tailpipe.catalog.commit import Transaction
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.collect import events
from tailpipe.collect.item import WorkItem
from tailpipe.collect.plan import UnitPlan
from tailpipe.frozen import frozen
from tailpipe.kernel.carry import CarriedFile, Carry
from tailpipe.kernel.delivery import Place, address_of
from tailpipe.kernel.task import Outcome, Result, Share, Staging, row_prefix
from tailpipe.model.artifact import Accounts
from tailpipe.model.assumed_years import AssumedYears, merge_years
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Sample, Staged, StagedArtifact, StagedFile

SAMPLES = 20
"""So many rejected rows are shown in a report."""


@frozen
class UnitOutcome:
    """The outcome of a unit: `event` says whether it was committed or has failed; without one it was put off.

    `bad` are artifacts that cannot be read, and `changed` those that were no longer what had been listed, with the
    reasons. Those that are `hopeless`, by URI, are not mended by another listing. The sources in `waiting` have more
    of a pack than was committed. `damaged` are the dates of which bad artifacts of a pack are known to have rows.
    """

    plan: UnitPlan
    event: events.Committed | events.Failed | None = None
    bad: tuple[str, ...] = ()
    hopeless: frozenset[str] = frozenset()
    changed: tuple[str, ...] = ()
    waiting: frozenset[str] = frozenset()
    damaged: DaySet = NO_DAYS
    samples: tuple[Sample, ...] = ()
    nulls: Mapping[str, int] = field(default_factory=dict)
    noticed: Mapping[str, int] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    unfinished: int = 0
    years: tuple[AssumedYears, ...] = ()

    @property
    def is_committed(self) -> bool:
        """Whether its rows can be queried."""
        return isinstance(self.event, events.Committed)


@dataclass
class UnitWork:
    """A unit while it is worked on: its transaction, the shares that tasks read of it, and what came of them."""

    plan: UnitPlan
    transaction: Transaction
    place: Place | None = None
    """Where tasks put its files, if they share no disk with this process."""
    shares: Sequence[Share] = ()
    outcomes: list[Outcome] = field(default_factory=list)
    """One for each share, once all of them are there."""
    carried: tuple[StagedFile, ...] = ()
    _arrived: dict[int, Outcome] = field(default_factory=dict)

    def begin(self, shares: Sequence[Share]) -> None:
        """Wait for the outcomes of these shares."""
        self.shares, self.outcomes, self._arrived = shares, [], {}

    def take(self, number: int, outcome: Outcome) -> None:
        """Take the outcome of a share."""
        self._arrived[number] = outcome
        if len(self._arrived) == len(self.shares):
            self.outcomes = [self._arrived[one] for one in range(len(self.shares))]

    @property
    def is_run(self) -> bool:
        """Whether all outcomes are there."""
        return len(self.outcomes) == len(self.shares)

    @property
    def results(self) -> list[tuple[WorkItem, Result]]:
        """Every artifact with its result."""
        items = {item.identity: item for item in self.plan.artifacts}
        found = (one for outcome in self.outcomes for one in outcome.results)
        return [(items[one.reading.origin, one.reading.generation], one) for one in found]

    @property
    def accounts(self) -> Accounts:
        """Where all rows went that were read."""
        return sum((one.accounts for _, one in self.results), Accounts())

    @property
    def files(self) -> tuple[StagedFile, ...]:
        """What the tasks have staged."""
        return tuple(file for outcome in self.outcomes for file in outcome.files)

    @property
    def keyed_files(self) -> set[str]:
        """Those whose rows are identified by the key of their event."""
        pairs = zip(self.shares, self.outcomes, strict=True)
        return {file.path for share, outcome in pairs if share.source.yields_events for file in outcome.files}

    @property
    def has_reread_ranges(self) -> bool:
        """Whether whole ranges of an API are collected again."""
        return any(one.is_reread and one.artifact.kind == "range" for one in self.plan.artifacts)

    def staging(self, prefix: str) -> Staging:
        """Where a further task of the unit stages files."""
        return Staging(str(self.transaction.staging), prefix, place=self.place)

    def path(self, file: StagedFile) -> str:
        """Where a task finds a file that another one has staged."""
        if self.place is not None and file.key is not None:
            return address_of(self.place.store, file.key, file.sha256)
        return str(self.transaction.staging / file.path)

    def carry(self, snapshot: Snapshot, partition: str, rejected: Sequence[str]) -> Carry:
        """What must be written again, because other rows of the same files go.

        Of a range that is requested again, only the events go that were returned again.
        """
        keyed = self.keyed_files if self.has_reread_ranges else set()
        fresh = [file for file in self.files if file.path in keyed and file.role == "data"]
        own = [file for file in snapshot.files if file.unit == str(self.plan.unit)]
        return Carry(
            files=tuple(
                CarriedFile(path, file.tp_date, file.tp_index, snapshot.columns[file.columns_id])
                for path, file in zip(snapshot.local(own), own, strict=True)
            ),
            prefixes=self._prefixes(partition, is_range=False),
            staging=self.staging("carried"),
            rejected=tuple(rejected),
            ranges=self._prefixes(partition, is_range=True),
            fresh=tuple(map(self.path, fresh)),
        )

    def _prefixes(self, partition: str, *, is_range: bool) -> tuple[str, ...]:
        """The prefixes of the ids of rows whose artifacts are read again."""
        gone = [entry for entry in self.plan.drops if (entry.kind == "range") == is_range]
        return tuple(row_prefix(partition, entry.origin, entry.generation) for entry in gone)

    def left_out(self) -> UnitOutcome:
        """The outcome of the artifacts that could not be read; the others are not settled yet."""
        faults = [(item, one.fault) for item, one in self.results if one.fault]
        return UnitOutcome(
            self.plan,
            bad=tuple(fault.reason for _, fault in faults if not fault.is_changed),
            hopeless=frozenset(item.artifact.uri for item, fault in faults if not fault.is_changed),
            changed=tuple(fault.reason for _, fault in faults if fault.is_changed),
            waiting=frozenset(item.source for item, fault in faults if fault.is_changed),
            damaged=DaySet.union(fault.dates for _, fault in faults),
        )

    def outcome(self, partition: str) -> UnitOutcome:
        """The outcome of the unit once it is committed."""
        results = [result for _, result in self.results]
        nulls: Counter[str] = Counter()
        noticed: Counter[str] = Counter()
        for result in results:
            nulls.update(result.nulls)
            noticed.update(result.notes)
        taken, accounts = sum(one.fault is None for one in results), sum((one.accounts for one in results), Accounts())
        return replace(
            self.left_out(),
            event=events.Committed(partition, str(self.plan.unit), taken, accounts, self.plan.reason),
            samples=tuple(sample for one in self.outcomes for sample in one.samples)[:SAMPLES],
            nulls=nulls,
            noticed=noticed,
            filled=frozenset[str]().union(*(outcome.filled for outcome in self.outcomes)),
            unfinished=sum(result.unread_bytes > 0 for result in results),
            years=merge_years(result.years for result in results if result.years is not None),
        )

    def staged(self, now: datetime, retires: Sequence[str]) -> Staged:
        """Everything that the catalog records of the unit; artifacts with an error are skipped."""
        results = self.results
        read = [staged_artifact(one, item, self.plan.unit, now) for item, one in results if one.fault is None]
        incomplete = {item.source for item, one in results if one.fault is not None}
        return Staged(
            files=(*self.files, *self.carried),
            artifacts=tuple(read),
            covers=tuple(one for one in self.plan.covers if one.source not in incomplete),
            retires=tuple(retires) if self.plan.kind == "rewrite" else (),
            drops=tuple(entry.identity for entry in self.plan.drops) if self.plan.kind == "rewrite" else (),
            carried=sum(file.rows for file in self.carried if file.role == "data"),
            carried_rejected=sum(file.rows for file in self.carried if file.role == "rejected"),
            restores=self.plan.restores,
            samples=tuple(sample for one in self.outcomes for sample in one.samples),
            ingested_at=now,
        )


def staged_artifact(result: Result, item: WorkItem, unit: Unit, now: datetime) -> StagedArtifact:
    """The ledger entry of an artifact, from what the kernel has read of it."""
    taken = EVERY_DAY if item.dates is None else item.dates
    left_out = result.left_out
    if item.entry is not None and not item.is_reread:
        # It continues: it has what it had, and lacks what it lacked.
        taken |= item.entry.taken
        left_out |= item.entry.left_out
    artifact = item.artifact
    entry = LedgerEntry(
        origin=item.origin,
        source=item.source,
        unit=unit,
        as_of=now,
        generation=item.generation,
        uri=artifact.uri,
        kind=artifact.kind,
        size=artifact.size,
        modified=artifact.modified,
        etag=artifact.etag,
        committed_bytes=result.committed_bytes,
        committed_ordinals=result.committed_ordinals,
        unread_bytes=result.unread_bytes,
        fingerprint=result.fingerprint,
        head=result.head,
        taken=taken,
        left_out=left_out,
        host=item.host,
    )
    return StagedArtifact(entry, result.accounts, item.offset_bytes, item.offset_rows)
