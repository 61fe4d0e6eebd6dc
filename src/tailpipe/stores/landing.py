"""Land a transaction whose files tasks have put into the store: the log first, then the catalog of this host.

    1 begin       what only this catalog knows of the partition is pushed, so that it and the log agree
    2 tasks put   files under their final keys, named by transaction and attempt
    3 verify      one ranged GET for each file: size, footer, columns, bounds; the accounts balance
    4 check       the manifest is applied to the catalog and rolled back: it follows from what is known
    5 append      the next entry of the log, by a conditional PUT: the commit
    6 learn       the catalog knows the entry, as it would know one of another host

Until 5 a crash leaves objects that no log names, which `store clean` deletes. After it, whoever fetches the log next
learns of it: this host, or a new one on an empty disk. There is no state in which the catalog has what the log has not.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tailpipe.catalog import verify
from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.commit import Committed, Transaction
from tailpipe.catalog.coverage import has_pending
from tailpipe.catalog.fence import fence_mark
from tailpipe.catalog.learn import checkpoint, known_version, learn, pending
from tailpipe.catalog.log_entry import make_entry
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import CommitError, ConflictError, ObjectStoreError, WorkspaceError
from tailpipe.kernel.delivery import Place, address_of
from tailpipe.model.meter import Meter
from tailpipe.model.staged import Staged, StagedFile
from tailpipe.storage.objects import Objects
from tailpipe.stores import log
from tailpipe.stores.follow import Conflict, follow, overtaken, project_retired
from tailpipe.stores.push import CHECKPOINT_EVERY, RACES, Target, push
from tailpipe.stores.upload import AT_ONCE

_FOOTER = 64 * 1024
"""So much of the end of a file is read; a longer footer takes a second request."""


@dataclass
class Landing:
    """Lands transactions of one partition; the caller holds it."""

    target: Target
    on_conflict: Callable[[Conflict], None] = lambda _: None
    """Gets what other hosts had taken when a transaction was to be committed."""
    _marks: dict[str, str] = field(default_factory=dict)
    """The newest sweep that was known when the files of a transaction got their keys."""

    def begin(self, writer: Writer) -> None:
        """Bring the log up to what this catalog knows; its first entry is made here too."""
        database = writer.database
        store = log.store_id(database, self.target.objects, may_make=True)
        is_new = store is None or known_version(database, writer.partition_id, store) == 0
        if has_pending(database.connection, writer.partition_id) or is_new:
            writer.note()
        if pending(database, writer.partition_id):
            push(writer, self.target)

    def place(self, transaction: Transaction) -> Place:
        """Where the files of a transaction go."""
        mark = fence_mark(transaction.database.connection, transaction.partition)
        self._marks[transaction.name] = mark
        keys = tuple(self.target.partition_by)
        return Place(self.target.store, transaction.partition, transaction.name, keys, mark)

    def remote(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot as tasks on other hosts can read it: the addresses of objects instead of paths."""
        files = tuple(file._replace(is_here=False) if file.key else file for file in snapshot.files)
        return replace(snapshot, files=files, bring=lambda some, _: [self._address(file) for file in some])

    def _address(self, file: LiveFile) -> str:
        if file.key is None:
            raise WorkspaceError(f"{file.path} is not in the store", path=file.path, hint="run: tailpipe push")
        return address_of(self.target.store, file.key, file.sha256)

    def commit(self, writer: Writer, transaction: Transaction, staged: Staged, meter: Meter | None = None) -> Committed:
        """Make all of it live for every host, or raise and leave everything as it was.

        ConflictError says that the log has changed under it: plan again.
        """
        meter = meter or Meter()
        try:
            with meter("verify"):
                found = verify.account_problems(staged, transaction.kind) + self._file_problems(staged.files)
                transaction.check(staged, found)
            return self._land(writer, transaction, staged)
        except BaseException:
            transaction.abort()
            raise

    def _land(self, writer: Writer, transaction: Transaction, staged: Staged) -> Committed:
        database, objects = writer.database, self.target.objects
        reach, pace = database.failpoints.reach, self.target.limits.begin()
        store = log.store_id(database, objects, may_make=True)
        assert store is not None  # noqa: S101 - it was made
        for _ in range(RACES):
            self.begin(writer)
            made = self._checked(writer, transaction, staged)
            version = known_version(database, writer.partition_id, store) + 1
            entry = make_entry([made], version, store, self.target.host)
            reach("land.checked")
            if log.append(objects, writer.partition, entry, sleep=pace.sleep):
                reach("land.appended")
                learn(writer, store, entry)
                reach("land.learned")
                project_retired(writer)
                self._checkpoint(writer, store, version)
                database.on_commit()
                rows = sum(file.rows for file in made.added if file.role == "data")
                paths = tuple(file.path for file in made.added)
                return Committed(transaction.name, version, transaction.unit, rows, paths, made.removed)
            follow(writer, store, objects, self.target.host, pace.check)
        raise ObjectStoreError(
            f"{writer.partition} was not committed: other hosts keep pushing to it",
            location=objects.location,
            hint="collect it again",
        )

    def _checked(self, writer: Writer, transaction: Transaction, staged: Staged) -> Manifest:
        """The manifest, if it follows from the log as far as it is known; else another host was quicker."""
        known = self._marks.get(transaction.name, "")
        if known != fence_mark(writer.database.connection, writer.partition):
            raise self._overtaken(transaction, "the store was cleaned meanwhile")
        try:
            return transaction.checked(staged)
        except CommitError as refused:
            if (conflict := overtaken(writer, transaction, staged)) is not None:
                self.on_conflict(conflict)
            raise self._overtaken(transaction, refused.message) from refused

    def _overtaken(self, transaction: Transaction, reason: str) -> ConflictError:
        unit = str(transaction.unit or transaction.kind)
        return ConflictError(
            f"{transaction.partition} {unit} was not committed: {reason}",
            partition=transaction.partition,
            hosts=(self.target.host, "another host"),
            hint="nothing was changed; collect it again",
        )

    def _checkpoint(self, writer: Writer, store: str, version: int) -> None:
        if version % CHECKPOINT_EVERY == 0:
            made = checkpoint(writer, store, self.target.host, version)
            if made is not None:
                log.put_checkpoint(self.target.objects, writer.partition, made)

    def _file_problems(self, files: Sequence[StagedFile]) -> list[str]:
        if not files:
            return []
        with ThreadPoolExecutor(min(AT_ONCE, len(files)), "verify") as pool:
            return [
                one for some in pool.map(lambda file: list(_problems(self.target.objects, file)), files) for one in some
            ]


def _problems(objects: Objects, file: StagedFile) -> Iterator[str]:
    """What is wrong with an object, by its end: a request for one byte more than it has proves its size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.key is None:
        yield f"{file.path} is not in the store"
        return
    length = min(file.size, _FOOTER)
    try:
        while True:
            start = file.size - length
            end = objects.get(file.key, start, length + 1)
            if len(end) != length:
                yield f"{file.key} has {start + len(end)} bytes or more instead of {file.size}"
                return
            needed = int.from_bytes(end[-8:-4], "little") + 8
            if needed <= length or length == file.size:
                break
            length = min(file.size, needed)
        footer = pq.read_metadata(io.BytesIO(end))
    except FileNotFoundError:
        yield f"{file.key} is missing in the store"
    except (OSError, pa.ArrowException) as problem:
        yield f"{file.key} is not a parquet file: {problem}"
    else:
        yield from verify.footer_problems(file, footer)
