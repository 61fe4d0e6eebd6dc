"""Retain: days that are older than a partition's retention go, in one transaction; they count as dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.locks import each_in_turn
from tailpipe.frozen import frozen
from tailpipe.lifecycle.policy import expired_days
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.partition import Partition

PAUSE = timedelta(days=62)
"""After a longer pause it may be the clock that has jumped."""
WITNESS = timedelta(days=2)
"""A change of the workspace that is so old, and no older than a PAUSE, shows that it has not."""


@frozen
class Expired:
    """The expired days of a partition: the dates that had rows, and how much is removed with them."""

    partition: str
    oldest: date
    dates: DaySet = NO_DAYS
    rows: int = 0
    files: int = 0
    size: int = 0
    locked: str = ""
    """Why nothing could be dropped: another process writes the partition."""
    clock_warning: str = ""
    """Why nothing was dropped although it has expired: the clock may be wrong."""


def oldest_days(names: Iterable[str], partitions: Mapping[str, Partition], *, now: datetime) -> dict[str, date]:
    """The first day that each of these partitions keeps; partitions without retention are omitted."""
    found = {name: partitions[name].oldest(now) for name in names if name in partitions}
    return {name: oldest for name, oldest in found.items() if oldest is not None}


def expire_all(
    catalog: Catalog, oldest: Mapping[str, date], *, dry_run: bool, now: datetime | None = None
) -> list[Expired]:
    """Drop the expired days of each partition, or preview it; a locked partition stops no other.

    With `now`, nothing is dropped if that may not be the time.
    """
    if now is not None and not dry_run and (why := why_not_yet(catalog, now)):
        found = [preview(catalog, *one) for one in oldest.items()]
        if any(one.dates for one in found):
            return [replace(one, clock_warning=why) for one in found]
    act = preview if dry_run else expire
    return each_in_turn(oldest.items(), lambda one: act(catalog, *one), lambda one, why: Expired(*one, locked=why))


def why_not_yet(catalog: Catalog, now: datetime) -> str:
    """Why nothing should expire now: the clock may be wrong. Empty if it agrees with the changes before.

    What has expired is gone for good, so a clock that has jumped ahead by months is believed once the workspace has
    been written to for two days since, or if a person confirms it.
    """
    last = catalog.last_change(now - WITNESS)
    if last is None or now - last <= PAUSE:
        return ""
    return f"the clock says {now:%Y-%m-%d}, but the last change was on {last:%Y-%m-%d}"


def preview(catalog: Catalog, partition: str, oldest: date) -> Expired:
    """The days before `oldest`, the first day that is kept; nothing is changed."""
    return _find(catalog, partition, oldest)[1]


def expire(catalog: Catalog, partition: str, oldest: date) -> Expired:
    """Drop all days before `oldest`, the first day that is kept."""
    days, found = _find(catalog, partition, oldest)
    if days:
        catalog.delete(partition, days)
    else:
        catalog.settle(partition)
    return found


def _find(catalog: Catalog, partition: str, oldest: date) -> tuple[DaySet, Expired]:
    days = expired_days(oldest, catalog.coverage(partition), catalog.first_date(partition))
    # One that was tried in vain has days that are missing, and nothing to drop.
    if not days or not catalog.is_known(partition):
        return NO_DAYS, Expired(partition, oldest)
    gone = catalog.preview_deletion(partition, days)
    return days, Expired(partition, oldest, gone.dates, gone.rows, gone.files, gone.size)
