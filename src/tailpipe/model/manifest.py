"""Manifests: the immutable record of one transaction, from which the catalog can be told again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date, datetime
from typing import Literal

from tailpipe.frozen import frozen
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Kind, Sample, StagedArtifact, StagedFile

__all__ = ["ImageRow", "Loss", "Manifest"]


@frozen
class Loss:
    """A unit no longer has its rows of `tp_date`, because they were dropped or their file went missing."""

    unit: Unit
    tp_date: date
    reason: Literal["dropped", "missing"]


@frozen
class ImageRow:
    """A row of the catalog, as an image of a partition holds it."""

    table: str
    values: Mapping[str, str | int | None]


@frozen
class Manifest:
    """One transaction: the files that came and went, and what is known since.

    `coverage` is the whole coverage of each source that the transaction touched, as it is after it.
    A note, a deletion or a repair has no unit of its own. `previous` is the last transaction of the partition before
    this one, or empty; manifests of earlier versions do not say it. An `image` is all that was known of the partition
    before this transaction.
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
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()
    restores: DaySet = NO_DAYS
    samples: tuple[Sample, ...] = ()
    previous: str | None = None
    image: tuple[ImageRow, ...] = ()
