"""Tables whose files are in a store alone: a directory, or a bucket of a real S3 server."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from tailpipe.catalog.database import open_database
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.snapshot import EPOCH, LiveFile, Snapshot
from tailpipe.frozen import frozen
from tailpipe.home.stores import HomeStores
from tailpipe.model.store import Store
from tailpipe.query.request import Query
from tailpipe.query.session import Session
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.stores.cache import CACHE_BYTES, Cache
from tailpipe.stores.fetch import SMALL, Limits, Reader
from tailpipe.workspace import Workspace

FIRST = date(2024, 1, 1)
SECRET = "the-secret-of-the-store"
COLUMNS = {
    "n": "BIGINT",
    "text": "VARCHAR",
    "tp_timestamp": "TIMESTAMP",
    "tp_date": "DATE",
    "tp_index": "VARCHAR",
    "tp_partition": "VARCHAR",
}


@dataclass
class Remote:
    """A workspace of files by day, each put into the store, or kept here."""

    root: Path
    store: Store
    files: list[LiveFile] = field(default_factory=list)
    columns: dict[int, dict[str, str]] = field(default_factory=lambda: {1: COLUMNS})
    said: list[str] = field(default_factory=list)

    @property
    def objects(self) -> Objects:
        return open_objects(self.store.location, self.store.connection)

    def add(
        self,
        day: int,
        *,
        rows: int = 10,
        is_here: bool = False,
        partition: str = "app_log.prod",
        index: str = "x",
        more: str = "",
        columns_id: int = 1,
    ) -> LiveFile:
        """A file of one day; the rows of day n have the numbers from n * 1,000,000 on."""
        on = FIRST + timedelta(days=day)
        moment = f"TIMESTAMP '{on} 10:00'"
        name = f"{len(self.files):08d}-0000000000000000-0000"
        table, _, part = partition.partition(".")
        tail = f"tp_table={table}/tp_partition={part}/tp_index={index}/tp_date={on}/{name}"
        place = self.root / "files" / tail
        place.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT ({day} * 1000000 + i)::BIGINT AS n, md5(i::VARCHAR) AS text, {moment} AS tp_timestamp,"
                f" DATE '{on}' AS tp_date, '{index}' AS tp_index, '{part}' AS tp_partition{more}"
                f" FROM range({rows}) t(i)) TO '{place}' (FORMAT parquet)"
            )
        digest = hashlib.sha256(place.read_bytes()).hexdigest()
        low = (datetime(on.year, on.month, on.day, 10, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
        key = f"data/{tail}.parquet"
        facts = (f"files/{tail}", partition, str(on), index, on, rows, place.stat().st_size, low, low, columns_id)
        if is_here:
            file = LiveFile(*facts)
        else:
            self.objects.put_file(key, place, sha256=digest)
            place.unlink()
            file = LiveFile(*facts, False, key, digest)
        self.files.append(file)
        return file

    def snapshot(self) -> Snapshot:
        return Snapshot(self.root, tuple(sorted(self.files)), self.columns, len(self.files))

    def reader(self, limits: Limits | None = None, size: int = CACHE_BYTES, **options: Any) -> Reader:
        return Reader(Cache(self.root / "cache", size), lambda _: self.store, limits, say=self.said.append, **options)

    def session(self, limits: Limits | None = None, **options: Any) -> Session:
        return Session(self.snapshot(), {}, Query(**options), open_reader=lambda: self.reader(limits))


def asked(session: Session, sql: str) -> list[tuple[Any, ...]]:
    return list(session.run(sql).rows)


def requests_of(session: Session) -> dict[str, int]:
    """How many requests a session has made, by kind."""
    files = session._files
    if files is None or files._reader is None:
        return {}
    total: dict[str, int] = {}
    for one in files._reader._opened.values():
        for kind, count in one.requests.items():
            total[kind] = total.get(kind, 0) + count
    return total


@frozen
class OneStore(HomeStores):
    """The stores of a workspace all of whose partitions have the same one."""

    store: Store

    def of(self, partition: str) -> Store | None:
        return self.store


def give_store(workspace: Workspace, store: Store) -> Workspace:
    """Let all partitions of a workspace have a store."""
    home = workspace.home
    home.stores = OneStore(home.settings.workspace, home.config, store)
    return workspace


def move_out(layout: Layout, objects: Objects, leave: Callable[[str], bool] = lambda _: False) -> int:
    """Put the files of a workspace into a store, and remove them here as a push with `here` does; how many."""
    database = open_database(layout)
    moved = 0
    try:
        with database.writing() as connection:
            rows = connection.execute("SELECT path, sha256 FROM files WHERE state = 'live'").fetchall()
            for path, sha256 in rows:
                if leave(path):
                    continue
                key = f"{path.replace('files/', 'data/', 1)}.parquet"
                objects.put_file(key, layout.stored(path), sha256=sha256)
                connection.execute("UPDATE files SET here = 0, there = 1, key = ? WHERE path = ?", (key, path))
                moved += 1
        for path, _ in rows:
            if not leave(path):
                layout.stored(path).unlink()
                if path.startswith("files/"):
                    layout.public(path).unlink()
    finally:
        database.close()
    return moved


def large(remote: Remote, day: int) -> LiveFile:
    """A file that is read through the gate."""
    file = remote.add(day, rows=400_000)
    assert file.size > SMALL
    return file
