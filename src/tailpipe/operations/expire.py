"""Expire: drop the days that are older than the retention of their partition."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.model.selector import Selection

if TYPE_CHECKING:
    from tailpipe.lifecycle.retain import Expired


@frozen
class Expire:
    """A request to expire. Without `force`, nothing is dropped if the clock seems to have jumped."""

    partitions: Selection = ()
    dry_run: bool = False
    force: bool = False


def expire(home: Home, request: Expire) -> list[Expired]:
    """Drop expired days; partitions without retention are skipped."""
    from tailpipe.lifecycle import retain

    now = datetime.now(UTC)
    oldest = retain.oldest_days(home.select(request.partitions), home.config.partitions, now=now)
    if home.is_empty:
        return [retain.Expired(name, day) for name, day in oldest.items()]
    with home.catalog(is_read_only=request.dry_run) as catalog:
        expired = retain.expire_all(catalog, oldest, dry_run=request.dry_run, now=None if request.force else now)
        if not request.dry_run:
            home.followers.push(catalog, expired, oldest)
    return home.followers.refresh_copies(expired, is_changed=not request.dry_run)
