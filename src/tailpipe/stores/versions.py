"""Versions of the data of a workspace: at a time, or by a tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, time

from tailpipe.catalog.database import Database
from tailpipe.catalog.learn import known_version, pending
from tailpipe.catalog.rewind import joined, rewound
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.errors import UsageError
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.store import Store
from tailpipe.model.window import day_before
from tailpipe.storage.objects import Objects
from tailpipe.stores.log import store_id
from tailpipe.stores.open import open_store
from tailpipe.stores.past import Logged, past_snapshot, version_at
from tailpipe.stores.tags import Tag, check_tag, create_tag, tags_of
from tailpipe.stores.version import Version

StoreOf = Callable[[str], Store | None]


def past(
    database: Database,
    version: Version,
    store_of: StoreOf,
    stores: Iterable[Store],
    now: datetime,
    warn: Callable[[str], None] = lambda _: None,
) -> Snapshot:
    """The files that were live at a time or that a tag names; `warn` is called if that is before all commits."""
    if version.tag is not None:
        return past_snapshot(database.layout, _tagged(version.tag, stores))
    assert version.as_of is not None  # noqa: S101 - what is there now is no past
    found = _at(database, version.as_of, store_of, now)
    (first,) = database.connection.execute("SELECT min(committed_at) FROM transactions").fetchone()
    if not found.files and first is not None and first > version.as_of.isoformat():
        warn(f"warning: nothing was committed before {version.as_of.isoformat()}; first commit: {first[:19]}Z")
    return found


def _at(database: Database, moment: datetime, store_of: StoreOf, now: datetime) -> Snapshot:
    opened: dict[str, Objects] = {}
    logged, local = [], []
    for (name,) in database.connection.execute("SELECT name FROM partitions ORDER BY name").fetchall():
        store, number = store_of(name), None
        if store is not None:
            objects = opened.setdefault(store.name, open_store(store))
            number = version_at(database.layout, objects, name, moment)
            if number:
                oldest = datetime.combine(day_before(store.history, now=now), time.min, UTC)
                logged.append(Logged(name, objects, number, oldest))
        if number is None:
            local.append(name)
    parts = [past_snapshot(database.layout, logged)]
    return joined(database.layout, [*parts, rewound(database.layout, local, moment)] if local else parts)


def _tagged(tag: str, stores: Iterable[Store]) -> list[Logged]:
    known: set[str] = set()
    found = []
    for objects in map(open_store, stores):
        tags = tags_of(objects)
        known |= tags.keys()
        if tag in tags:
            found += [Logged(name, objects, number) for name, number in tags[tag].versions.items()]
    if tag not in known:
        raise UsageError(f"tag not found: {tag}", hint=did_you_mean(tag, known, "see: tailpipe tag list"))
    return found


def make_tags(
    database: Database, name: str, partitions: Sequence[str], store_of: StoreOf, host: str, now: datetime
) -> Mapping[str, Tag]:
    """Tag the versions of partitions that are known here, in the stores that they are in; the tags by store."""
    check_tag(name)
    wanted: dict[str, Store] = {}
    versions: dict[str, dict[str, int]] = {}
    for partition in partitions:
        row = database.connection.execute("SELECT id FROM partitions WHERE name = ?", (partition,)).fetchone()
        store = store_of(partition)
        if row is None or store is None:
            continue
        if pending(database, row[0]):
            raise UsageError(f"{partition} has changes that are not pushed", hint=f"run: tailpipe push {partition}")
        wanted[store.name] = store
        identity = store_id(database, open_store(store), may_make=False)
        number = known_version(database, row[0], identity) if identity else 0
        if number:
            versions.setdefault(store.name, {})[partition] = number
    if not versions:
        raise UsageError("none of the partitions is in a store", hint="tags name versions in a store: tailpipe push")
    done = {}
    for store_name, numbers in versions.items():
        tag = Tag(name, now, host, numbers)
        if not create_tag(open_store(wanted[store_name]), tag):
            raise UsageError(f'tag "{name}" exists in store "{store_name}"', hint=f"run: tailpipe tag drop {name}")
        done[store_name] = tag
    return done


def all_tags(stores: Iterable[Store]) -> list[tuple[Store, Tag]]:
    """The tags of stores, by name."""
    found = [(store, tag) for store in stores for tag in tags_of(open_store(store)).values()]
    return sorted(found, key=lambda pair: (pair[1].name, pair[0].name))
