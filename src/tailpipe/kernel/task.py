"""Tasks of the kernel and their outcomes: plain values that travel between processes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from tailpipe.frozen import frozen
from tailpipe.kernel.delivery import Place
from tailpipe.model.artifact import Accounts, Artifact
from tailpipe.model.assumed_years import AssumedYears
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.format import Format
from tailpipe.model.meter import Spent
from tailpipe.model.source import Source
from tailpipe.model.staged import Sample, StagedFile
from tailpipe.model.table import Table
from tailpipe.model.times import lacks_year, listed_formats

_MEGABYTE = 1024 * 1024


def row_prefix(partition: str, origin: str, generation: int) -> str:
    """The prefix of the `tp_id` of each row of an artifact."""
    name = f"{partition}\0{origin}\0{generation}".encode("utf-8", "surrogateescape")
    return hashlib.blake2b(name, digest_size=8).hexdigest()


@frozen
class Reading:
    """One artifact to read: under which identity, and from which offsets on.

    `days` are the dates to which its rows are cut; None takes it whole. An artifact that is not closed
    may still be written to: what follows its last line end is left for the next time.
    """

    artifact: Artifact
    origin: str
    generation: int = 0
    offset_bytes: int = 0
    offset_rows: int = 0
    days: DaySet | None = None
    is_closed: bool = True
    committed_bytes: int = 0
    committed_print: str | None = None
    """How a content begins that was committed before, also if it is read anew: so many bytes, and their print."""
    committed_modified: datetime | None = None
    """When it was last written, as of that commit."""

    def row_prefix(self, partition: str) -> str:
        """The prefix of the `tp_id` of each of its rows."""
        return row_prefix(partition, self.origin, self.generation)


@frozen
class Limits:
    """How much is held at once, in decompressed bytes; memory follows from these, not from an artifact's size."""

    chunk_bytes: int = 8 * _MEGABYTE
    """Read and split in one go."""
    batch_bytes: int = 64 * _MEGABYTE
    """Parsed by one query."""
    flush_bytes: int = 128 * _MEGABYTE
    """Shaped and kept in memory before it is written."""
    batch_events: int | None = None
    """Parsed by one query at most, so that a trial requests no page that it does not show."""
    line_bytes: int = 16 * _MEGABYTE
    """A longer line is rejected."""
    record_bytes: int = 64 * _MEGABYTE
    """A longer record of a document is rejected, if it does not come in one chunk."""
    artifact_bytes: int = 64 * 1024 * _MEGABYTE
    """Reading an artifact stops there: it is taken for a bomb."""
    memory: str | None = None
    """DuckDB's own memory limit, such as `2GB`; its default if None."""
    samples: int = 20
    """Rejected rows that are shown in the report."""


@frozen
class Staging:
    """Where files go: `directory` must exist; `prefix` is different for each attempt of the task.

    `spill` is a local directory that may take what does not fit into memory. With a `place` the files go into a store,
    and the directory is one that the task makes for itself.
    """

    directory: str
    prefix: str
    spill: str | None = None
    place: Place | None = None


@frozen
class Decided:
    """The years of an artifact: from each of these ordinals on, up to the next."""

    ordinals: tuple[int, ...]
    years: tuple[int, ...]


@frozen
class Share:
    """What a task reads for one unit: the artifacts, the source they come from, and where their rows go."""

    partition: str
    source: Source
    readings: tuple[Reading, ...]
    staging: Staging | None = None

    @property
    def prefixes(self) -> list[str]:
        """The prefix of the ids of the rows of each artifact."""
        return [row_prefix(self.partition, one.origin, one.generation) for one in self.readings]


@frozen
class Task:
    """Artifacts, how to read them, and what table to make of them.

    The rows of all shares are made together, but no file holds rows of two of them: each has an outcome of its own.
    Their sources are of one type. An artifact's place counts over all shares.

    `types` are the types of fields and columns that the table leaves open, by column, as an earlier
    sample or task found them. `ingested_at` is stamped on the rows.
    """

    table: Table
    format: Format
    shares: tuple[Share, ...]
    ingested_at: datetime
    filter: str | None = None
    tp_index: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    years: Mapping[int, Decided] = field(default_factory=dict)
    """By the place of an artifact, the years of its times that have none, if they were decided before."""
    limits: Limits = field(default_factory=Limits)
    keeps_damaged: bool = False
    """Whether the rows of an artifact that is damaged further on are handed on: only their dates are looked at."""

    @classmethod
    def of(
        cls,
        partition: str,
        table: Table,
        source: Source,
        format: Format,
        readings: tuple[Reading, ...],
        ingested_at: datetime,
        *,
        staging: Staging | None = None,
        **facts: Any,
    ) -> Task:
        """A task of one share."""
        return cls(table, format, (Share(partition, source, readings, staging),), ingested_at, **facts)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All artifacts, by place."""
        return tuple(reading for share in self.shares for reading in share.readings)

    @property
    def source(self) -> Source:
        """A source that is like those of all shares."""
        return self.shares[0].source

    @property
    def may_lack_years(self) -> bool:
        """Whether times of its format, or those that a column names, may have no year."""
        forms = (form for column in self.table.columns for form in listed_formats(column.time_format))
        return self.format.read_as().has_times_without_year or any(map(lacks_year, forms))

    @property
    def spill(self) -> str | None:
        """A local directory for what does not fit into memory."""
        staging = self.shares[0].staging
        return staging.spill if staging else None

    def at(self, *places: Staging | None) -> Task:
        """The task with these places for the files of its shares."""
        shares = (replace(share, staging=place) for share, place in zip(self.shares, places, strict=True))
        return replace(self, shares=tuple(shares))

    def without_staging(self) -> Task:
        """The task for those who take the rows themselves."""
        return self.at(*(None for _ in self.shares))


@frozen
class Fault:
    """Why an artifact could not be read to its end.

    If it `is_changed`, it is no longer what was listed, and may well be read after another listing. `dates` are those
    of the rows before the damage, which are looked at if the artifact has no day.
    """

    reason: str
    is_changed: bool = False
    dates: DaySet = NO_DAYS


@frozen
class Widening:
    """A field that the task's types do not know, or not wide enough: run again with this type."""

    field: str
    type: str


@frozen
class Result:
    """The result of reading one artifact: its accounts, how far it was read, and what was noticed.

    `fault` says why it could not be read to its end; then nothing is counted. `nulls`
    counts, by column, kept rows with a value that did not fit and was left out. Prints are None for
    artifacts that cannot grow.
    """

    reading: Reading
    accounts: Accounts = field(default_factory=Accounts)
    committed_bytes: int = 0
    committed_ordinals: int = 0
    unread_bytes: int = 0
    fingerprint: str | None = None
    head: str | None = None
    left_out: DaySet = NO_DAYS
    nulls: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    """Other things that were seen and how often, such as repaired text or members of an archive left out."""
    fault: Fault | None = None
    years: AssumedYears | None = None
    """The years of its times that have none."""

    @property
    def error(self) -> str | None:
        """Why it could not be read to its end."""
        return self.fault.reason if self.fault else None


@frozen
class Outcome:
    """All that a share brings back. If there are widenings, its files are not whole: run it again with them."""

    files: tuple[StagedFile, ...] = ()
    results: tuple[Result, ...] = ()
    samples: tuple[Sample, ...] = ()
    widenings: tuple[Widening, ...] = ()
    filled: frozenset[str] = frozenset()
    """The columns that have a value in some row of the files."""
    spent: Mapping[str, Spent] = field(default_factory=dict, compare=False)
    """What the whole task has spent, by phase; it comes with the outcome of the first share."""

    @property
    def accounts(self) -> Accounts:
        """The sum over all artifacts."""
        return sum((one.accounts for one in self.results), Accounts())
