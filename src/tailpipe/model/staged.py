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

Kind = Literal["append", "replace", "rewrite", "note", "delete", "repair"]
Role = Literal["data", "rejected"]


@frozen
class StagedFile:
    """A parquet file that a task wrote, fsynced and checksummed; it holds one date and one index.

    `path` is relative to the staging directory, or to the internal directory once the file is stored. Bounds are those
    of `tp_timestamp`; `columns` maps names to DuckDB types. Rejected rows have no bounds, and may have no date. The log
    of a store has the `key` of its object; None there means that the file was retired before it was pushed.
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

    `offset_bytes` and `offset_rows` are those of the ledger when the job was planned, 0 for a new artifact. The commit
    refuses if the ledger has others by now, so that the same bytes are never taken twice.
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

    A replacement retires all files of its unit and forgets its artifacts, except resumed ones. A rewrite retires
    exactly `retires` and forgets the artifacts `drops` (origin and generation). `carried` counts the rows of retired
    files that the new files hold again, and `carried_rejected` the rejected ones, so that files and accounts can be
    compared. `restores` are lost dates that are whole again. `ingested_at` is the `tp_ingest_timestamp` of new rows;
    None if it has none. `cursors` are named positions that change with it; None removes one.
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
