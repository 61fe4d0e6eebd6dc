"""Keeping collected data: small files are merged, what has expired is dropped, and days are deleted by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailpipe.config.chosen import choose
from tailpipe.data import Data
from tailpipe.frozen import frozen
from tailpipe.model.selector import Selection
from tailpipe.model.window import EVER, Window

if TYPE_CHECKING:  # each verb loads what it needs, so that none waits for the others
    from tailpipe.catalog.commit import Committed
    from tailpipe.catalog.delete import Deletion
    from tailpipe.collect.job import Emit, Working
    from tailpipe.lifecycle.compact import Compacted
    from tailpipe.lifecycle.retain import Expired

__all__ = ["Keeping"]


@frozen
class Keeping:
    """How data is kept and for how long; one method for each verb."""

    data: Data
    working: Working
    """Opens the catalog, and the engine that runs its jobs."""

    def compact(
        self,
        partitions: Selection = (),
        window: Window | None = None,
        *,
        reindex: bool = False,
        dry_run: bool = False,
        emit: Emit = lambda _: None,
    ) -> list[Compacted]:
        """Merge the small files of all days, or of those that the window touches.

        A partition that the config no longer names is compacted too.
        """
        from tailpipe.collect.check import check_sql
        from tailpipe.lifecycle.compact import compact_all, subjects_of
        from tailpipe.model.coverage import DaySet

        names = self.data.select(partitions)
        days = None if window is None else DaySet.touched(window)
        subjects = subjects_of(names, self.data.config.partitions, self.data.tables, days, reindex=reindex)
        if reindex:
            check_sql(self.data.config, choose(self.data.config, self.data.tables, names))
        if self.data.begun() is None:
            return []
        with self.working(emit, is_read_only=dry_run) as (catalog, engine):
            pushing = self.data.pushing() if not engine.shares_disk else None
            landing_of = pushing.landing if pushing else lambda _: None
            done = compact_all(catalog, engine, subjects, dry_run=dry_run, landing_of=landing_of)
            if not dry_run:
                self.data.pushed(catalog, done, names)
        return self.data.followed(done, dry_run)

    def expire(self, partitions: Selection = (), *, dry_run: bool = False, force: bool = False) -> list[Expired]:
        """Drop the days that are older than the retention of their partition; one without retention is left out.

        Unless with `force`, nothing is dropped if the clock seems to have jumped.
        """
        from tailpipe.lifecycle import retain

        now = datetime.now(UTC)
        oldest = retain.oldest_days(self.data.select(partitions), self.data.config.partitions, now=now)
        if self.data.begun() is None:
            return [retain.Expired(name, day) for name, day in oldest.items()]
        with self.data.catalog(is_read_only=dry_run) as catalog:
            expired = retain.expire_all(catalog, oldest, dry_run=dry_run, now=None if force else now)
            if not dry_run:
                self.data.pushed(catalog, expired, oldest)
        return self.data.followed(expired, dry_run)

    def preview_deletion(self, partitions: Selection, window: Window = EVER) -> list[Deletion]:
        """What deleting the whole days of a window would take away; a partition that holds nothing is left out."""
        from tailpipe.model.coverage import DaySet

        held, days = self.data.held(), DaySet.within(window)
        names = [name for name in self.data.select(partitions) if name in held]
        return self.data.read(lambda catalog: [catalog.preview_deletion(name, days) for name in names], [])

    def delete(self, partition: str, window: Window = EVER) -> Committed:
        """Delete the whole days of a window from a partition, in one transaction."""
        from tailpipe.model.coverage import DaySet

        with self.data.catalog() as catalog:
            deleted = self.data.pushed(catalog, catalog.delete(partition, DaySet.within(window)), [partition])
        return self.data.followed(deleted)
