"""Files wherever they are: the paths or addresses of those that a query or a job reads, fetched where need be.

What is on this disk is read there, without any request. Of the rest, files up to `SMALL` come through the cache, 32 at
once; a query reads larger ones in ranges through the gate, and everything else has them fetched whole.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.errors import ObjectStoreError, TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.size import shown_size
from tailpipe.model.store import Store
from tailpipe.stores.cache import Cache

if TYPE_CHECKING:
    from tailpipe.storage.objects import Objects
    from tailpipe.storage.scratch import Scratch
    from tailpipe.stores.gate import Gate

SMALL = 8 * 1000**2
"""Up to this size a file is fetched whole, which takes one request."""
FETCH_BYTES = 2 * 1000**3
"""How much one statement may fetch, unless told otherwise."""
_AT_ONCE = 32
_RANGES = 3
"""About how many requests a large file takes: its footer, and the columns of some row groups."""
_WAIT_SECONDS = 0.1

StoreOf = Callable[[str], Store | None]
"""The store of a partition, by `table.partition`."""


@frozen
class Limits:
    """What reading may do: how many bytes a statement may fetch (None: any), and whether it may use a store at all."""

    fetch_bytes: int | None = FETCH_BYTES
    is_offline: bool = False


@frozen
class Fetched:
    """How far fetching is."""

    files: int
    all_files: int
    size: int
    all_size: int


@dataclass
class _Work:
    """Files that are being fetched by several threads."""

    waiting: queue.SimpleQueue[LiveFile] = field(default_factory=queue.SimpleQueue)
    done: queue.SimpleQueue[LiveFile | BaseException] = field(default_factory=queue.SimpleQueue)
    is_cancelled: threading.Event = field(default_factory=threading.Event)


class Reader:
    """Gives the files of snapshots, from this disk, the cache or the gate, until it is closed.

    `place` is the path of a file that is here. `emit` gets how far a fetch is, and `say` what a person should know.
    """

    def __init__(
        self,
        cache: Cache,
        store_of: StoreOf,
        limits: Limits | None = None,
        *,
        emit: Callable[[Fetched], None] = lambda _: None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.limits = limits or Limits()
        self.emit = emit
        self._cache = cache
        self._store_of = store_of
        self._say = say
        self._links: Scratch | None = None
        self._gate: Gate | None = None
        self._served: dict[str, LiveFile] = {}
        self._opened: dict[str, Objects] = {}
        self._work: _Work | None = None
        self._lock = threading.Lock()
        self._is_interrupted = threading.Event()

    def local(
        self, files: Iterable[LiveFile], place: Callable[[LiveFile], str], *, is_limited: bool = False
    ) -> list[str]:
        """The paths of files on this disk, in their order; those that are in a store alone are fetched whole."""
        some = tuple(files)
        elsewhere = [file for file in some if not file.is_here]
        if is_limited:
            self._check_limit([file for file in elsewhere if not self._is_cached(file)])
        found = self._local(elsewhere)
        if missing := [file for file in elsewhere if file.path not in found]:
            raise UsageError(
                f"--offline is set, but the statement needs {described(missing, self._store_of)}",
                hint="remove --offline",
            )
        return [place(file) if file.is_here else found[file.path] for file in some]

    def readable(self, files: Iterable[LiveFile], place: Callable[[LiveFile], str]) -> list[str]:
        """What a query reads: paths on this disk, and addresses of the gate for large files.

        Offline, files that are in a store alone are left out, and reported.
        """
        some = tuple(files)
        elsewhere = [file for file in some if not file.is_here]
        if not elsewhere:
            return [place(file) for file in some]
        found: dict[str, str] = {}
        if not self.limits.is_offline:
            self._check_limit([file for file in elsewhere if not self._is_cached(file)])
            large = [file for file in elsewhere if file.size > SMALL and not self._is_cached(file)]
            found = {file.path: self._address(file) for file in large}
        found |= self._local([file for file in elsewhere if file.path not in found])
        if left_out := [file for file in elsewhere if file.path not in found]:
            self._say(f"warning: offline: the answer lacks {described(left_out, self._store_of)}")
        return [
            place(file) if file.is_here else found[file.path] for file in some if file.is_here or file.path in found
        ]

    @property
    def directory(self) -> Path:
        """Where fetched files are readable."""
        if self._links is None:
            self._links = self._cache.session()
        return self._links.path

    @property
    def gate_prefix(self) -> str | None:
        """What addresses of the gate begin with, once there is one."""
        return self._gate.prefix if self._gate is not None else None

    def failure(self) -> TailpipeError | None:
        """Why the gate could not read the store since the last call."""
        if self._gate is None:
            return None
        found, self._gate.failure = self._gate.failure, None
        return None if found is None else unreachable(found, list(self._served.values()), self._store_of)

    def begin(self) -> None:
        """A new statement begins: an interrupt of the one before does not count."""
        self._is_interrupted.clear()

    def interrupt(self) -> None:
        """End running fetches without waiting for the store; their callers get `KeyboardInterrupt`."""
        self._is_interrupted.set()
        if self._gate is not None:
            self._gate.cut()

    def close(self) -> None:
        """Let go of the files; those in the cache stay there for the next time."""
        self.interrupt()
        if self._gate is not None:
            self._gate.close()
            self._gate = None
        if self._links is not None:
            self._links.close()
            self._links = None

    def _is_cached(self, file: LiveFile) -> bool:
        return file.sha256 is not None and (
            (self._links is not None and (self.directory / file.sha256).exists())
            or self._cache.size_of(file.sha256) == file.size
        )

    def _local(self, files: Sequence[LiveFile]) -> dict[str, str]:
        """The paths of files that are in a store alone, once they are fetched; offline, of those in the cache."""
        if not files:
            return {}
        missing = [file for file in files if not self._link(file)]
        if missing and not self.limits.is_offline:
            for file in missing:
                self._objects(file)  # a store that cannot be opened says so before the first request
            self._fetch(missing)
            self._cache.evict()
        left = set() if not self.limits.is_offline else {file.path for file in missing}
        return {file.path: str(self.directory / _sha256(file)) for file in files if file.path not in left}

    def _link(self, file: LiveFile) -> bool:
        """Whether a file is readable without a request: this session has it, or the cache."""
        target = self.directory / _sha256(file)
        return target.exists() or self._cache.link(target.name, file.size, target)

    def _fetch(self, files: Sequence[LiveFile]) -> None:
        """Fetch files, many at once, and hear an interrupt meanwhile."""
        work = _Work()
        wanted = {_sha256(file): file for file in files}
        for file in sorted(wanted.values(), key=lambda one: -one.size):
            work.waiting.put(file)
        for number in range(min(_AT_ONCE, len(wanted))):
            threading.Thread(target=self._run, args=(work,), name=f"fetch-{number}", daemon=True).start()
        count, size, whole = 0, 0, sum(file.size for file in wanted.values())
        try:
            while count < len(wanted):
                if self._is_interrupted.is_set():
                    raise KeyboardInterrupt
                try:
                    done = work.done.get(timeout=_WAIT_SECONDS)
                except queue.Empty:
                    self.emit(Fetched(count, len(wanted), size, whole))
                    continue
                if isinstance(done, TailpipeError):
                    raise unreachable(done, files, self._store_of)
                if isinstance(done, BaseException):
                    raise done
                count, size = count + 1, size + done.size
                self.emit(Fetched(count, len(wanted), size, whole))
        finally:
            work.is_cancelled.set()

    def _run(self, work: _Work) -> None:
        """What each thread does: one file after the other, until there is none left or the fetch is ended."""
        while not work.is_cancelled.is_set():
            try:
                file = work.waiting.get_nowait()
            except queue.Empty:
                return
            try:
                objects, key = self._objects(file), file.key or ""
                name = f"{objects.location.rstrip('/')}/{key}"
                target = self.directory / _sha256(file)
                self._cache.add(target.name, file.size, target, _fetching(objects, key, name), name)
                work.done.put(file)
            except BaseException as error:  # noqa: BLE001 - it is raised where the files are waited for
                work.done.put(error)

    def _address(self, file: LiveFile) -> str:
        """The address of a large file."""
        from tailpipe.stores.gate import Gate

        objects, key = self._objects(file), file.key or ""
        if self._gate is None:
            self._gate = Gate()
        self._served[file.path] = file
        return self._gate.serve(file.path, file.size, lambda start, length: objects.get(key, start, length))

    def _objects(self, file: LiveFile) -> Objects:
        """The store of a file, opened."""
        store = self._store_of(file.partition)
        if store is None or file.key is None:
            hint = "add the store to the config again: see tailpipe store list"
            raise UsageError(
                f"cannot read {described([file], self._store_of)} that the config does not name", hint=hint
            )
        with self._lock:
            if store.name not in self._opened:
                self._opened[store.name] = opened(store)
            return self._opened[store.name]

    def _check_limit(self, files: Sequence[LiveFile]) -> None:
        """Refuse a statement that would fetch too much."""
        limit, size = self.limits.fetch_bytes, sum(file.size for file in files)
        if limit is None or size <= limit:
            return
        requests = sum(1 if file.size <= SMALL else _RANGES for file in files)
        raise UsageError(
            f"the statement needs {counted(files)} ({shown_size(size)}, about {requests:,} requests) of"
            f" {stores_of(files, self._store_of)}, which exceeds the fetch limit of {shown_size(limit)}",
            hint="narrow it by tp_date, tp_partition or tp_index, or with --from and --to; tp_catalog.days has counts;"
            f" to fetch it all: --fetch-limit {shown_size(size, is_up=True)}",
        )


def opened(store: Store) -> Objects:
    """The objects of a store, patient enough for a busy server and not for one that is not there."""
    from tailpipe.storage.object_stores import open_objects
    from tailpipe.storage.remote_objects import Backoff, RemoteObjects

    objects = open_objects(store.location, store.connection)
    if isinstance(objects, RemoteObjects):
        objects.backoff = Backoff(retries=4, longest_pause=3.0)
    return objects


def _fetching(objects: Objects, key: str, name: str) -> Callable[[Path], str]:
    def fetch(target: Path) -> str:
        try:
            return objects.fetch(key, target)
        except FileNotFoundError:
            hint = "the object was deleted: restore it in the store, or delete the day and collect it again"
            raise ObjectStoreError(f'"{name}" does not exist', location=name, key=key, hint=hint) from None

    return fetch


def _sha256(file: LiveFile) -> str:
    if file.sha256 is None:
        raise ObjectStoreError(f'the checksum of "{file.path}" is not known', location=file.path)
    return file.sha256


def unreachable(error: TailpipeError, files: Sequence[LiveFile], store_of: StoreOf) -> TailpipeError:
    """The failure of a fetch, with what needs it and how to do without."""
    if not isinstance(error, ObjectStoreError):
        return error
    hint = f"{error.hint}; " if error.hint else ""
    return ObjectStoreError(
        f"cannot fetch {described(files, store_of)}: {error.message}",
        location=error.location,
        key=error.key,
        hint=f"{hint}narrow the query to other days (see tp_catalog.days), or skip them: --offline",
    )


def described(files: Sequence[LiveFile], store_of: StoreOf) -> str:
    """Files that are in a store alone, in words: `3 files of app_log.prod (2024-01-01 to 2024-01-03, 1.2 MB), …`."""
    names = sorted({file.partition for file in files})
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more partitions" if len(names) > 3 else "")
    first, last = min(file.tp_date for file in files), max(file.tp_date for file in files)
    days = f"{first}" if first == last else f"{first} to {last}"
    size = shown_size(sum(file.size for file in files))
    verb = "is" if len(files) == 1 else "are"
    return f"{counted(files)} of {shown} ({days}, {size}), which {verb} only in {stores_of(files, store_of)}"


def counted(files: Sequence[LiveFile]) -> str:
    """How many files."""
    return f"{len(files):,} file{'' if len(files) == 1 else 's'}"


def stores_of(files: Sequence[LiveFile], store_of: StoreOf) -> str:
    """The stores of files, by name and location."""
    found = {store.name: store.location for name in {file.partition for file in files} if (store := store_of(name))}
    return ", ".join(f'store "{name}" ({place})' for name, place in sorted(found.items())) or "a store"
