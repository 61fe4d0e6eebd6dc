"""Locks: one writer for each partition, freed by the kernel when its process dies."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tailpipe.catalog.database import Database
from tailpipe.catalog.layout import Layout
from tailpipe.errors import LockedError
from tailpipe.storage.storage import LocalTree

T = TypeVar("T")
R = TypeVar("R")


@contextlib.contextmanager
def hold(database: Database, partition: str) -> Iterator[None]:
    """Hold the partition's lock, or raise LockedError that names who holds it."""
    path = database.layout.lock(partition)
    with hold_catalog(database.layout, database.tree):
        try:
            lock = database.tree.lock(path)
        except BlockingIOError:
            raise _locked(database.tree, path, partition) from None
        try:
            command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
            since = database.now().isoformat(timespec="seconds")
            lock.sign(json.dumps({"pid": os.getpid(), "command": command, "since": since}).encode())
            yield
        finally:
            lock.release()


@contextlib.contextmanager
def hold_catalog(layout: Layout, tree: LocalTree, *, alone: bool = False) -> Iterator[None]:
    """Keep `catalog.db` from being replaced while a partition is written, or replace it `alone`."""
    path = layout.catalog_lock
    try:
        lock = tree.lock(path, is_shared=not alone)
    except BlockingIOError:
        raise LockedError(
            f"{layout.database} is in use by another process; nothing was changed",
            path=str(path),
            partition="",
            hint="wait until it is done",
        ) from None
    try:
        yield
    finally:
        lock.release()


def take_over(database: Database, partition: str) -> tuple[int, int]:
    """Begin a new epoch of the partition and return its id and epoch.

    The lock alone does not stop a writer that was suspended while its lock file was removed by
    hand: a writer that finds a later epoch than its own must not commit any more.
    """
    with database.writing() as connection:
        connection.execute(
            "INSERT INTO partitions (name, epoch) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET epoch = epoch + 1",
            (partition,),
        )
        row = connection.execute("SELECT id, epoch FROM partitions WHERE name = ?", (partition,)).fetchone()
    return int(row[0]), int(row[1])


def check_epoch(database: Database, partition: str, partition_id: int, epoch: int) -> None:
    """Raise LockedError if another writer has begun a later epoch; to be called inside a transaction."""
    row = database.connection.execute("SELECT epoch FROM partitions WHERE id = ?", (partition_id,)).fetchone()
    if row is None or row[0] != epoch:
        raise LockedError(
            f'partition "{partition}" was taken over by another process while this one stood still;'
            " nothing was changed",
            path=str(database.layout.lock(partition)),
            partition=partition,
            hint="collect again to get the missing days",
        )


def each_in_turn(things: Iterable[T], act: Callable[[T], R], locked: Callable[[T, str], R]) -> list[R]:
    """The result of `act` for each thing, or that of `locked` with the reason: a held partition stops no other."""
    done = []
    for one in things:
        try:
            done.append(act(one))
        except LockedError as error:
            done.append(locked(one, error.message))
    return done


def _locked(tree: LocalTree, path: Path, partition: str) -> LockedError:
    try:
        holder = json.loads(tree.read(path))
        pid, who = int(holder["pid"]), f"pid {holder['pid']} since {holder['since']} ({holder['command']})"
    except (OSError, ValueError, KeyError, TypeError):  # it has just been taken and is not signed yet
        pid, who = None, "another process"
    return LockedError(
        f'partition "{partition}" is being written by {who}; nothing was changed',
        path=str(path),
        partition=partition,
        pid=pid,
        hint="wait until it has finished, or end that process",
    )
