"""Tiers: what is in the store need not stay on this disk, and nothing goes from it that the store has not proved.

A file that need not stay leaves in two steps. First it counts as remote and its link leaves the hive, while readers
that have listed it can still open it; one grace period later the store has to prove size and checksum, and it is
unlinked. A file that the store does not prove stays here, and the next push puts it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.clean import GRACE, remove_empty
from tailpipe.catalog.database import storage_errors
from tailpipe.catalog.project import project
from tailpipe.catalog.publish import drop_staging
from tailpipe.catalog.snapshot import count_move
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores.part import WHOLE, Part
from tailpipe.stores.upload import AT_ONCE, is_proved


@frozen
class TierFile:
    """What a rule decides by: the values that a file has one of."""

    path: str
    partition: str
    tp_index: str | None
    tp_date: date
    size: int


Stays = Callable[[Sequence[TierFile]], Collection[str]]
"""Which of these files stay on this disk, by their paths."""


@frozen
class Tiered:
    """What has changed: files that count as remote since, files that are back, and what was freed on this disk."""

    left: int = 0
    returned: int = 0
    freed_files: int = 0
    freed_size: int = 0
    unproved: tuple[str, ...] = ()
    """Keys of objects that are not what was pushed; their files stay here."""


def settle(writer: Writer, objects: Objects, stays: Stays, *, grace: timedelta = GRACE) -> Tiered:
    """Apply the rule to the live files of a partition, and free what has left longer ago than `grace`.

    A file that is pinned, or that the log does not name yet, stays. The caller holds the partition.
    """
    with storage_errors(writer.database.layout.files):
        left, returned = _move(writer, stays)
        freed, size, unproved = _free(writer, objects, grace)
    return Tiered(left, returned, freed, size, unproved)


def _move(writer: Writer, stays: Stays) -> tuple[int, int]:
    """Let files leave, or come back as long as they are on the disk; the hive follows."""
    database = writer.database
    rows = database.connection.execute(
        "SELECT path, tp_index, tp_date, bytes, here, is_pinned FROM files WHERE partition_id = ? AND state = 'live'"
        " AND role = 'data' AND there = 1 AND (here = 1 OR left_at IS NOT NULL) ORDER BY path",
        (writer.partition_id,),
    ).fetchall()
    files = [
        TierFile(path, writer.partition, index, date.fromisoformat(day), size) for path, index, day, size, _, _ in rows
    ]
    kept = set(stays(files)) | {path for path, *_, is_pinned in rows if is_pinned}
    is_here = {path: bool(here) for path, _, _, _, here, _ in rows}
    leaving = [path for path, here in is_here.items() if here and path not in kept]
    returning = [
        path
        for path, here in is_here.items()
        if not here and path in kept and database.storage.exists(database.layout.stored(path))
    ]
    if leaving or returning:
        with database.writing() as connection:
            now = database.now().isoformat()
            connection.executemany("UPDATE files SET here = 0, left_at = ? WHERE path = ?", [(now, p) for p in leaving])
            connection.executemany(
                "UPDATE files SET here = 1, left_at = NULL WHERE path = ?", [(p,) for p in returning]
            )
            count_move(connection)
    database.failpoints.reach("tier.left")
    # Also what a process that was killed here had let go: the hive is brought in line once more.
    gone = [path for path, here in is_here.items() if not here]
    if leaving or gone:
        _project(writer, [*leaving, *gone])
    database.failpoints.reach("tier.withdrawn")
    if leaving or returning:
        database.on_commit()
    return len(leaving), len(returning)


def _free(writer: Writer, objects: Objects, grace: timedelta) -> tuple[int, int, tuple[str, ...]]:
    """Unlink what has left a while ago and is proved; the mark goes last, so that it can be done again."""
    database = writer.database
    due = database.connection.execute(
        "SELECT path, key, bytes, sha256 FROM files WHERE partition_id = ? AND state = 'live' AND here = 0"
        " AND left_at <= ? ORDER BY path",
        (writer.partition_id, (database.now() - grace).isoformat()),
    ).fetchall()
    if not due:
        return 0, 0, ()
    with ThreadPoolExecutor(min(AT_ONCE, len(due)), "tiers") as pool:
        proved = list(pool.map(lambda one: is_proved(objects, *one[1:]), due))
    for (path, *_), is_there in zip(due, proved, strict=True):
        if is_there:
            database.failpoints.reach("tier.unlink")
            database.storage.delete(database.layout.stored(path))
    database.failpoints.reach("tier.forget")
    good = [path for (path, *_), is_there in zip(due, proved, strict=True) if is_there]
    bad = [(path, key) for (path, key, *_), is_there in zip(due, proved, strict=True) if not is_there]
    with database.writing() as connection:
        connection.executemany("UPDATE files SET left_at = NULL WHERE path = ?", [(path,) for path in good])
        connection.executemany(
            "UPDATE files SET here = 1, there = 0, left_at = NULL WHERE path = ?",
            [(path,) for path, _ in bad if database.storage.exists(database.layout.stored(path))],
        )
        if bad:
            count_move(connection)
    _project(writer, [path for path, _ in bad])
    remove_empty(database, writer.partition, {database.layout.stored(path).parent for path in good})
    database.failpoints.reach("tier.after")
    size = sum(size for (path, _, size, _), is_there in zip(due, proved, strict=True) if is_there)
    return len(good), size, tuple(key for _, key in bad)


def _project(writer: Writer, paths: Sequence[str]) -> None:
    if paths:
        staging = f"tiers-{writer.partition_id}"
        project(writer.database, staging, paths, may_exchange=False)
        drop_staging(writer.database, staging)


def pin(writer: Writer, part: Part = WHOLE, *, is_pinned: bool, but: Sequence[Part] = ()) -> int:
    """Pin live files of a partition, or of a part of it, so that no rule lets them leave; or let go of them.

    Files of the parts in `but` stay as they are. Returns how many files changed. What is not on this disk is not
    fetched by it.
    """
    with writer.database.writing() as connection:
        rows = connection.execute(
            "SELECT path, tp_date, tp_index FROM files WHERE partition_id = ? AND state = 'live' AND role = 'data'"
            " AND is_pinned <> ?",
            (writer.partition_id, is_pinned),
        ).fetchall()
        changed = [
            (is_pinned, path)
            for path, *facts in rows
            if part.has(*facts) and not any(other.has(*facts) for other in but)
        ]
        connection.executemany("UPDATE files SET is_pinned = ? WHERE path = ?", changed)
    return len(changed)
