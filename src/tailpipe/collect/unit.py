"""One unit: from the outcomes of its tasks to what the catalog commits, or to the reasons why not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from tailpipe.catalog.commit import Transaction
from tailpipe.catalog.plan import PlannedArtifact, UnitPlan
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.kernel.carry import CarriedFile, Carry
from tailpipe.kernel.task import Outcome, Reading, Result, Staging, Task
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import EVERY_DAY
from tailpipe.model.staged import Sample, Staged, StagedArtifact, StagedFile

__all__ = ["UnitWork"]


@dataclass
class UnitWork:
    """A unit while it is worked on: its transaction, its tasks, and what came of them."""

    plan: UnitPlan
    transaction: Transaction
    tasks: list[Task] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    carried: tuple[StagedFile, ...] = ()

    @property
    def results(self) -> list[tuple[Task, Result]]:
        """Every artifact's result, with the task that read it."""
        return [(task, one) for task, outcome in zip(self.tasks, self.outcomes, strict=True) for one in outcome.results]

    @property
    def errors(self) -> list[str]:
        """Why artifacts could not be read."""
        return [one.fault.reason for _, one in self.results if one.fault and not one.fault.is_changed]

    @property
    def changed(self) -> list[str]:
        """Which artifacts were no longer what had been listed: after another listing they may be read."""
        return [one.fault.reason for _, one in self.results if one.fault and one.fault.is_changed]

    @property
    def bad_uris(self) -> set[str]:
        """The artifacts that cannot be read."""
        faults = ((one.reading.artifact.uri, one.fault) for _, one in self.results)
        return {uri for uri, fault in faults if fault and not fault.is_changed}

    @property
    def changed_sources(self) -> set[str]:
        """The sources of the artifacts that have changed."""
        return {task.source.name for task, one in self.results if one.fault and one.fault.is_changed}

    @property
    def is_patient(self) -> bool:
        """Whether its other artifacts may be committed before those that have changed: a Day lands whole."""
        is_pack = self.plan.unit.day is None and self.plan.kind == "append"
        return is_pack and any(one.fault is None for _, one in self.results)

    @property
    def spoilt(self) -> list[tuple[PlannedArtifact, str]]:
        """Those that could not be read, and why, although rows of theirs are there: committing would lose these."""
        planned = self._planned
        found = ((planned[one.reading.origin, one.reading.generation], one.error) for _, one in self.results)
        return [(one, error) for one, error in found if error is not None and one.is_anew]

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Some of the rejected rows."""
        return tuple(sample for outcome in self.outcomes for sample in outcome.samples)

    @property
    def files(self) -> tuple[StagedFile, ...]:
        """What the tasks have staged."""
        return tuple(file for outcome in self.outcomes for file in outcome.files)

    @property
    def keyed_files(self) -> set[str]:
        """Those whose rows are known by their events, because they came in envelopes."""
        pairs = zip(self.tasks, self.outcomes, strict=True)
        return {file.path for task, outcome in pairs if task.source.envelope for file in outcome.files}

    @property
    def is_anew(self) -> bool:
        """Whether ranges of an API are collected again whole."""
        return any(one.is_anew and one.decision.artifact.kind == "range" for one in self.plan.artifacts)

    def carry(self, snapshot: Snapshot, partition: str, rejected: Iterable[Path]) -> Carry:
        """What must be written again, because other rows of the same files go.

        Of a range that is collected anew, only the events go that have come again.
        """
        keyed = self.keyed_files if self.is_anew else set()
        fresh = [file.path for file in self.files if file.path in keyed and file.role == "data"]
        return Carry(
            files=tuple(
                CarriedFile(path, file.tp_date, file.tp_index, snapshot.columns[file.columns_id])
                for path, file in zip(snapshot.paths(), snapshot.files, strict=True)
                if file.unit == str(self.plan.unit)
            ),
            prefixes=self._prefixes(partition, is_range=False),
            staging=Staging(str(self.transaction.staging), "carried"),
            rejected=tuple(map(str, rejected)),
            ranges=self._prefixes(partition, is_range=True),
            fresh=tuple(str(self.transaction.staging / path) for path in fresh),
        )

    def _prefixes(self, partition: str, *, is_range: bool) -> tuple[str, ...]:
        """What the ids of rows begin with whose artifacts are taken anew."""
        gone = [entry for entry in self.plan.drops if (entry.kind == "range") == is_range]
        readings = (Reading(Artifact(entry.origin), entry.origin, entry.generation) for entry in gone)
        return tuple(reading.row_prefix(partition) for reading in readings)

    @property
    def _planned(self) -> dict[tuple[str, int], PlannedArtifact]:
        return {(one.decision.origin, one.decision.generation): one for one in self.plan.artifacts}

    @property
    def _bad_sources(self) -> set[str]:
        """The sources of artifacts that were left out: they have more of this Day."""
        return {task.source.name for task, result in self.results if result.error is not None}

    def staged(self, now: datetime, retires: Sequence[str]) -> Staged:
        """All of it as the catalog takes it; artifacts with an error are left out."""
        planned = self._planned
        artifacts = [
            _entry(result, planned[result.reading.origin, result.reading.generation], self.plan, now)
            for _, result in self.results
            if result.error is None
        ]
        return Staged(
            files=(*self.files, *self.carried),
            artifacts=tuple(artifacts),
            covers=tuple(one for one in self.plan.covers if one.source not in self._bad_sources),
            retires=tuple(retires) if self.plan.kind == "rewrite" else (),
            drops=tuple(entry.identity for entry in self.plan.drops) if self.plan.kind == "rewrite" else (),
            carried=sum(file.rows for file in self.carried if file.role == "data"),
            carried_rejected=sum(file.rows for file in self.carried if file.role == "rejected"),
            restores=self.plan.restores,
            samples=self.samples,
        )


def _entry(result: Result, planned: PlannedArtifact, unit: UnitPlan, now: datetime) -> StagedArtifact:
    before = planned.decision.entry
    taken = EVERY_DAY if planned.dates is None else planned.dates
    if before is not None and not planned.is_anew:
        # It goes on: it has what it had, and lacks what it lacked.
        taken |= before.taken
        result = replace(result, left_out=result.left_out | before.left_out)
    return result.staged(planned.decision.source, unit.unit, now, taken)
