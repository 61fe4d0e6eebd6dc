"""Rejected rows: where each stood, why it was refused, and its text, from the files that keep them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.sql.duck import blank, duckdb, first_line
from tailpipe.sql.quoting import text_list


@frozen
class RejectedRow:
    """A row that could not be used; `line` is that of the text, or the number of the record in its document."""

    partition: str
    file: str
    line: int
    reason: str
    text: str | None


def rejected_rows(partition: str, paths: Sequence[Path], limit: int) -> list[RejectedRow]:
    """The first rows of these files, file by file."""
    if not paths:
        return []
    listed = text_list(str(path) for path in paths)  # not as a parameter: for one, DuckDB's Python imports pandas
    columns = "artifact, ordinal, reason, raw"
    query = f"SELECT {columns} FROM read_parquet({listed}, hive_partitioning = false) LIMIT {limit:d}"
    try:
        with blank() as connection:
            rows = connection.execute(query).fetchall()
    except duckdb.Error as error:  # also of bytes that make no sense, each time of another class
        hint = "see what is wrong with: tailpipe doctor --checksums"
        raise TailpipeError(f"cannot read a stored file: {first_line(error)}", hint=hint) from error
    return [RejectedRow(partition, *row) for row in rows]
