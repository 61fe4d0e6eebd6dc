"""Manifests: the immutable records of transactions, from which the catalog can be rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime
from typing import Any, Literal

from tailpipe.frozen import frozen
from tailpipe.model.coverage import NO_DAYS, DaySet, Operation
from tailpipe.model.host import Host, qualified
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Kind, Sample, StagedArtifact, StagedFile


@frozen
class Loss:
    """A unit no longer has its rows of `tp_date`, because they were dropped or their file went missing."""

    unit: Unit
    tp_date: date
    reason: Literal["dropped", "missing"]
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a newer version has written of it, to be kept."""


@frozen
class ImageRow:
    """A row of the catalog, as an image of a partition holds it."""

    table: str
    values: Mapping[str, str | int | None]


@frozen
class Manifest:
    """One transaction: the files that came and went, and what is known since.

    `coverage` are changes of the coverage of sources, in their order; the keys are those of `Host.key`. They begin with
    those of runs that had begun since the transaction before. `sequence` numbers the transactions of a workspace
    without gaps. A note, a deletion or a repair has no unit of its own. `previous` is the last transaction of the
    partition in this workspace, or empty; manifests of earlier versions do not say it. An `image` is all that was known
    of the partition before this transaction.

    `host` is the name that the workspace had; None without a store. `ingested_at` is the `tp_ingest_timestamp` of the
    new rows, `cursors` the named positions that were set or, by None, removed. `extra` and `extra_entries` (by kind)
    are what a newer version has written in addition, to be kept.
    """

    transaction: str
    sequence: int
    partition: str
    kind: Kind
    unit: Unit | None
    begun_at: datetime
    committed_at: datetime
    added: tuple[StagedFile, ...] = ()
    removed: tuple[str, ...] = ()
    artifacts: tuple[StagedArtifact, ...] = ()
    drops: tuple[tuple[str, int], ...] = ()
    coverage: tuple[tuple[str, Operation], ...] = ()
    losses: tuple[Loss, ...] = ()
    restores: DaySet = NO_DAYS
    samples: tuple[Sample, ...] = ()
    previous: str | None = None
    image: tuple[ImageRow, ...] = ()
    host: str | None = None
    ingested_at: datetime | None = None
    cursors: Mapping[str, str | None] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    extra_entries: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)

    @property
    def transactions(self) -> list[str]:
        """The names of the transactions in its image."""
        return [str(row.values["name"]) for row in self.image if row.table == "transactions"]

    def owned_by(self, host: str) -> Manifest:
        """The manifest as other hosts see it: what names no host, because there was no store yet, is of this one."""
        owner = Host(host)
        artifacts = tuple(
            replace(one, entry=replace(one.entry, host=owner.of(one.entry.kind))) if one.entry.host is None else one
            for one in self.artifacts
        )
        coverage = tuple((key if "@" in key else qualified(key, host), operation) for key, operation in self.coverage)
        return replace(self, host=self.host or host, artifacts=artifacts, coverage=coverage)
