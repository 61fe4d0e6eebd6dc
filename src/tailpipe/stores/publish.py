"""Publish partitions of a store: their tables for other engines follow the logs that are the truth.

A change is made of the kept copy of an entry of the log. If what is published does not reach up to it, the entries
between are told too, and if that cannot be done, all files that the log names as live.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.database import Database
from tailpipe.catalog.learn import known_version
from tailpipe.catalog.log_entry import LogEntry, read_entry
from tailpipe.catalog.snapshot import EPOCH
from tailpipe.errors import CatalogError
from tailpipe.model.staged import StagedFile
from tailpipe.storage.objects import Objects
from tailpipe.stores import delta
from tailpipe.stores.delta_actions import Change, GapError, is_earlier
from tailpipe.stores.delta_log import LogState, delete_log
from tailpipe.stores.delta_schema import LeftOut
from tailpipe.stores.keys import table_root

_MOST_ENTRIES = 100
"""So many entries are read again to publish them one by one; beyond that all files of the partition are."""
_FILE = "path, rows, bytes, sha256, tp_date, tp_index, min_timestamp, max_timestamp, role, key, columns"


@dataclass
class Publisher:
    """Publishes the tables of one store; what it knows of their Delta logs saves requests."""

    objects: Objects
    _states: dict[str, LogState] = field(default_factory=dict)

    def publish(self, writer: Writer, store: str) -> tuple[LeftOut, ...]:
        """Publish a partition up to the version that is known here; the columns that are left out, if that is news."""
        database, name = writer.database, writer.partition
        version = known_version(database, writer.partition_id, store)
        if not version:
            return ()
        try:
            change = _change(database, name, version) or whole_change(database, name, version)
            left_out = self.put(_table(name), [change])
        except GapError as gap:
            left_out = self.put(_table(name), self._since(database, name, gap.published, version))
        return left_out if _is_news(database, _table(name), left_out) else ()

    def put(self, table: str, changes: Iterable[Change]) -> tuple[LeftOut, ...]:
        """Publish these changes; the columns that other engines do not get."""
        done = delta.publish(self.objects, table, changes, since=self._states.get(table))
        self._states[table] = done.state
        return done.left_out

    def is_earlier(self, partition: str) -> bool:
        """Whether what was published just now is at the root of earlier versions."""
        state = self._states.get(_table(partition))
        return state is not None and is_earlier(state.root)

    def renew(self, table: str, changes: Sequence[Change]) -> tuple[LeftOut, ...]:
        """Delete the Delta log of a table and write it again from whole changes.

        One at the root of earlier versions stays as it is: its readers go on to see what it said last.
        """
        self._states[table] = LogState(table_root(table))
        delete_log(self.objects, table_root(table))
        return self.put(table, changes)

    def _since(self, database: Database, partition: str, published: int, version: int) -> list[Change]:
        """The changes after what is published, or the whole partition where one of them cannot be expressed."""
        found = []
        for number in range(published + 1, version + 1) if version - published <= _MOST_ENTRIES else ():
            change = _change(database, partition, number)
            if change is None:
                break
            found.append(change)
        if found and found[-1].version == version:
            return found
        return [whole_change(database, partition, version)]


def _table(partition: str) -> str:
    return partition.partition(".")[0]


def _change(database: Database, partition: str, version: int) -> Change | None:
    """What an entry of the log changes, by its kept copy; None if that does not say it."""
    path = database.layout.log_copy(partition, version)
    try:
        entry = read_entry(database.storage.read(path), version, str(path))
    except (OSError, CatalogError):
        return None
    return None if entry.is_whole else _rendered(database, entry)


def _rendered(database: Database, entry: LogEntry) -> Change | None:
    """The files that an entry adds and removes in the end; None if a removed one is not known any more."""
    added: dict[str, StagedFile] = {}
    never_there: set[str] = set()
    removed: dict[str, StagedFile] = {}
    for manifest in entry.manifests:
        for path in manifest.removed:
            if path in added or path in never_there:
                added.pop(path, None)
                continue
            known = _known(database, path)
            if known is None:
                return None
            if known.key is not None:
                removed[path] = known
        added |= {file.path: file for file in manifest.added if file.key}
        never_there |= {file.path for file in manifest.added if not file.key}
    return Change(
        entry.manifests[0].partition,
        entry.version,
        max(manifest.committed_at for manifest in entry.manifests),
        {str(file.key): file for file in added.values()},
        tuple(str(file.key) for file in removed.values()),
        is_compaction=all(manifest.kind in ("rewrite", "note") for manifest in entry.manifests)
        and _rows(added.values()) == _rows(removed.values()),
    )


def _rows(files: Iterable[StagedFile]) -> Counter[tuple[date | None, str | None]]:
    """How many rows each date and index has: a compaction leaves that as it was, a new index does not."""
    found: Counter[tuple[date | None, str | None]] = Counter()
    for file in files:
        found[file.tp_date, file.tp_index] += file.rows
    return found


def whole_change(database: Database, partition: str, version: int) -> Change:
    """All files of a partition that are live by its log, as the catalog knows it at that version."""
    files = {str(file.key): file for file in live_files(database, partition) if file.role == "data"}
    return Change(partition, version, database.now(), files, is_whole=True)


def live_files(database: Database, partition: str) -> Iterator[StagedFile]:
    """The files that are live by the log: what was not pushed says nothing."""
    rows = database.connection.execute(
        f"SELECT {_FILE} FROM files JOIN column_sets c ON c.id = columns_id"  # noqa: S608 - names
        " WHERE partition_id = (SELECT id FROM partitions WHERE name = ?) AND key IS NOT NULL"
        " AND transaction_id IN (SELECT transaction_id FROM pushed)"
        " AND (state = 'live' OR retired_by NOT IN (SELECT transaction_id FROM pushed)) ORDER BY path",
        (partition,),
    )
    columns: dict[str, Mapping[str, str]] = {}
    for row in rows:
        yield _file(row, columns)


def _known(database: Database, path: str) -> StagedFile | None:
    row = database.connection.execute(
        f"SELECT {_FILE} FROM files JOIN column_sets c ON c.id = columns_id WHERE path = ?",  # noqa: S608 - names
        (path,),
    ).fetchone()
    return _file(row, {}) if row else None


def _file(row: Sequence[object], columns: dict[str, Mapping[str, str]]) -> StagedFile:
    path, rows, size, sha256, day, index, low, high, role, key, text = row
    if text not in columns:  # thousands of files share a few sets of columns
        columns[str(text)] = json.loads(str(text))
    return StagedFile(
        str(path),
        int(str(rows)),
        int(str(size)),
        str(sha256),
        date.fromisoformat(str(day)) if day else None,
        None if index is None else str(index),
        _moment(low),
        _moment(high),
        columns[str(text)],
        "data" if role == "data" else "rejected",
        None if key is None else str(key),
    )


def _moment(microseconds: object) -> datetime | None:
    return None if microseconds is None else EPOCH + timedelta(microseconds=int(str(microseconds)))


def _is_news(database: Database, table: str, left_out: Sequence[LeftOut]) -> bool:
    """Whether these columns were not reported yet; they are from now on."""
    fact, text = f"left_out:{table}", json.dumps([[one.column, one.reason] for one in left_out])
    row = database.connection.execute("SELECT value FROM facts WHERE name = ?", (fact,)).fetchone()
    if (row[0] if row else "[]") == text:
        return False
    with database.writing() as connection:
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (fact, text))
    return True
