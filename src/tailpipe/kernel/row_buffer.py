"""The row buffer: DuckDB for one task. It takes parsed batches and keeps their rows until they are written or read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.kernel.shape import KEPT, REJECTED, Shape
from tailpipe.model.parsing import Parsed
from tailpipe.sql.connection import expression_types, registered
from tailpipe.sql.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.kernel.years import Years
    from tailpipe.sql.duck import duckdb

_WIDE = 200
"""Above so many columns DuckDB spends more time on looking for equal expressions than it saves by them."""
_DISABLED = ("filter_pushdown", "join_order", "build_side_probe_side", "join_filter_pushdown")
"""A condition that is pushed below the casts would have DuckDB compute them twice; one that a join pushes into
Arrow's views fails. And rows keep their order through a join only if they are not the side that it hashes."""

_STRPTIME = """CREATE OR REPLACE TEMP MACRO strptime(t, layout) AS
    coalesce(try_strptime(t, layout), CASE WHEN t IS NOT NULL THEN ('no time: ' || t)::TIMESTAMP END)"""
"""DuckDB's own fails for a zone that it does not know, such as CEST, in a way that not even TRY sees. This one fails
like a cast."""


@frozen
class RowCount:
    """Rows that share artifact, disposition, index and date."""

    artifact: int
    disposition: int
    tp_index: str | None
    tp_date: date | None
    rows: int
    first: datetime | None
    last: datetime | None


class RowBuffer:
    """Rows of one task, between the parser and the caller that takes them; memory grows until they are taken."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        shape: Shape,
        references: Sequence[str],
        artifacts: Mapping[str, Sequence[str | None]],
        years: Years | None = None,
    ) -> None:
        import pyarrow as pa

        self.connection = connection
        self.shape = shape
        self.references = references
        self.years = years
        """Who knows the years of times that have none; None if there are no such times."""
        # Shapes look up in this table what differs by artifact.
        columns = {name: pa.array(values, pa.string()) for name, values in artifacts.items()}
        count = max(map(len, columns.values()), default=0)
        given = pa.table({"artifact": pa.array(range(count), pa.int32()), **columns})
        with registered(connection, {"given": given}):
            connection.execute("CREATE TEMP TABLE tp__artifacts AS FROM given")
        disabled = [*_DISABLED, *(["common_subexpressions"] if len(shape.outputs) > _WIDE else [])]
        connection.execute(f"SET disabled_optimizers = '{','.join(disabled)}'")
        connection.execute(_STRPTIME)
        self._recipes: dict[tuple[object, ...], str] = {}
        self._types: dict[tuple[object, ...], list[str]] = {}
        self._has_table = False
        self.rows = 0
        """How many rows are in hand."""
        self.newest = 0
        """The `rowid` from which on rows are of the last batch."""
        self._added = 0

    def add(self, parsed: Parsed) -> None:
        """Shape a batch and keep its rows; the batch's tables must be there."""
        given = self._given(parsed) if self.years is not None else []
        month_day = self.shape.month_day(given) if given else None
        if self.years is None or month_day is None:
            self._insert(self.shaped(parsed))
            return
        base = self.shape.base(parsed, self.references)
        with self._dated(self.shape.values(base), self.years, month_day) as rows:
            self._insert(self.shape.disposed(self.shape.typed(rows, given, parsed.misfits, near="tp__near")))

    @contextmanager
    def _dated(self, values: str, years: Years, month_day: str) -> Iterator[str]:
        """The rows of `values`, each with the date near which it was written; null unless its time lacks the year."""
        import pyarrow as pa

        self.connection.execute(f"CREATE TEMP TABLE tp__values AS {values}")
        try:
            days = f"SELECT tp__artifact, tp__ordinal, coalesce({month_day}, -1) FROM tp__values"
            found = self.connection.execute(days).to_arrow_table()
            dates = pa.array(years.dates(*(column.to_numpy() for column in found.columns)))
            self.connection.register("tp__dates", pa.table({"tp__near": dates}))
            yield "SELECT * FROM tp__values POSITIONAL JOIN tp__dates"
        finally:
            self.connection.unregister("tp__dates")
            self.connection.execute("DROP TABLE tp__values")

    def _insert(self, rows: str) -> None:
        verb = "INSERT INTO tp__rows" if self._has_table else "CREATE TEMP TABLE tp__rows AS"
        self.newest = self.newest + self._added if self._has_table else 0
        ((self._added,),) = self.connection.execute(f"{verb} {rows}").fetchall()
        self._has_table = True
        self.rows += self._added

    def shaped(self, parsed: Parsed) -> str:
        """The query that shapes a batch."""
        key = (parsed.sql, *parsed.fields.items())
        if key not in self._recipes:
            base = self.shape.base(parsed, self.references)
            typed = self.shape.typed(self.shape.values(base), self._given(parsed), parsed.misfits)
            self._recipes = {key: self.shape.disposed(typed)}
        return self._recipes[key]

    def _given(self, parsed: Parsed) -> list[str]:
        """The types that the outputs have before they are cast; kept for the batches after it, which are alike."""
        key = (parsed.sql, *parsed.fields.items())
        if key not in self._types:
            probe = self.shape.probe(self.shape.base(parsed, self.references))
            self._types = {key: expression_types(self.connection, probe)}
        return self._types[key]

    def counts(self) -> list[RowCount]:
        """All rows in hand, counted."""
        if not self._has_table:
            return []
        rows = self.connection.execute(
            "SELECT tp__artifact, tp__disposition, tp_index, tp_date, count(*), min(tp_timestamp), max(tp_timestamp)"
            f" FROM ({self.shape.stored('tp__rows')}) GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        return [RowCount(*row) for row in rows]

    def misfits(self, condition: str) -> Iterator[tuple[int, int, int]]:
        """Artifact, number of the output, and count, of values that did not fit."""
        for word in range(self.shape.words if self._has_table else 0):
            ((bits,),) = self.connection.execute(
                f"SELECT coalesce(bit_or(tp__coerced{word}), 0) FROM tp__rows WHERE {condition}"
            ).fetchall()
            numbers = [n for n in range(len(self.shape.outputs)) if n // 60 == word and bits >> (n % 60) & 1]
            if not numbers:
                continue
            counts = ", ".join(self.shape.misfit_count(number) for number in numbers)
            rows = self.connection.execute(
                f"SELECT tp__artifact, {counts} FROM tp__rows WHERE {condition} GROUP BY 1 ORDER BY 1"
            ).fetchall()
            for artifact, *values in rows:
                yield from ((artifact, n, count) for n, count in zip(numbers, values, strict=True) if count)

    def rejected(
        self, artifacts: Sequence[str], prefixes: Sequence[str], shares: Sequence[int]
    ) -> list[pa.Table | None]:
        """The rejected rows in hand: artifact, ordinal, reason, text, and the id they would have had.

        One table for each share, which has so many artifacts; None if no row of it was rejected. `prefixes` are what
        the ids of each artifact's rows begin with; events have ids of their own.
        """
        found: list[pa.Table | None] = []
        first = 0
        is_any = self._has_table and bool(
            self.connection.execute(f"SELECT 1 FROM tp__rows WHERE tp__disposition = {REJECTED} LIMIT 1").fetchall()
        )
        for count in shares:
            found.append(self._rejected(artifacts, prefixes, first, first + count - 1) if is_any else None)
            first += count
        return found

    def _rejected(self, artifacts: Sequence[str], prefixes: Sequence[str], first: int, last: int) -> pa.Table | None:
        import pyarrow as pa

        has_id = any(output.name == "tp_id" for output in self.shape.outputs)
        rows = self.connection.execute(
            f"SELECT tp__artifact, tp__ordinal, tp__reason, tp__raw, {'tp_id' if has_id else 'NULL'} FROM tp__rows"
            f" WHERE tp__disposition = {REJECTED} AND tp__artifact BETWEEN {first} AND {last}"
        ).fetchall()
        if not rows:
            return None
        places, ordinals, reasons, texts, ids = zip(*rows, strict=True)
        if not has_id:
            ids = tuple(f"{prefixes[place]}-{n}" for place, n in zip(places, ordinals, strict=True))
        return pa.table(
            {
                "artifact": pa.array([artifacts[place] for place in places], pa.string()),
                "ordinal": pa.array(ordinals, pa.int64()),
                "reason": pa.array(reasons, pa.string()),
                "raw": pa.array(texts, pa.string()),
                "tp_id": pa.array(ids, pa.string()),
            }
        )

    def kept(self, condition: str = "true", more: Sequence[str] = ()) -> str:
        """The query for the columns of a file over the rows in hand, and `more` columns of our own."""
        columns = ", ".join([*(quoted(name) for name in self.shape.columns), *more])
        return f"SELECT {columns} FROM ({self.shape.stored('tp__rows')}) WHERE tp__disposition = {KEPT} AND {condition}"

    def forget(self, artifact: int) -> None:
        """Leave out an artifact whose rows must not be kept."""
        if self._has_table:
            gone = self.connection.execute(f"DELETE FROM tp__rows WHERE tp__artifact = {artifact}").fetchall()
            self.rows -= gone[0][0]

    def clear(self) -> None:
        """Let go of the rows in hand."""
        if self._has_table:
            self.connection.execute("DROP TABLE tp__rows")
            self._has_table = False
            self.rows = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The kept rows in hand."""
        if self._has_table:
            yield from self.connection.execute(self.kept()).to_arrow_reader(65536)
