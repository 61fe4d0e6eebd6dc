"""Compact: the rows of small files are written again into right-sized ones, in the order of their time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.kernel.carry import CarriedFile
from tailpipe.kernel.stage import Key, Stage, key_condition
from tailpipe.kernel.task import Staging
from tailpipe.model.staged import StagedFile
from tailpipe.model.types import stored_type
from tailpipe.sql.connection import connect
from tailpipe.sql.quoting import index_value, literal, quoted

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

_ORDER = "tp_timestamp, tp_id"


@frozen
class Index:
    """The column by which files are divided now; None if all rows are to have the same index."""

    column: str | None


@frozen
class Compaction:
    """Live files of one unit and date, and the columns that the new files have.

    `size` is that of all the files. Without an `index` all of them have the same one, and keep it. The
    rows go into one file for each index; with `part_bytes` into several, each of about that size.
    """

    files: tuple[CarriedFile, ...]
    columns: Mapping[str, str]
    staging: Staging
    size: int
    index: Index | None = None
    part_bytes: int | None = None


def compact_files(task: Compaction, memory: str | None = None) -> tuple[StagedFile, ...]:
    """Stage the rows of the files again, sorted by time; nothing else is changed."""
    stage = Stage(task.staging)
    day = task.files[0].tp_date
    try:
        with connect(memory, task.staging.spill) as connection:
            if task.index is None:
                _write(task, stage, connection, f"{_rows(task)} ORDER BY {_ORDER}", (day, task.files[0].tp_index))
                return tuple(stage.files)
            query = f"SELECT * REPLACE ({index_value(task.index.column)} AS tp_index) FROM ({_rows(task)})"
            connection.execute(f"CREATE TEMP TABLE tp__rows AS FROM ({query}) ORDER BY tp_index, {_ORDER}")
            # The table is in the order of the index, so that each of these reads its own part of it only.
            found = connection.execute("SELECT DISTINCT tp_index FROM tp__rows ORDER BY tp_index NULLS LAST").fetchall()
            for (index,) in found:
                chosen = f"FROM tp__rows WHERE {key_condition((day, index))} ORDER BY {_ORDER}"
                _write(task, stage, connection, chosen, (day, index))
            return tuple(stage.files)
    except BaseException:
        stage.discard()
        raise


def misplaced(files: Iterable[CarriedFile], column: str, kind: str) -> list[str]:
    """The paths of files that hold a row with another value in the column than the file's index."""
    found = []
    with connect() as connection:
        for file in files:
            if column.lower() not in {name.lower() for name in file.columns}:
                found += [file.path] if file.tp_index is not None else []
                continue
            value = f"{quoted(column)}::{stored_type(kind)}::VARCHAR"
            rows = connection.execute(
                f"SELECT 1 FROM {_source([file])} WHERE {value} IS DISTINCT FROM {literal(file.tp_index)} LIMIT 1"
            ).fetchall()
            found += [file.path] if rows else []
    return found


def _write(task: Compaction, stage: Stage, connection: duckdb.DuckDBPyConnection, query: str, key: Key) -> None:
    if task.part_bytes is None:
        stage.copy(connection, query, key, task.columns)
    else:
        stage.copy_in_parts(connection, query, key, task.columns, task.part_bytes)


def _rows(task: Compaction) -> str:
    """The rows of all files, each with all the columns in their types."""
    there = {name.lower() for file in task.files for name in file.columns}
    items = [
        f"{quoted(name) if name.lower() in there else 'NULL'}::{stored_type(kind)} AS {quoted(name)}"
        for name, kind in task.columns.items()
    ]
    return f"SELECT {', '.join(items)} FROM {_source(task.files)}"


def _source(files: Sequence[CarriedFile]) -> str:
    paths = ", ".join(literal(file.path) for file in files)
    by_name = ", union_by_name = true" if any(file.columns != files[0].columns for file in files) else ""
    return f"read_parquet([{paths}], hive_partitioning = false{by_name})"
