"""The answer to a statement: its columns, and its rows as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tailpipe.frozen import frozen

if TYPE_CHECKING:
    import pyarrow

    from tailpipe.query.limit import TimeLimit
    from tailpipe.sql.duck import duckdb

__all__ = ["Answer"]

_ROWS_AT_ONCE = 1000


@frozen
class Answer:
    """What a statement gives: names and DuckDB types of its columns, and its rows, from DuckDB as they are asked for.

    Take one of `rows`, `batches()` and `table()`, once, and before the session runs the next statement.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    _connection: duckdb.DuckDBPyConnection
    _told: Callable[[Exception], BaseException]
    _limit: TimeLimit

    @cached_property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, one after the other."""
        try:
            while rows := self._fetched():
                yield from rows
        except Exception as error:  # of DuckDB, and RuntimeError when it was interrupted
            raise self._told(error) from error

    def batches(self, rows: int = 50_000) -> Iterator[pyarrow.RecordBatch]:
        """The rows as Arrow batches of about that many; never more than a few of them are in memory."""
        import pyarrow  # noqa: F401 - it takes its time to load, which is none of the statement's

        try:
            with self._limit.running():
                reader = self._connection.to_arrow_reader(rows)
            while (batch := self._next(reader)) is not None:
                yield batch
        except Exception as error:
            raise self._told(error) from error

    def table(self) -> pyarrow.Table:
        """All rows at once, in types that every reader of Arrow knows."""
        from tailpipe.query.portable import portable

        try:
            with self._limit.running():
                rows = self._connection.to_arrow_table()
        except Exception as error:
            raise self._told(error) from error
        return portable(rows, self.columns, self.types)

    def _fetched(self) -> list[tuple[Any, ...]]:
        with self._limit.running():
            return self._connection.fetchmany(_ROWS_AT_ONCE)

    def _next(self, reader: pyarrow.RecordBatchReader) -> pyarrow.RecordBatch | None:
        with self._limit.running():
            return next(reader, None)
