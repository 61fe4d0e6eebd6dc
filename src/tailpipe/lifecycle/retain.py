"""Retain: days that are older than a partition's retention go, in one transaction; they count as dropped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tailpipe.catalog.catalog import Catalog
from tailpipe.lifecycle.policy import expired_days
from tailpipe.model.coverage import NO_DAYS, DaySet

__all__ = ["Expired", "expire", "preview"]


@dataclass(frozen=True)
class Expired:
    """What has expired of a partition: the dates that had rows, and how much goes with them."""

    partition: str
    oldest: date
    dates: DaySet = NO_DAYS
    rows: int = 0
    files: int = 0
    size: int = 0


def preview(catalog: Catalog, partition: str, oldest: date) -> Expired:
    """What lies before `oldest`, the first day that is kept; nothing is changed."""
    return _find(catalog, partition, oldest)[1]


def expire(catalog: Catalog, partition: str, oldest: date) -> Expired:
    """Drop all that lies before `oldest`, the first day that is kept."""
    days, found = _find(catalog, partition, oldest)
    if days:
        catalog.delete(partition, days)
    return found


def _find(catalog: Catalog, partition: str, oldest: date) -> tuple[DaySet, Expired]:
    days = expired_days(oldest, catalog.coverage(partition), catalog.first_date(partition))
    if not days:
        return NO_DAYS, Expired(partition, oldest)
    gone = catalog.preview_deletion(partition, days)
    return days, Expired(partition, oldest, gone.dates, gone.rows, gone.files, gone.size)
