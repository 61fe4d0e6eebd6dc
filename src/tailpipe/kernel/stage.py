"""Staging: rows in hand become parquet files, one for each index and date, on disk for good and checksummed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.kernel.row_buffer import RowBuffer, RowCount
from tailpipe.kernel.shape import KEPT
from tailpipe.kernel.task import Staging
from tailpipe.model.staged import StagedFile
from tailpipe.sql.quoting import literal
from tailpipe.storage.local import LOCAL

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.sql.duck import duckdb

__all__ = ["Key", "Stage", "key_condition"]

_PARQUET = "FORMAT parquet, COMPRESSION zstd, RETURN_STATS"
_MANY_KEYS = 24
"""Up to so many files, a query for each is faster than one that divides the rows."""

NO_CONSTANTS: Mapping[str, str] = {}

Key = tuple[date, str | None]


class Stage:
    """The files that one attempt of a task has written; names do not end in `.parquet`, so that no glob finds them."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._number = 0
        self.files: list[StagedFile] = []
        self.filled: set[str] = set()
        """The columns that have a value in some row."""

    def write(self, buffer: RowBuffer, counts: Iterable[RowCount]) -> None:
        """Write the kept rows that the buffer has in hand."""
        keys: dict[Key, None] = {}
        for count in counts:
            if count.disposition == KEPT and count.tp_date is not None:
                keys[count.tp_date, count.tp_index] = None
        if len(keys) > _MANY_KEYS:
            self._divide(buffer, list(keys))
            return
        for key in keys:
            self.write_query(buffer, buffer.kept(key_condition(key) if len(keys) > 1 else "true"), key)

    def write_query(self, buffer: RowBuffer, query: str, key: Key) -> tuple[str, int]:
        """Write the rows of a query, all of one index and date; gives the path and how many there were."""
        return self.copy(buffer.connection, query, key, buffer.shape.columns, buffer.shape.constants)

    def copy(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        key: Key,
        columns: Mapping[str, str],
        constants: Mapping[str, str] = NO_CONSTANTS,
    ) -> tuple[str, int]:
        """The same for rows that no buffer has in hand; `constants` are the texts of columns, as SQL."""
        path = self._path()
        index = {"tp_index": literal(key[1])} if key[1] is not None and "\0" not in key[1] else {}
        rows = _with_constants(query, {**constants, **index})
        (row,) = connection.execute(f"COPY ({rows}) TO {literal(str(path))} ({_PARQUET})").fetchall()
        if row[1]:
            self._add(columns, path, row, key)
        else:
            LOCAL.delete(path)  # one empty file breaks every view over it
        return str(path), row[1]

    def copy_in_parts(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        key: Key,
        columns: Mapping[str, str],
        part_bytes: int,
    ) -> None:
        """The same into several files one after the other, each of about so many bytes."""
        directory = self._path()
        rows = connection.execute(
            f"COPY ({query}) TO {literal(str(directory))} ({_PARQUET}, FILE_SIZE_BYTES {part_bytes},"
            " FILENAME_PATTERN 'part_{i}', FILE_EXTENSION 'staged')"
        ).fetchall()
        for row in rows:
            path = self._path()
            LOCAL.rename(Path(row[0]), path)
            self._add(columns, path, row, key)
        LOCAL.remove_empty(directory)

    def write_rejected(self, buffer: RowBuffer, rejected: pa.Table) -> None:
        """Write rejected rows."""
        buffer.connection.register("tp__rejected", rejected)
        self.copy_rejected(buffer.connection, "FROM tp__rejected")
        buffer.connection.unregister("tp__rejected")

    def copy_rejected(self, connection: duckdb.DuckDBPyConnection, query: str) -> None:
        """Write the rejected rows of a query, if there are any."""
        path = self._path()
        (row,) = connection.execute(f"COPY ({query}) TO {literal(str(path))} ({_PARQUET})").fetchall()
        if not row[1]:
            LOCAL.delete(path)
            return
        self.files.append(
            StagedFile(path.name, row[1], row[2], _secured(path), tp_date=None, columns={}, role="rejected")
        )

    def discard(self) -> None:
        """Remove what was written."""
        for file in self.files:
            LOCAL.delete(Path(self._staging.directory) / file.path)
        self.files.clear()

    def _divide(self, buffer: RowBuffer, keys: list[Key]) -> None:
        """One pass for many keys, by passing directories; an index may be too long or odd to name one."""
        found = {(day.isoformat(), _index_name(index)): (day, index) for day, index in keys}
        directory = self._path()
        kept = _with_constants(buffer.kept(), buffer.shape.constants)
        query = f"SELECT *, tp_date AS tp__date, coalesce(md5(tp_index), 'null') AS tp__index FROM ({kept})"
        rows = buffer.connection.execute(
            f"COPY ({query}) TO {literal(str(directory))}"
            f" ({_PARQUET}, PARTITION_BY (tp__date, tp__index), FILENAME_PATTERN 'part_{{i}}', FILE_EXTENSION 'staged')"
        ).fetchall()
        for row in rows:
            path = self._path()
            LOCAL.rename(Path(row[0]), path)
            self._add(buffer.shape.columns, path, row, found[row[5]["tp__date"], row[5]["tp__index"]])
        for place, _, _ in LOCAL.directories(directory):
            LOCAL.remove_empty(place)

    def _add(self, columns: Mapping[str, str], path: Path, row: tuple[Any, ...], key: Key) -> None:
        bounds = row[4]['"tp_timestamp"']
        self.filled |= {name for name in columns if _has_value(row[4].get(f'"{name}"'), row[1])}
        self.files.append(
            StagedFile(
                path=path.name,
                rows=row[1],
                size=row[2],
                sha256=_secured(path),
                tp_date=key[0],
                tp_index=key[1],
                min_timestamp=datetime.fromisoformat(bounds["min"]),
                max_timestamp=datetime.fromisoformat(bounds["max"]),
                columns=columns,
            )
        )

    def _path(self) -> Path:
        self._number += 1
        return Path(self._staging.directory) / f"{self._staging.prefix}-{self._number:04d}.staged"


def _has_value(statistics: Mapping[str, str] | None, rows: int) -> bool:
    """Whether a column has a value in some row, as its statistics say; nested ones have none of their own."""
    return statistics is None or int(statistics.get("null_count", 0)) < rows


def key_condition(key: Key) -> str:
    """The condition for rows of this date and index."""
    return f"tp_date = DATE '{key[0].isoformat()}' AND tp_index IS NOT DISTINCT FROM {literal(key[1])}"


def _with_constants(query: str, constants: Mapping[str, str]) -> str:
    """The same rows, with the columns that are the same in all of them as an enum: it is text in the file, too, but
    DuckDB need not look at the text of each row to see that."""
    if not constants:
        return query
    items = ", ".join(f"{sql}::ENUM({sql}) AS {name}" for name, sql in constants.items())
    return f"SELECT * REPLACE ({items}) FROM ({query})"


def _index_name(index: str | None) -> str:
    return "null" if index is None else hashlib.md5(index.encode(), usedforsecurity=False).hexdigest()


def _secured(path: Path) -> str:
    """Bring the file to the disk for good, and give its checksum: nobody else fsyncs parquet."""
    LOCAL.sync(path)
    return LOCAL.checksum(path)
