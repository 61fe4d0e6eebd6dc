"""What a job hands to the catalog: staged files, the artifacts they came from, and their accounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date, datetime
from typing import Any, Literal

from tailpipe.frozen import frozen
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry

__all__ = ["Covered", "Kind", "Role", "Sample", "Staged", "StagedArtifact", "StagedFile"]

Kind = Literal["append", "replace", "rewrite", "note", "delete", "repair"]
Role = Literal["data", "rejected"]


@frozen
class StagedFile:
    """A parquet file that a task wrote, fsynced and checksummed; it holds one date and one index.

    `path` is relative to the transaction's staging directory, and to the internal directory once the
    file is stored. Bounds are those of `tp_timestamp`; `columns` maps names to DuckDB types. Rejected
    rows have neither bounds nor, perhaps, a date. `key` is that of its object, said by the log of a store alone; None
    there says that the file was retired before it was ever pushed.
    """

    path: str
    rows: int
    size: int
    sha256: str
    tp_date: date | None
    tp_index: str | None = None
    min_timestamp: datetime | None = None
    max_timestamp: datetime | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    role: Role = "data"
    key: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a newer version has written of it, to be kept."""


@frozen
class StagedArtifact:
    """An artifact's future entry in the ledger, and the accounts of the rows read now.

    `offset_bytes` and `offset_rows` are what the ledger said when the job was planned (0 for an
    artifact that is new, or taken anew). The commit refuses if the ledger says something else by now:
    that is what makes it impossible to take the same bytes twice.
    """

    entry: LedgerEntry
    accounts: Accounts
    offset_bytes: int = 0
    offset_rows: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a newer version has written of it, to be kept."""

    @property
    def is_resumed(self) -> bool:
        """Whether it goes on from an earlier commit."""
        return bool(self.offset_bytes or self.offset_rows)


@frozen
class Covered:
    """Days of a source that are complete now; those from `settled_before` on may still get late artifacts."""

    source: str
    days: DaySet
    settled_before: date


@frozen
class Sample:
    """One rejected row, shown in the report: which artifact, where in it, why, and its text."""

    uri: str
    position: str
    reason: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a newer version has written of it, to be kept."""


@frozen
class Staged:
    """All that one transaction brings.

    A replacement retires all files of its unit and forgets its artifacts, but for those that are
    staged as resumed. A rewrite retires exactly `retires` and forgets the artifacts `drops` (origin and
    generation). `carried` counts the rows of retired files that the new files hold again, and
    `carried_rejected` the rejected ones, so that files and accounts can be held against each other.
    `restores` are lost dates that are whole again. `ingested_at` is the `tp_ingest_timestamp` of its new
    rows; None if it has none. `cursors` are named positions that change with it; None removes one.
    """

    files: tuple[StagedFile, ...] = ()
    artifacts: tuple[StagedArtifact, ...] = ()
    covers: tuple[Covered, ...] = ()
    retires: tuple[str, ...] = ()
    drops: tuple[tuple[str, int], ...] = ()
    carried: int = 0
    restores: DaySet = NO_DAYS
    samples: tuple[Sample, ...] = ()
    carried_rejected: int = 0
    ingested_at: datetime | None = None
    cursors: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def accounts(self) -> Accounts:
        """The sum over all artifacts."""
        return sum((one.accounts for one in self.artifacts), Accounts())
