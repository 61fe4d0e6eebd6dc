"""What a run reports while it goes on, and at its end: small values, which the command line draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from typing import TypeVar

from tailpipe.frozen import frozen
from tailpipe.model.artifact import Accounts
from tailpipe.model.assumed_years import AssumedYears
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.maintenance import Maintenance
from tailpipe.model.meter import Meter, Spent, added
from tailpipe.model.staged import Sample
from tailpipe.stores.pushed import PushReport

T = TypeVar("T")


@frozen
class Started:
    """Something begins that takes a while; `what` says what. It may be for all partitions."""

    partition: str
    what: str


@frozen
class Opened:
    """The run begins; so many partitions are collected, one after the other."""

    partitions: int


@frozen
class Listing:
    """How many artifacts the sources of a partition have listed so far, and with how many requests and folders."""

    partition: str
    artifacts: int
    requests: int = 0
    folders: int = 0


@frozen
class Planned:
    """What a partition has to do; `size` is how many bytes its sources will give, 0 if they do not say."""

    partition: str
    units: int
    artifacts: int
    size: int


@frozen
class Progress:
    """How many tasks of the current batch are done, and how many bytes of the partition have been read by all tasks."""

    partition: str
    done: int
    tasks: int
    size: int = 0


@frozen
class Committed:
    """A unit is there, and can be queried."""

    partition: str
    unit: str
    artifacts: int
    accounts: Accounts
    reason: str


@frozen
class Failed:
    """A unit was rolled back, and why."""

    partition: str
    unit: str
    reasons: tuple[str, ...]
    is_refused: bool = False
    """Whether it was rolled back only because days would have no rows any more."""


@frozen
class Warned:
    """Something that a person should know now, not at the end."""

    partition: str
    what: str


Event = Opened | Started | Listing | Planned | Progress | Committed | Failed | Warned


@frozen
class UnmatchedFiles:
    """How many of the files of a source its layout does not match; `example` is one of them."""

    source: str
    files: int
    unmatched: int
    file_layout: str
    example: str


@frozen
class UnavailableArtifacts:
    """Artifacts that a source has listed but cannot give now, and why; `example` is one of them."""

    source: str
    reason: str
    artifacts: int
    example: str


@frozen
class UnlistedDays:
    """Artifacts of days that the run did not list: the source has them, but those days were not requested."""

    source: str
    artifacts: int
    first_day: date
    last_day: date


@frozen
class DatedNames:
    """Files without a day although most of their paths have a date: a `file_layout` would date all of them.

    Of very many files, only the first are looked at.
    """

    source: str
    files: int
    dated: int
    file_layout: str


@frozen
class Summary:
    """The result of a run for one partition."""

    partition: str
    committed: tuple[Committed, ...] = ()
    failed: tuple[Failed, ...] = ()
    bad_artifacts: tuple[str, ...] = ()
    changed_artifacts: tuple[str, ...] = ()
    """Those that were rotated or replaced again and again while the run tried to read them: the next one takes them."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many artifacts were not read, by reason."""
    unmatched_files: tuple[UnmatchedFiles, ...] = ()
    unavailable_artifacts: tuple[UnavailableArtifacts, ...] = ()
    unlisted_days: tuple[UnlistedDays, ...] = ()
    """Reported only while the partition holds nothing: later it is no news."""
    dated_names: tuple[DatedNames, ...] = ()
    listed: int = 0
    type_errors: Mapping[str, int] = field(default_factory=dict)
    """How many values did not fit the type of their column and were set to null, by column."""
    warnings: Mapping[str, int] = field(default_factory=dict)
    """What was skipped in archives or is not text, and how often."""
    empty_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns that are null in every row although the config names a field for them, with that field."""
    assumed_years: tuple[AssumedYears, ...] = ()
    """The years of times that have none, and what they were taken from."""
    is_stale: bool = False
    """Whether nothing was new, and the rows were made by another config of format, table or filter than today's."""
    stale_since: date | None = None
    """The oldest day of what another config made and this run has not overwritten; None if there is none."""
    complete_days: DaySet = NO_DAYS
    """Complete days of the requested window, which were not requested again from an API or a command."""
    rejected_samples: tuple[Sample, ...] = ()
    incomplete_artifacts: int = 0
    """How many artifacts end in a line that may still be written."""
    waiting: DaySet = NO_DAYS
    """The dates whose rows in undated artifacts wait for one that cannot be read, and has rows of them too."""
    gaps: DaySet = NO_DAYS
    not_requested: DaySet = NO_DAYS
    """Days since the oldest one that nobody has requested: no plain run brings them."""
    lost: DaySet = NO_DAYS
    """Dates whose files were lost, and whose logs no source lists any more."""
    maintenance: Maintenance = field(default_factory=Maintenance)
    push: PushReport | None = None
    """What became of the push to its store, and what is committed here alone; None without a store."""
    error: str = ""
    bytes: int = 0
    """How many bytes the sources gave for what was committed, as they are stored there."""
    seconds: float = 0.0
    """From the beginning of the partition's run to its end."""
    profile: Mapping[str, Spent] = field(default_factory=dict)
    """Where time went, by phase."""
    run: int | None = None
    """The number of the run in the history; None if it could not begin."""

    @property
    def accounts(self) -> Accounts:
        """Where all rows of the run went."""
        return sum((one.accounts for one in self.committed), Accounts())

    @property
    def committed_since(self) -> date | None:
        """The oldest day that the run committed."""
        return min((date.fromisoformat(unit) for unit in self.units if not unit.startswith("pack:")), default=None)

    @property
    def units(self) -> frozenset[str]:
        """The units that are there since."""
        return frozenset(one.unit for one in self.committed)

    @property
    def is_refused(self) -> bool:
        """Whether days were not overwritten because they would have no rows any more."""
        return any(one.is_refused for one in self.failed)

    @property
    def is_done(self) -> bool:
        """Whether all that was requested is there."""
        return not (self.failed or self.error or self.bad_artifacts or self.changed_artifacts)


@frozen
class Report:
    """The results of a run."""

    partitions: tuple[Summary, ...]

    def after(
        self,
        maintain: Callable[[Summary, T], Maintenance],
        pairs: Sequence[T],
        cpu_seconds: Callable[[], float] = lambda: 0.0,
    ) -> Report:
        """The report once each partition has had its maintenance; one that could not be collected is left alone.

        `cpu_seconds` tells what the engine's other processes have used so far.
        """
        used, made = cpu_seconds(), []
        for one, pair in zip(self.partitions, pairs, strict=True):
            if one.error:
                made.append(one)
                continue
            meter = Meter()
            with meter("compact"):
                done = maintain(one, pair)
            profile = one.profile
            if done.compacted_files:
                before, used = used, cpu_seconds()
                meter.add({"compact": Spent(cpu=used - before)})
                profile = added(profile, meter.spent)
            made.append(replace(one, maintenance=done, profile=profile))
        return Report(tuple(made))

    @property
    def unpushed(self) -> tuple[str, ...]:
        """The partitions whose push failed; what was not to be pushed is no failure."""
        return tuple(one.partition for one in self.partitions if one.push and one.push.failure)

    def with_pushes(self, pushes: Mapping[str, PushReport]) -> Report:
        """The report with the results of the pushes to the stores of partitions."""
        return Report(tuple(replace(one, push=pushes.get(one.partition)) for one in self.partitions))

    def with_start(self, spent: Spent) -> Report:
        """The report with what it took to start the engine: it counts for the partition that needed it first."""
        first = next((number for number, one in enumerate(self.partitions) if one.committed or one.failed), None)
        return Report(
            tuple(
                replace(one, profile={**one.profile, "start": spent}) if number == first else one
                for number, one in enumerate(self.partitions)
            )
        )

    @property
    def is_done(self) -> bool:
        """Whether all that was requested is there."""
        return all(summary.is_done for summary in self.partitions)
