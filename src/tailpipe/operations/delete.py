"""Delete: drop whole days of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.home.home import Home
from tailpipe.model.selector import Selection
from tailpipe.model.window import EVER, Window

if TYPE_CHECKING:
    from tailpipe.catalog.commit import Committed
    from tailpipe.catalog.delete import Deletion


def preview_deletion(home: Home, partitions: Selection, window: Window = EVER) -> list[Deletion]:
    """What deleting the whole days of a window would remove; partitions that hold nothing are skipped."""
    from tailpipe.model.coverage import DaySet

    held, days = home.held(), DaySet.within(window)
    names = [name for name in home.select(partitions) if name in held]
    return home.read(lambda catalog: [catalog.preview_deletion(name, days) for name in names], [])


def delete(home: Home, partition: str, window: Window = EVER) -> Committed:
    """Delete the whole days of a window from a partition, in one transaction."""
    from tailpipe.model.coverage import DaySet

    with home.catalog() as catalog:
        deleted = home.followers.push(catalog, catalog.delete(partition, DaySet.within(window)), [partition])
    return home.followers.refresh_copies(deleted)
