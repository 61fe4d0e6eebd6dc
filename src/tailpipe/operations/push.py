"""Push: bring partitions to their stores, and clean and publish stores."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.home.stores import own_host
from tailpipe.model.selector import Selection
from tailpipe.model.window import day_before

if TYPE_CHECKING:
    from tailpipe.model.store import Store
    from tailpipe.stores.push import Progress
    from tailpipe.stores.pushed import PushReport
    from tailpipe.stores.republish import Republished
    from tailpipe.stores.sweep import Swept


@frozen
class Push:
    """A request to push; partitions without a store are skipped."""

    partitions: Selection = ()
    dry_run: bool = False
    bytes_per_second: float | None = None


def push(home: Home, request: Push, emit: Callable[[Progress], None] = lambda _: None) -> list[PushReport]:
    """Push partitions; then files leave this disk that need not stay. Failures are in the reports."""
    from tailpipe.stores.upload import Limits

    names = home.select(request.partitions)
    pushing = home.stores.pushing(limits=Limits(request.bytes_per_second), emit=emit)
    if pushing is None or home.is_empty:
        return []
    with home.catalog() as catalog:  # not read only: an older catalog knows nothing of stores
        if request.dry_run:
            return pushing.preview(catalog, names)
        return list(pushing.finish(catalog, names).values())


def publish(home: Home, store: Store, tables: Collection[str] = ()) -> list[Republished]:
    """Delete what other engines see of tables of a store, or of all, and publish it again."""
    from tailpipe.stores.open import open_store
    from tailpipe.stores.republish import republish

    with home.catalog() as catalog:
        return republish(catalog, open_store(store), tables)


def clean_store(home: Home, store: Store, *, dry_run: bool = False) -> Swept | None:
    """Delete objects of a store that no kept version needs; None if nothing was ever pushed to it."""
    from tailpipe.stores.log import store_id
    from tailpipe.stores.open import open_store
    from tailpipe.stores.sweep import sweep

    objects, now = open_store(store), datetime.now(UTC)
    history = now - datetime.combine(day_before(store.history, now=now), time.min, UTC)
    with home.catalog(is_read_only=dry_run) as catalog:
        identity = store_id(catalog.database, objects, may_make=False)
        host, layout = home.stores.host or own_host(), catalog.database.layout
        return sweep(layout, objects, identity, host, history=history, dry_run=dry_run) if identity else None
