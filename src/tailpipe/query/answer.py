"""The answer to a statement: its columns, and its rows, fetched on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tailpipe.frozen import frozen

if TYPE_CHECKING:
    import pyarrow

    from tailpipe.query.limit import TimeLimit
    from tailpipe.sql.duck import duckdb

_ROWS_AT_ONCE = 1000


@frozen
class Answer:
    """Names and DuckDB types of the columns, and the rows, fetched on demand.

    Read one of `rows`, `batches()` and `table()`, once, before the session runs the next statement.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    _connection: duckdb.DuckDBPyConnection
    _explain: Callable[[Exception], BaseException]
    _limit: TimeLimit

    @cached_property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, one after the other."""
        try:
            while True:
                with self._limit.running():
                    rows = self._connection.fetchmany(_ROWS_AT_ONCE)
                if not rows:
                    return
                yield from rows
        except Exception as error:  # of DuckDB, and RuntimeError when it was interrupted
            raise self._explain(error) from error

    def batches(self, rows: int = 50_000) -> Iterator[pyarrow.RecordBatch]:
        """The rows as Arrow batches of about that many; never more than a few of them are in memory."""
        import pyarrow  # noqa: F401 - it takes its time to load, which is none of the statement's

        try:
            with self._limit.running():
                reader = self._connection.to_arrow_reader(rows)
            while True:
                with self._limit.running():
                    batch = next(reader, None)
                if batch is None:
                    return
                yield batch
        except Exception as error:
            raise self._explain(error) from error

    def table(self) -> pyarrow.Table:
        """All rows at once, in types that every reader of Arrow knows."""
        from tailpipe.query.portable import portable

        try:
            with self._limit.running():
                rows = self._connection.to_arrow_table()
        except Exception as error:
            raise self._explain(error) from error
        return portable(rows, self.columns, self.types)
