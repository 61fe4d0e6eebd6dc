"""The log of a partition in a store: read what is new, and append the next entry, which is the commit of a push."""

from __future__ import annotations

import contextlib
import json
import random
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from tailpipe.catalog.database import Database
from tailpipe.catalog.log_entry import LogEntry, read_entry
from tailpipe.errors import CatalogError, NewerError, ObjectStoreError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores.keys import LOG, STORE, checkpoint_key, checkpoint_of, log_key, log_prefix, version_of

FORMAT = 1
_TRIES = 6
_AT_ONCE = 8
_LONGEST_PAUSE = 5.0
_REACH = 200
"""So many versions back a checkpoint is looked for: there is one in each hundred."""


def store_id(
    database: Database, objects: Objects, *, may_make: bool = True, sleep: Callable[[float], None] = time.sleep
) -> str | None:
    """The unique name of a store; the catalog remembers it, so it is read once for a location.

    The first push makes it. None if there is none and it is not to be made.
    """
    remembered = remembered_id(database, objects)
    if remembered is not None:
        return remembered
    known = _read_id(objects)
    if known is None and _has_log(objects):
        known = _read_id(objects)  # another host may have made the store meanwhile
        if known is None:
            raise _bad_id(objects, "it is missing, but the store has a log")
    if known is None:
        if not may_make:
            return None
        known = _make_id(objects, sleep)
    if not database.is_read_only:
        with database.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_fact(objects), known))
    return known


def remembered_id(database: Database, objects: Objects) -> str | None:
    """The name of a store as the catalog remembers it."""
    row = database.connection.execute("SELECT value FROM facts WHERE name = ?", (_fact(objects),)).fetchone()
    return str(row[0]) if row else None


def logged_id(objects: Objects) -> str | None:
    """The name of a store by the first readable entry of its logs; None if there is none."""
    for one in objects.list(f"{LOG}/"):
        version = version_of(one.key)
        if version is not None:
            with contextlib.suppress(FileNotFoundError, CatalogError):
                return read_entry(objects.get(one.key), version, f"{objects.location}/{one.key}").store
    return None


def id_problem(objects: Objects, expected: str) -> str | None:
    """What is wrong with the object that names a store; None if it gives this name."""
    try:
        known = _read_id(objects)
    except NewerError:
        raise
    except ObjectStoreError as error:
        if error.key != STORE:
            raise
        return "is damaged"
    if known is None:
        return "is missing"
    return None if known == expected else "names another store"


def restore_id(objects: Objects, known: str) -> None:
    """Write the object that names a store again."""
    objects.replace(STORE, _body(known))


def _fact(objects: Objects) -> str:
    return f"store:{objects.location}"


def _body(known: str) -> bytes:
    return json.dumps({"format": FORMAT, "id": known}).encode()


def _has_log(objects: Objects) -> bool:
    return next(iter(objects.list(f"{LOG}/")), None) is not None


def _make_id(objects: Objects, sleep: Callable[[float], None]) -> str:
    body = _body(secrets.token_hex(16))
    for failures in range(_TRIES):
        try:
            objects.put(STORE, body)
        except ObjectStoreError as error:
            if not error.is_unknown or failures == _TRIES - 1:
                raise
            pause(failures, sleep)
        if (made := _read_id(objects)) is not None:
            return made
    raise _bad_id(objects, "it cannot be written")


def _read_id(objects: Objects) -> str | None:
    try:
        found = json.loads(objects.get(STORE))
        number, known = int(found["format"]), str(found["id"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as problem:
        raise _bad_id(objects, "it is not what tailpipe writes there") from problem
    if number > FORMAT:
        where = f"{objects.location}/{STORE}"
        raise NewerError(
            f"{where} was written by a newer tailpipe (format {number})", path=where, hint="upgrade tailpipe"
        )
    return known


def _bad_id(objects: Objects, reason: str) -> ObjectStoreError:
    return ObjectStoreError(
        f'cannot use "{objects.location}/{STORE}": {reason}',
        location=objects.location,
        key=STORE,
        hint="restore it: tailpipe doctor --stores --repair"
        if _has_log(objects)
        else "choose another location for the store",
    )


@frozen
class Ahead:
    """What the log of a partition has after a version: the numbers of entries, and a checkpoint that spares many."""

    version: int
    numbers: tuple[int, ...]
    checkpoint: int | None = None

    @property
    def head(self) -> int:
        """The newest version."""
        return max(self.numbers, default=self.version)

    @property
    def requests(self) -> int:
        """How many requests reading it takes."""
        if self.checkpoint is None:
            return len(self.numbers)
        return 1 + sum(number > self.checkpoint for number in self.numbers)


def ahead(objects: Objects, partition: str, version: int, *, far: int | None = None) -> Ahead:
    """What is to be read after a version, by one LIST; with the newest checkpoint if it spares `far` entries."""
    after = log_key(partition, version) if version else None
    keys = [one.key for one in objects.list(log_prefix(partition), after=after)]
    marked = max((number for key in keys if (number := checkpoint_of(key)) is not None), default=0)
    numbers = sorted(number for key in keys if (number := version_of(key)) is not None and number > version)
    return Ahead(version, tuple(numbers), marked if far is not None and marked >= version + far else None)


def entries_after(objects: Objects, partition: str, version: int, *, far: int | None = None) -> Iterator[LogEntry]:
    """The entries of the log after a version, in order: one LIST, and one GET for each of them.

    If the newest checkpoint spares `far` of them, it comes first, and only those after it.
    """
    yield from read_ahead(objects, partition, ahead(objects, partition, version, far=far))


def read_ahead(objects: Objects, partition: str, found: Ahead) -> Iterator[LogEntry]:
    """The checkpoint and the entries that were found."""
    version = found.version
    checkpoint = _checkpoint(objects, partition, found.checkpoint) if found.checkpoint else None
    if checkpoint is not None:
        version = checkpoint.version
        yield checkpoint
    numbers = [number for number in found.numbers if number > version]
    whole = [number for number, expected in zip(numbers, count(version + 1), strict=False) if number == expected]
    with ThreadPoolExecutor(_AT_ONCE, "log") as pool:
        for number, entry in zip(
            whole, pool.map(lambda number: entry_of(objects, partition, number), whole), strict=True
        ):
            if entry is None:
                raise _lacking(objects, partition, number)
            yield entry
    if len(whole) < len(numbers):
        raise _lacking(objects, partition, version + len(whole) + 1)


def _checkpoint(objects: Objects, partition: str, version: int) -> LogEntry | None:
    """A checkpoint; None if it cannot be used, because the entries contain all of it."""
    key = checkpoint_key(partition, version)
    try:
        return _entry(objects, partition, key, version)
    except (FileNotFoundError, CatalogError):
        return None


def newest_checkpoint(objects: Objects, partition: str, version: int) -> LogEntry | None:
    """The last checkpoint up to a version, by one LIST and one GET; None if the last `_REACH` versions have none."""
    after = log_key(partition, version - _REACH) if version > _REACH else None
    try:
        keys = [one.key for one in objects.list(log_prefix(partition), after=after)]
        marked = max((number for key in keys if (number := checkpoint_of(key)) and number <= version), default=None)
        return _checkpoint(objects, partition, marked) if marked else None
    except ObjectStoreError:
        return None  # all entries tell the same


def put_checkpoint(objects: Objects, partition: str, entry: LogEntry) -> None:
    """Put a checkpoint, if there is none of that version; readers without it read the entries."""
    with contextlib.suppress(ObjectStoreError):
        objects.put(checkpoint_key(partition, entry.version), entry.data)


def entry_of(objects: Objects, partition: str, version: int) -> LogEntry | None:
    """The entry of a version; None if there is none."""
    key = log_key(partition, version)
    try:
        return _entry(objects, partition, key, version)
    except FileNotFoundError:
        return None


def _entry(objects: Objects, partition: str, key: str, version: int) -> LogEntry:
    where = f"{objects.location}/{key}"
    entry = read_entry(objects.get(key), version, where)
    if (other := entry.manifests[0].partition) != partition:
        hint = "restore it on a host that has pushed: tailpipe doctor --stores --repair --checksums"
        raise CatalogError(f"{where} is of the log of {other}, not of {partition}", path=where, hint=hint)
    return entry


def _lacking(objects: Objects, partition: str, version: int) -> ObjectStoreError:
    key = log_key(partition, version)
    return ObjectStoreError(
        f'"{objects.location}/{key}" is missing, but later versions exist',
        location=objects.location,
        key=key,
        hint="restore it from a version of the bucket, or from .tailpipe/log of a host",
    )


def append(objects: Objects, partition: str, entry: LogEntry, *, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Put an entry under its version: the commit. False if another host was first; that one is to be read then.

    If the outcome is unknown, the version is read before anything else. Only if it is absent is the same entry put
    again: whichever of the two requests arrives, the object is the same.
    """
    key, failed = log_key(partition, entry.version), None
    for failures in range(_TRIES):
        try:
            if objects.put(key, entry.data):
                return True
        except ObjectStoreError as error:
            if not error.is_unknown:
                raise
            failed = error
            pause(failures, sleep)
        found = entry_of(objects, partition, entry.version)
        if found is not None:
            return found.push == entry.push
    raise failed or _lacking(objects, partition, entry.version)


def pause(failures: int, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait a random while after so many failures."""
    longest = min(_LONGEST_PAUSE, 0.1 * 2.0**failures)
    sleep(random.uniform(longest / 2, longest))  # noqa: S311 - no secret
