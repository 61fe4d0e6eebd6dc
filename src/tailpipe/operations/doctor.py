"""Doctor: compare disk, catalog and stores, and repair or rebuild them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.home.home import Home

if TYPE_CHECKING:
    from tailpipe.catalog.doctor import Finding, Repaired
    from tailpipe.catalog.rebuild import Rebuilt


def examine(home: Home, *, with_checksums: bool) -> list[Finding]:
    """The differences between disk and catalog; none if nothing was ever collected."""
    from tailpipe.catalog import doctor

    return [] if home.is_empty else doctor.examine(home.layout(), with_checksums=with_checksums)


def repair(home: Home, *, with_checksums: bool, accept_loss: bool = False) -> Repaired:
    """Repair what the doctor finds; with `accept_loss` also if a disk that is not mounted is lost."""
    from tailpipe.catalog import doctor

    layout, pushing = home.layout(), home.stores.pushing()
    fetch = pushing.fetch if pushing else None
    done = doctor.repair(
        layout, with_checksums=with_checksums, fetch=fetch, host=home.stores.host, accept_loss=accept_loss
    )
    if pushing:
        with home.catalog() as catalog:
            home.followers.push(catalog, done, home.config.partitions)
    return done


def examine_stores(home: Home, *, with_checksums: bool, is_repaired: bool = False) -> tuple[list[Finding], int]:
    """What the stores of partitions lack, and how many objects were put back if it is repaired."""
    from tailpipe.stores.examine import examine_store, repair_store
    from tailpipe.stores.open import open_store

    if home.is_empty:
        return [], 0
    found, count = [], 0
    with home.catalog(is_read_only=not is_repaired) as catalog:
        names = [totals.name for totals in catalog.partitions()]
        for store in home.config.stores.values():
            own = [name for name in names if (used := home.stores.of(name)) and used.name == store.name]
            objects = open_store(store)
            some = examine_store(catalog.database, objects, own, with_checksums=with_checksums) if own else []
            count += repair_store(catalog.database, objects, some) if is_repaired else 0
            found += some
    return found, count


def rebuild(home: Home, *, accept_loss: bool) -> Rebuilt:
    """Write the catalog again from the manifests; with `accept_loss` also if some of them are lost."""
    from tailpipe.catalog.rebuild import rebuild

    return rebuild(home.layout(), accept_loss=accept_loss)
