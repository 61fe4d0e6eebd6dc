"""Publish tables of a store again: all its partitions, of all hosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.learn import known_version, learn
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores import log
from tailpipe.stores.delta_actions import Change, log_key
from tailpipe.stores.keys import LOG, earlier_root, logged_partition, table_root, version_of
from tailpipe.stores.past import past_database, replay_entries, since_image
from tailpipe.stores.publish import Publisher, whole_change


@frozen
class Republished:
    """A table as other engines see it now; `omitted_columns` are columns that they do not get, with the reasons."""

    table: str
    partitions: int
    files: int
    rows: int
    location: str
    earlier_location: str
    """Where an earlier version published it: that stays as it is, and is not brought up to date; empty if nowhere."""
    omitted_columns: tuple[str, ...]


def heads(objects: Objects) -> dict[str, int]:
    """The newest version of each partition of a store, by one listing of its logs."""
    found: dict[str, int] = {}
    for one in objects.list(LOG):
        name, version = logged_partition(one.key), version_of(one.key)
        if name is not None and version is not None:
            found[name] = max(version, found.get(name, 0))
    return found


def republish(catalog: Catalog, objects: Objects, tables: Collection[str] = ()) -> list[Republished]:
    """Delete the Delta logs of tables, or of all, and write them again from the files that are live by the logs."""
    store = log.store_id(catalog.database, objects, may_make=False)
    by_table: dict[str, list[Change]] = defaultdict(list)
    for partition, version in heads(objects).items() if store else ():
        table = partition.partition(".")[0]
        if not tables or table in tables:
            by_table[table].append(_whole(catalog, objects, str(store), partition, version))
    publisher, done = Publisher(objects), []
    for table, changes in sorted(by_table.items()):
        omitted = publisher.renew(table, changes)
        files = [file for change in changes for file in change.added.values()]
        columns = tuple(f"{one.column}: {one.reason}" for one in omitted)
        place, earlier = (f"{objects.location}/{root}" for root in (table_root(table), earlier_root(table)))
        is_moved = next(objects.list(log_key(earlier_root(table), "").rstrip("/")), None) is not None
        rows = sum(file.rows for file in files)
        done.append(Republished(table, len(changes), len(files), rows, place, earlier if is_moved else "", columns))
    return done


def _whole(catalog: Catalog, objects: Objects, store: str, partition: str, version: int) -> Change:
    if catalog.is_known(partition):
        with catalog.writer(partition) as writer:
            known = known_version(catalog.database, writer.partition_id, store)
            for entry in log.entries_after(objects, partition, known):
                learn(writer, store, entry)
            known = known_version(catalog.database, writer.partition_id, store)
            return whole_change(catalog.database, partition, known)
    with past_database(catalog.database.layout) as database:
        replay_entries(database, since_image(catalog.database.layout, objects, partition, version))
        return whole_change(database, partition, version)
