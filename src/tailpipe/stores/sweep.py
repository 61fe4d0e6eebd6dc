"""Clean a store: delete objects that no version of the kept history and no tag names.

Age alone does not make it safe: a writer may sleep between its uploads and its commit. So the sweep is a commit, too
(`catalog/fence.py`): first an entry of each log, then the logs are read, then old objects go. Only the store's clock is
asked how old they are.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta

from tailpipe.catalog.fence import sweep_manifest
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.log_entry import make_entry
from tailpipe.errors import ObjectStoreError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import ObjectFacts, Objects
from tailpipe.stores import log
from tailpipe.stores.keys import (
    DATA,
    LOG,
    REJECTED,
    checkpoint_of,
    earlier_root,
    key_below,
    keyed_partition,
    logged_partition,
    table_root,
    version_of,
)
from tailpipe.stores.past import entry_at, past_database, replay_entries, since_image
from tailpipe.stores.tags import tags_of

AGE = timedelta(days=7)
"""So old an object must be: a push that takes longer finds the sweep, and puts its files again."""
_RACES = 50
_AT_ONCE = 1000
Versions = dict[str, dict[int, datetime]]
"""The versions of partitions, each with the time when the store got it."""


@frozen
class Swept:
    """What was deleted, or would be; what is left alone, because it is named or young."""

    objects: int
    bytes: int
    kept_objects: int
    older_than: datetime


def sweep(
    layout: Layout,
    objects: Objects,
    store: str,
    host: str,
    *,
    history: timedelta,
    age: timedelta = AGE,
    dry_run: bool = False,
) -> Swept:
    """Delete what is older than `age` and was not named for the time of the `history`; `store` is its identity."""
    now = objects.now()
    before = now - age
    if not dry_run:
        for partition, versions in _versions(objects).items():
            _append(objects, store, host, partition, max(versions), now, before)
    found = _versions(objects)
    kept = _kept(layout, objects, found, now - history)
    doomed, count = [], 0
    for one in _files(objects):
        if one.key in kept or one.modified >= before or keyed_partition(one.key) not in found:
            count += 1
        else:
            doomed.append(one)
    doomed += [one for one in _superseded(objects) if one.modified < before]
    if not dry_run:
        for begin in range(0, len(doomed), _AT_ONCE):
            objects.delete(one.key for one in doomed[begin : begin + _AT_ONCE])
    return Swept(len(doomed), sum(one.size for one in doomed), count, before)


def _append(
    objects: Objects, store: str, host: str, partition: str, version: int, now: datetime, before: datetime
) -> None:
    """Say in the log of a partition that a sweep comes."""
    made = sweep_manifest(secrets.token_hex(8), partition, host, now, before)
    for number in range(version + 1, version + 1 + _RACES):
        if log.append(objects, partition, make_entry([made], number, store, host)):
            return
    raise ObjectStoreError(
        f"{partition} was not cleaned: other hosts keep pushing to it",
        location=objects.location,
        hint="clean the store again",
    )


def _versions(objects: Objects) -> Versions:
    found: Versions = {}
    for one in objects.list(LOG):
        name, version = logged_partition(one.key), version_of(one.key)
        if name and version:
            found.setdefault(name, {})[version] = one.modified
    return found


def _kept(layout: Layout, objects: Objects, found: Versions, oldest: datetime) -> set[str]:
    """The keys of all files that are live in a version since then, or in one that has a tag."""
    tags = list(tags_of(objects).values())
    keys: set[str] = set()
    for partition, versions in found.items():
        first = max((version for version, moment in versions.items() if moment <= oldest), default=0)
        tagged = {tag.versions[partition] for tag in tags if partition in tag.versions}
        for version in {first, *tagged} - {0}:
            keys |= _live(layout, objects, partition, version)
        for version in range(first + 1, max(versions) + 1):
            for manifest in entry_at(layout, objects, partition, version).manifests:
                keys |= {file.key for file in manifest.added if file.key}
                keys |= {str(row.values["key"]) for row in manifest.image if row.table == "files"}
    return keys | {copy for key in keys for copy in _copies(key)}


def _copies(key: str) -> Iterator[str]:
    """Where a published table may have a copy of a file."""
    table = keyed_partition(key).partition(".")[0]
    for root in (table_root(table), earlier_root(table)):
        if copy := key_below(root, key):
            yield copy


def _live(layout: Layout, objects: Objects, partition: str, version: int) -> set[str]:
    with past_database(layout) as database:
        replay_entries(database, since_image(layout, objects, partition, version))
        rows = database.connection.execute("SELECT key FROM files WHERE state = 'live' AND key IS NOT NULL")
        return {key for (key,) in rows}


def _files(objects: Objects) -> Iterator[ObjectFacts]:
    for prefix in (DATA, REJECTED):
        for one in objects.list(prefix):
            if "/_delta_log/" not in one.key:
                yield one


def _superseded(objects: Objects) -> Iterator[ObjectFacts]:
    """The checkpoints that are not the newest of their partition, which no reader uses."""
    newest: dict[str, ObjectFacts] = {}
    for one in objects.list(LOG):  # in the order of their versions
        name = logged_partition(one.key)
        if name is not None and checkpoint_of(one.key) is not None:
            if name in newest:
                yield newest[name]
            newest[name] = one
