"""Follow the log of a partition: fetch what other hosts have appended, and settle what does not go together with it.

An entry that goes together with what waits here to be pushed is applied on top. Otherwise the partition is rebased:
transactions that still follow wait on, the others are dropped. Of a dropped one, artifacts that no other host has taken
are carried over into a new transaction, without reading them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tailpipe.catalog import learn as learning
from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.commit import Transaction
from tailpipe.catalog.database import storage_errors
from tailpipe.catalog.learn import keep_copy, kept_entry, known_version, learn, pending
from tailpipe.catalog.log_entry import LogEntry
from tailpipe.catalog.project import project
from tailpipe.catalog.publish import drop_staging
from tailpipe.catalog.rebase import Displaced, rebase, split_taken, unpushed
from tailpipe.catalog.recover import set_dropped_aside
from tailpipe.errors import CommitError, ConflictError, ObjectStoreError, StorageError
from tailpipe.frozen import frozen
from tailpipe.model.coverage import Cover, DaySet, Drop
from tailpipe.model.staged import Covered, Staged
from tailpipe.storage.objects import Objects
from tailpipe.stores import log

FAR = 20
"""If a checkpoint spares so many entries, it is used; a rebase looks for one after so many entries."""


def far(version: int) -> int:
    """How many entries a checkpoint must spare a host that knows a version; one that knows nothing always uses it."""
    return FAR if version else 1


@frozen
class Conflict:
    """A transaction that was dropped because of the log; `taken` counts its artifacts by the host that was first.

    `carried` are the rows of its other artifacts that were kept; `left` artifacts are collected again: by the same run
    if it `is_listed_again`, else by the next one.
    """

    partition: str
    transaction: str
    kind: str
    unit: str
    rows: int
    artifacts: int
    taken: tuple[tuple[str, int], ...]
    carried: int = 0
    left: int = 0
    is_listed_again: bool = False

    def __str__(self) -> str:
        what = f"{self.partition} {self.unit or self.kind}"
        if self.kind == "delete":
            return f"{what}: other hosts had changed the files, so the deletion was made again"
        if not self.taken:
            return f"{what}: other hosts had changed it before this {self.kind} was pushed, so it was dropped"
        hosts = " and ".join(f"{host} had already collected {count}" for host, count in self.taken)
        collected = f"{what}: {hosts} of {self.artifacts} artifact{'s' * (self.artifacts != 1)}"
        if self.carried or not self.left:
            rest = f"; {self.carried:,} of {self.rows:,} rows were kept" if self.carried else "; dropped this copy"
        else:
            rest = f"; {'this' if self.is_listed_again else 'the next'} collection reads the other {self.left}"
        return collected + rest


def overtaken(writer: Writer, transaction: Transaction, staged: Staged) -> Conflict | None:
    """What other hosts have taken of a transaction that was refused; None if it was refused for another reason."""
    taken, left, _ = split_taken(writer.database.connection, writer.partition_id, staged.artifacts)
    if not taken:
        return None
    return Conflict(
        transaction.partition,
        transaction.name,
        transaction.kind,
        str(transaction.unit or ""),
        sum(file.rows for file in staged.files if file.role == "data"),
        len(staged.artifacts),
        tuple(sorted(taken.items())),
        left=len(left),
        is_listed_again=True,
    )


@frozen
class Followed:
    """What the log has brought: transactions of other hosts, and conflicts with what was not pushed."""

    pulled: int = 0
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know beside that."""


def follow(
    writer: Writer, store: str, objects: Objects, host: str, check: Callable[[], None] = lambda: None
) -> Followed:
    """Apply the entries of the log that are not known here: one LIST, and one GET for each of them.

    The caller holds the partition. Each entry is applied in a transaction of its own, so it may be called again.
    """
    database, reach = writer.database, writer.database.failpoints.reach
    pulled, conflicts, notes = 0, list[Conflict](), dict[str, None]()
    version = known_version(database, writer.partition_id, store)
    for entry in log.entries_after(objects, writer.partition, version, far=far(version)):
        try:
            if entry.is_checkpoint:
                raise learning.conflict(writer, entry, "it is a checkpoint")
            new = learn(writer, store, entry)
        except ConflictError:
            new, found = _rebase(writer, store, objects, host, entry)
            conflicts += found
        pulled += new
        # On the first meeting it may be this machine, before its workspace was lost.
        if new and version and entry.host == host and not entry.is_checkpoint:
            notes[_namesake(writer.partition, host)] = None
        reach("push.fetched")
        check()
    project_retired(writer)
    return Followed(pulled, tuple(conflicts), tuple(notes))


def _namesake(partition: str, host: str) -> str:
    return (
        f'{partition}: another workspace also pushes as host "{host}"; name each: workspace "default" {{ host = "…" }}'
    )


def _rebase(writer: Writer, store: str, objects: Objects, host: str, newest: LogEntry) -> tuple[int, list[Conflict]]:
    database = writer.database
    entries = _since_whole(writer, objects, newest)
    waiting = unpushed(database, writer.partition, pending(database, writer.partition_id))
    with storage_errors(database.layout.log):
        keep_copy(database, writer.partition, newest)
    database.failpoints.reach("rebase.copied")
    done = rebase(writer, store, host, entries, waiting)
    database.failpoints.reach("rebase.after")
    with storage_errors(database.layout.manifests):
        set_dropped_aside(database, writer.partition_id)
    project_retired(writer, done.paths)
    database.on_commit()
    return done.pulled, [_resolve(writer, one) for one in done.displaced]


def _since_whole(writer: Writer, objects: Objects, newest: LogEntry) -> list[LogEntry]:
    """The entries that give the state at the newest of them: from the last whole one, or the last checkpoint, on."""
    found = [newest]
    while not found[-1].is_whole:
        version = found[-1].version - 1
        entry = kept_entry(writer.database, writer.partition, version)
        if entry is None:
            entry = log.entry_of(objects, writer.partition, version)
        if entry is None:
            raise ObjectStoreError(
                f'version {version} of the log of {writer.partition} is missing in "{objects.location}"',
                location=objects.location,
                hint="restore it from a version of the bucket, or from .tailpipe/log of a host",
            )
        found.append(entry)
        if len(found) == FAR and (marked := log.newest_checkpoint(objects, writer.partition, newest.version - 1)):
            keep_copy(writer.database, writer.partition, marked)  # met below, and by the next rebase
            later = [one for one in found if one.version > marked.version]
            found = [*later, marked] if len(later) < len(found) else found
    return found[::-1]


def _resolve(writer: Writer, found: Displaced) -> Conflict:
    """Do what can be done for a dropped transaction: carry over what is not taken yet, or delete again."""
    manifest, carried = found.manifest, 0
    if manifest.kind == "delete":
        days = [one.days for _, one in manifest.coverage if isinstance(one, Drop)]
        dates = DaySet.of(loss.tp_date for loss in manifest.losses)
        for some in days:
            dates = dates | some
        writer.delete(dates)
    elif manifest.kind == "append" and found.gone and found.left:
        carried = _carry(writer, found)
    return Conflict(
        writer.partition,
        manifest.transaction,
        manifest.kind,
        str(manifest.unit or ""),
        found.rows,
        len(manifest.artifacts),
        tuple(sorted(found.taken.items())),
        carried,
        0 if carried else len(found.left),
    )


def _carry(writer: Writer, found: Displaced) -> int:
    """Commit the rows of the artifacts that are left; 0 if they have to be collected again."""
    from tailpipe.kernel.carry import CarriedFile, Carry, carry_rows
    from tailpipe.kernel.task import Staging, row_prefix

    manifest, layout = found.manifest, writer.database.layout
    assert manifest.unit is not None  # noqa: S101 - an append has one
    places = [(file, str(layout.stored(file.path))) for file in manifest.added]
    prefixes = tuple(row_prefix(writer.partition, *one.entry.identity) for one in found.gone)
    transaction = writer.begin(manifest.unit)
    try:
        with transaction, storage_errors(transaction.staging):
            task = Carry(
                tuple(
                    CarriedFile(place, file.tp_date, file.tp_index, file.columns)
                    for file, place in places
                    if file.role == "data" and file.tp_date is not None
                ),
                prefixes,
                Staging(str(transaction.staging), "carried"),
                tuple(place for file, place in places if file.role == "rejected"),
            )
            files = carry_rows(task)
            transaction.commit(Staged(files, found.left, tuple(_covered(found)), ingested_at=manifest.ingested_at))
    except (CommitError, StorageError):
        return 0  # it was rolled back, and the next collection takes them
    return sum(file.rows for file in files if file.role == "data")


def _covered(found: Displaced) -> Iterator[Covered]:
    for key, one in found.manifest.coverage:
        if isinstance(one, Cover):
            yield Covered(key.partition("@")[0], one.days, one.settled_before)


def project_retired(writer: Writer, paths: Sequence[str] = ()) -> None:
    """Let the hive lose what other hosts have retired; also what a process that was killed here has left."""
    rows = writer.database.connection.execute(
        "SELECT path FROM files WHERE partition_id = ? AND state = 'retired' AND here = 1"
        " AND (SELECT number FROM transactions t WHERE t.id = retired_by) IS NULL",
        (writer.partition_id,),
    )
    if changed := {*paths, *(path for (path,) in rows)}:
        staging = f"follow-{writer.partition_id}"
        with storage_errors(writer.database.layout.staging):
            project(writer.database, staging, sorted(changed), may_exchange=False)
            drop_staging(writer.database, staging)
