"""The answer to a statement: its columns, and its rows as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

    from tailpipe.kernel.duck import duckdb

__all__ = ["Answer"]

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Answer:
    """What a statement gives: names and DuckDB types of its columns, and its rows, from DuckDB as they are asked for.

    Take one of `rows`, `batches()` and `table()`, once, and before the session runs the next statement.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    _connection: duckdb.DuckDBPyConnection
    _told: Callable[[Exception], BaseException]

    @cached_property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, one after the other."""
        try:
            while rows := self._connection.fetchmany(_ROWS_AT_ONCE):
                yield from rows
        except Exception as error:  # of DuckDB, and RuntimeError when it was interrupted
            raise self._told(error) from error

    def batches(self, rows: int = 50_000) -> Iterator[pyarrow.RecordBatch]:
        """The rows as Arrow batches of about that many; never more than a few of them are in memory."""
        try:
            yield from self._connection.to_arrow_reader(rows)
        except Exception as error:
            raise self._told(error) from error

    def table(self) -> pyarrow.Table:
        """All rows at once, in types that every reader of Arrow knows."""
        from tailpipe.query.portable import portable

        try:
            rows = self._connection.to_arrow_table()
        except Exception as error:
            raise self._told(error) from error
        return portable(rows, self.columns, self.types)
