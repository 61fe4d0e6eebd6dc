"""Staging: rows in hand become parquet files, one for each index and date, on disk for good and checksummed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.kernel.row_buffer import RowBuffer
from tailpipe.kernel.task import Staging
from tailpipe.model.staged import StagedFile
from tailpipe.sql.quoting import literal
from tailpipe.storage.local import LOCAL

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.sql.duck import duckdb

PARQUET = "FORMAT parquet, COMPRESSION zstd, RETURN_STATS"

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

    def copy(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        key: Key,
        columns: Mapping[str, str],
        constants: Mapping[str, str] = NO_CONSTANTS,
    ) -> tuple[str, int]:
        """Write the rows of a query, all of one index and date; returns the path and the number of rows.

        `constants` are the texts of columns that have one in all rows, as SQL.
        """
        path = self.path()
        index = {"tp_index": literal(key[1])} if key[1] is not None and "\0" not in key[1] else {}
        rows = with_constants(query, {**constants, **index})
        (row,) = connection.execute(f"COPY ({rows}) TO {literal(str(path))} ({PARQUET})").fetchall()
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
        """Write the rows of a query into several files one after the other, each of about `part_bytes`."""
        directory = self.path()
        rows = connection.execute(
            f"COPY ({query}) TO {literal(str(directory))} ({PARQUET}, FILE_SIZE_BYTES {part_bytes},"
            " FILENAME_PATTERN 'part_{i}', FILE_EXTENSION 'staged')"
        ).fetchall()
        for row in rows:
            self.adopt(Path(row[0]), row, key, columns)
        LOCAL.remove_empty(directory)

    def adopt(self, written: Path, row: tuple[Any, ...], key: Key, columns: Mapping[str, str]) -> None:
        """Take a file that was written under another name; `row` is what DuckDB returned of it."""
        path = self.path()
        LOCAL.rename(written, path)
        self._add(columns, path, row, key)

    def write_rejected(self, buffer: RowBuffer, rejected: pa.Table) -> None:
        """Write rejected rows."""
        buffer.connection.register("tp__rejected", rejected)
        self.copy_rejected(buffer.connection, "FROM tp__rejected")
        buffer.connection.unregister("tp__rejected")

    def copy_rejected(self, connection: duckdb.DuckDBPyConnection, query: str) -> None:
        """Write the rejected rows of a query, if there are any."""
        path = self.path()
        (row,) = connection.execute(f"COPY ({query}) TO {literal(str(path))} ({PARQUET})").fetchall()
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

    def _add(self, columns: Mapping[str, str], path: Path, row: tuple[Any, ...], key: Key) -> None:
        bounds = row[4]['"tp_timestamp"']
        for name in columns:
            statistics = row[4].get(f'"{name}"')  # nested columns have none of their own
            if statistics is None or int(statistics.get("null_count", 0)) < row[1]:
                self.filled.add(name)
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

    def path(self) -> Path:
        """A name that no other file of the attempt has."""
        self._number += 1
        return Path(self._staging.directory) / f"{self._staging.prefix}-{self._number:04d}.staged"


def key_condition(key: Key) -> str:
    """The condition for rows of this date and index."""
    return f"tp_date = DATE '{key[0].isoformat()}' AND tp_index IS NOT DISTINCT FROM {literal(key[1])}"


def with_constants(query: str, constants: Mapping[str, str]) -> str:
    """A query with the columns that have the same text in all rows as enums.

    They are text in the file, too, but DuckDB need not compare the texts of all rows to see that.
    """
    if not constants:
        return query
    items = ", ".join(f"{sql}::ENUM({sql}) AS {name}" for name, sql in constants.items())
    return f"SELECT * REPLACE ({items}) FROM ({query})"


def _secured(path: Path) -> str:
    """Write the file durably to the disk, and return its checksum: DuckDB does not fsync parquet."""
    LOCAL.sync(path)
    return LOCAL.checksum(path)
