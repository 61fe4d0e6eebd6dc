"""Parquet files: taken as they are, some row groups at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.formats.header import snake_name, unique_names
from tailpipe.model.format import RESERVED_FIELDS
from tailpipe.model.outputs import SECOND
from tailpipe.plugin import Document, DocumentParser, Found, Rows, TailpipeError

_ROWS = 65536


@dataclass
class ParquetParser(DocumentParser):
    """Gives the columns of parquet files in their own types."""

    is_snake: bool = False
    """Whether names are spelt in snake case."""
    nulls: Sequence[str] = ()
    """Texts that mean null."""

    def read(self, document: Document) -> Iterator[Found]:
        """The rows of a file; one that is damaged is none."""
        try:
            for batch in pq.ParquetFile(document.open()).iter_batches(batch_size=_ROWS, use_threads=False):
                columns = [_without(column, self.nulls) for column in batch.columns]
                names = batch.schema.names
                names = list(_free(unique_names(map(snake_name, names)) if self.is_snake else names))
                yield Rows(pa.Table.from_arrays(columns, names=names))
        except (pa.ArrowException, OSError) as problem:
            if isinstance(problem, OSError) and problem.errno is not None:
                raise  # a fault of the machine; what Arrow says of damaged bytes has no number
            raise TailpipeError(f'"{document.name}" is not a readable parquet file: {problem}') from problem


def _free(names: Iterable[str]) -> Iterator[str]:
    """Unique names: a duplicate gets `_2` appended; DuckDB ignores case."""
    taken = set(RESERVED_FIELDS)
    for name in names:
        free = name
        while free.lower() in taken:
            free += SECOND
        taken.add(free.lower())
        yield free


def _without(column: pa.Array, nulls: Sequence[str]) -> pa.Array:
    """A column of text with null for the texts that mean it; any other column as it is."""
    if not nulls:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type) if _is_text(column.type.value_type) else column
    if not _is_text(column.type):
        return column
    is_null = pc.is_in(column, pa.array(nulls, column.type))
    return pc.if_else(is_null, pa.scalar(None, column.type), column) if pc.any(is_null).as_py() else column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
