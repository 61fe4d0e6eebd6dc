"""The answer to a statement: its columns, and its rows, fetched on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tailpipe.frozen import frozen
from tailpipe.model.types import stored_type
from tailpipe.query.statements import find_statements
from tailpipe.sql.duck import duckdb
from tailpipe.sql.quoting import quoted

if TYPE_CHECKING:
    import pyarrow

    from tailpipe.query.limit import TimeLimit

_ROWS_AT_ONCE = 1000
_FAILURES = (duckdb.Error, ArithmeticError, MemoryError, OSError, RuntimeError, ValueError)
"""What DuckDB and pyarrow raise: also for values that Python cannot hold, and when a statement is interrupted."""


@frozen
class Answer:
    """Columns, DuckDB types and rows: read `rows`, `batches()` or `table()` once, before the next statement."""

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
        except _FAILURES as error:
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
        except _FAILURES as error:
            raise self._explain(error) from error

    def table(self) -> pyarrow.Table:
        """All rows at once, in types that every reader of Arrow knows."""
        from tailpipe.query.exact import portable

        try:
            with self._limit.running():
                rows = self._connection.to_arrow_table()
        except _FAILURES as error:
            raise self._explain(error) from error
        return portable(rows, self.columns, self.types)


def is_address(kind: str) -> bool:
    """Whether a type of DuckDB is that of addresses, or has it inside."""
    return stored_type(kind, "INET") != kind


def addresses_as_text(sql: str, names: Sequence[str], types: Sequence[str]) -> str:
    """A query with its addresses cast to text: to all but DuckDB, an address is a struct of numbers."""
    casts = ", ".join(
        f"CAST(c{x} AS {stored_type(kind, 'INET')}) AS {quoted(name)}"
        if is_address(kind)
        else f"c{x} AS {quoted(name)}"
        for x, (name, kind) in enumerate(zip(names, types, strict=True))
    )
    _, query = find_statements(sql)[-1]
    columns = ", ".join(f"c{x}" for x in range(len(names)))
    return f"SELECT {casts} FROM (\n{query}\n) AS answer({columns})"
