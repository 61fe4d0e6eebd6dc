"""Push a partition: put its new files into the store, then append its new transactions to the log there.

    1 fetch       entries of the log that are not known here are applied
    2 upload      live files that the store does not have
    3 append      the next entry of the log: the commit
    4 learn       the catalog knows it: version, what is pushed, which files are there
    5 publish     table formats for other engines follow the log (`publish.py`)
    6 leave       files that need not stay on this disk count as remote (`tiers.py`)
    7 unlink      and go from it after the grace period, once the store has proved them

The caller holds the partition. Each step may be done again after a kill: what is uploaded is found, what is appended
is recognised by the transactions in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from datetime import datetime

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.fence import fence_mark
from tailpipe.catalog.learn import (
    UnpushedFile,
    checkpoint,
    known_version,
    learn,
    mark_put,
    pending,
    to_push,
    unpushed_files,
    unpushed_since,
)
from tailpipe.catalog.log_entry import make_entry
from tailpipe.errors import ObjectStoreError
from tailpipe.frozen import frozen
from tailpipe.model.store import PARTITION_BY
from tailpipe.storage.objects import Objects
from tailpipe.stores import log
from tailpipe.stores.follow import Conflict, follow
from tailpipe.stores.keys import data_key, rejected_key
from tailpipe.stores.upload import Limits, Upload, upload

CHECKPOINT_EVERY = 100
"""After so many versions the state is put beside the log, also in the middle of a run."""
CHECKPOINT_SOON = 10
"""After so many it is put at the end of the run that made the last of them."""
RACES = 50
"""So often other hosts may be quicker."""


@frozen
class Progress:
    """How far the upload of a partition is."""

    partition: str
    files: int
    size: int
    total_files: int
    total_size: int


@frozen
class Target:
    """Where a partition is pushed to, and as whom."""

    store: str
    objects: Objects
    host: str
    partition_by: Sequence[str] = PARTITION_BY
    emit: Callable[[Progress], None] = lambda _: None
    limits: Limits = field(default_factory=Limits)


@frozen
class Pushed:
    """What a push has done: `version` is that of the log since, `pulled` are transactions of other hosts."""

    partition: str
    store: str
    version: int
    transactions: int = 0
    files: int = 0
    size: int = 0
    pulled: int = 0
    conflicts: tuple[Conflict, ...] = ()
    """What other hosts had taken before it was pushed."""
    notes: tuple[str, ...] = ()
    """What a person should know beside that."""

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the end of the run should put a checkpoint."""
        return self.transactions > 0 and self.version % CHECKPOINT_SOON == 0 and self.version % CHECKPOINT_EVERY != 0


@frozen
class WouldPush:
    """What a push would do; `since` is when the oldest transaction was committed that is not pushed."""

    partition: str
    store: str
    transactions: int
    files: int
    size: int
    requests: int
    since: datetime | None


def preview(catalog: Catalog, partition: str, target: Target) -> WouldPush:
    """What pushing would do, as far as this catalog knows; no request is made."""
    database = catalog.database
    row = database.connection.execute("SELECT id FROM partitions WHERE name = ?", (partition,)).fetchone()
    names, since = pending(database, row[0]) if row else [], unpushed_since(database, partition)
    files = unpushed_files(database, row[0]) if row else []
    is_new = database.connection.execute(
        "SELECT 1 FROM facts WHERE name = ?", (f"store:{target.objects.location}",)
    ).fetchone()
    # A listing, an entry of the log, and what makes the location a store if it is none yet.
    requests = 1 + len(files) + bool(names) + (0 if is_new else 4)
    return WouldPush(
        partition,
        target.store,
        len(names),
        len(files),
        sum(one.size for one in files),
        requests,
        since,
    )


def push(writer: Writer, target: Target, *, is_fetched: bool = False) -> Pushed:
    """Steps 1 to 4. If the log was fetched a moment ago, the listing can be spared: a conflict shows at the append."""
    return _Push(writer, target).run(is_fetched)


def put_checkpoint(writer: Writer, target: Target) -> None:
    """Spare others the log up to the version that is known here; without a checkpoint they read all entries."""
    database = writer.database
    store = log.store_id(database, target.objects, may_make=False)
    version = known_version(database, writer.partition_id, store) if store else 0
    made = checkpoint(writer, store, target.host, version) if store and version else None
    if made is not None:
        log.put_checkpoint(target.objects, writer.partition, made)
        database.failpoints.reach("push.checkpointed")


class _Push:
    def __init__(self, writer: Writer, target: Target) -> None:
        self.writer, self.target = writer, target
        self.database, self.objects = writer.database, target.objects
        self.reach = writer.database.failpoints.reach
        self.pace = target.limits.begin()
        self.files = self.size = self.pulled = self.transactions = 0
        self.put: set[str] = set()
        self.conflicts: tuple[Conflict, ...] = ()
        self.notes: tuple[str, ...] = ()

    def run(self, is_fetched: bool) -> Pushed:
        names = pending(self.database, self.writer.partition_id)
        self.reach("push.begin")
        found = log.store_id(self.database, self.objects, may_make=bool(names), sleep=self.pace.sleep)
        self.store = found or ""
        self._check_store()
        if not is_fetched and found is not None:
            self._fetch()
        for _ in range(RACES):
            self._upload()
            names = pending(self.database, self.writer.partition_id)
            if not names or self._append(names):
                return self._pushed()
            self._fetch()
        raise ObjectStoreError(
            f"{self.writer.partition} was not pushed: other hosts keep pushing to it",
            location=self.objects.location,
            hint="push it again",
        )

    def _version(self) -> int:
        return known_version(self.database, self.writer.partition_id, self.store)

    def _check_store(self) -> None:
        """Refuse a store that is not the one in which the partition is."""
        row = self.database.connection.execute(
            "SELECT 1 FROM stores WHERE partition_id = ? AND store <> ?", (self.writer.partition_id, self.store)
        ).fetchone()
        if row is not None:
            raise ObjectStoreError(
                f'"{self.objects.location}" is not the store that {self.writer.partition} was pushed to',
                location=self.objects.location,
                hint="correct its location; a partition cannot move to another store",
            )

    def _fetch(self) -> None:
        found = follow(self.writer, self.store, self.objects, self.target.host, self.pace.check)
        self.pulled += found.pulled
        self.conflicts = (*self.conflicts, *found.conflicts)
        self.notes = (*self.notes, *found.notes)

    def _upload(self) -> None:
        found = unpushed_files(self.database, self.writer.partition_id)
        files = [file for file in found if file.key not in self.put]  # after a sweep it is another one
        by_key = {one.key: (file, one) for file, one in self._uploads(files)}
        total = sum(file.size for file in files)
        sent, size = 0, 0
        for done in upload(self.objects, [one for _, one in by_key.values()], self.pace, self.reach):
            mark_put(self.writer, ((by_key[one.key][0], one.key) for one in done))
            self.put |= {one.key for one in done}
            self.reach("push.noted")
            sent, size = sent + len(done), size + sum(one.size for one in done)
            self.files, self.size = self.files + len(done), self.size + sum(one.size for one in done)
            self.target.emit(Progress(self.writer.partition, sent, size, len(files), total))
        self.reach("push.uploaded")

    def _uploads(self, files: Sequence[UnpushedFile]) -> Iterator[tuple[UnpushedFile, Upload]]:
        mark = fence_mark(self.database.connection, self.writer.partition)
        for file in files:
            name = file.path.rpartition("/")[2] + mark
            key = file.key
            if key is None and (file.role == "rejected" or file.tp_date is None):
                key = rejected_key(self.writer.partition, name)
            elif key is None:
                assert file.tp_date is not None  # noqa: S101 - see above
                key = data_key(self.target.partition_by, self.writer.partition, file.tp_index, file.tp_date, name)
            source = self.database.layout.stored(file.path)
            yield file, Upload(source, key, file.size, file.sha256, is_expected=file.key is not None)

    def _append(self, names: Sequence[tuple[str, str | None]]) -> bool:
        version = self._version() + 1
        made, is_whole = to_push(self.writer, names, self.target.host, version)
        entry = make_entry(made, version, self.store, self.target.host, is_whole=is_whole)
        if not log.append(self.objects, self.writer.partition, entry, sleep=self.pace.sleep):
            return False
        self.reach("push.appended")
        learn(self.writer, self.store, entry)
        self.reach("push.learned")
        self.transactions += len(names)
        if version % CHECKPOINT_EVERY == 0:
            put_checkpoint(self.writer, self.target)
        return True

    def _pushed(self) -> Pushed:
        return Pushed(
            self.writer.partition,
            self.target.store,
            self._version() if self.store else 0,
            self.transactions,
            self.files,
            self.size,
            self.pulled,
            self.conflicts,
            tuple(dict.fromkeys(self.notes)),
        )
