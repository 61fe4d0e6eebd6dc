"""Rows that come in columns: held until there are enough of them, then handed on as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from tailpipe.frozen import frozen
from tailpipe.kernel.feed import Batch
from tailpipe.kernel.format_faults import format_fault
from tailpipe.model.format import RESERVED_FIELDS, Format
from tailpipe.model.parsing import Parsed
from tailpipe.sql.connection import expression_types, registered
from tailpipe.sql.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.sql.duck import duckdb

_TABLE = "rows"


@frozen
class _Piece:
    """Rows of one artifact, the first of which has the ordinal `first`."""

    artifact: int
    first: int
    table: pa.Table


@dataclass
class Columns:
    """Tables of a format's documents; those with the same columns become one batch.

    A row has no text, so a rejected one is shown as JSON.
    """

    format: Format
    connection: duckdb.DuckDBPyConnection
    size: int = 0
    _pieces: list[_Piece] = field(default_factory=list)
    _types: dict[str, str] = field(default_factory=dict)
    _schema: pa.Schema | None = None

    def add(self, artifact: int, first: int, table: pa.Table) -> None:
        """Hold rows, if there are any."""
        if table.num_rows:
            self._pieces.append(_Piece(artifact, first, table))
            self.size += table.nbytes

    def drop(self, artifact: int) -> None:
        """Let go of what is held of an artifact."""
        self._pieces = [piece for piece in self._pieces if piece.artifact != artifact]

    def batches(self) -> Iterator[Batch]:
        """All of it; nothing is held after."""
        pieces, self._pieces, self.size = self._pieces, [], 0
        for _, group in groupby(pieces, key=lambda piece: piece.table.schema):
            yield self._batch(list(group))

    def _batch(self, pieces: list[_Piece]) -> Batch:
        import pyarrow as pa

        table = pa.concat_tables([piece.table for piece in pieces])
        fields = self._fields(table)
        counts = [piece.table.num_rows for piece in pieces]
        artifacts = np.repeat(np.array([piece.artifact for piece in pieces], np.int32), counts)
        ordinals = np.concatenate(
            [np.arange(one.first, one.first + count, dtype=np.int64) for one, count in zip(pieces, counts, strict=True)]
        )
        size = table.nbytes
        table = table.append_column("_artifact", pa.array(artifacts)).append_column("_ordinal", pa.array(ordinals))
        columns = "".join(f", {quoted(name)}" for name in fields)
        record = ", ".join(f"{quoted(name)} := {quoted(name)}" for name in fields)
        raw = f"to_json(struct_pack({record}))::VARCHAR" if fields else "NULL::VARCHAR"
        sql = f"SELECT _artifact, _ordinal, NULL::VARCHAR AS _bad, {raw} AS _raw{columns} FROM {_TABLE}"
        return Batch(Parsed(sql, {_TABLE: table}, fields, len(table)), size, {piece.artifact for piece in pieces})

    def _fields(self, table: pa.Table) -> dict[str, str]:
        """The DuckDB type of each column."""
        import pyarrow as pa

        from tailpipe.sql.duck import duckdb

        if table.schema != self._schema:
            self._check_names(table.column_names)
            try:
                with registered(self.connection, {_TABLE: table.slice(0, 0)}):
                    kinds = expression_types(self.connection, f"SELECT * FROM {_TABLE}")
            except (duckdb.Error, pa.ArrowException, TypeError, ValueError) as error:
                raise format_fault(self.format, f"gave columns that DuckDB cannot read: {error}") from error
            self._schema, self._types = table.schema, dict(zip(table.column_names, kinds, strict=True))
        return self._types

    def _check_names(self, names: list[str]) -> None:
        taken = set(RESERVED_FIELDS)
        for name in names:
            if not name or "\0" in name:
                raise format_fault(self.format, "gave a column without a name")
            if name.lower() in taken:
                what = "a name that is reserved" if name.lower() in RESERVED_FIELDS else "a name that is duplicated"
                raise format_fault(self.format, f'gave a column "{name}", {what}')
            taken.add(name.lower())
