"""Dedupe: drop staged rows whose key exists already, and count them by artifact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.task import Staging
from tailpipe.model.staged import StagedFile
from tailpipe.sql.connection import connect
from tailpipe.sql.quoting import literal, quoted, text_list

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

EVENT = ("tp_id",)
"""The key of rows of events: that of the event, which is in their id, whatever artifact it was requested with."""


@frozen
class Dedupe:
    """Staged files of one unit, all of one role, and the live files whose rows stay.

    Rows are the same if they agree in all columns of the `key`; one with a null in any of them is like
    no other. Of staged rows that are the same, the first by `tp_id` stays.
    """

    files: tuple[StagedFile, ...]
    live: tuple[str, ...]
    key: tuple[str, ...]
    staging: Staging


@frozen
class Deduped:
    """The files that replace those that lost rows, by path, None for a file without rows; and the rows lost.

    `lost` is counted by the prefix of the rows' `tp_id`, which identifies their artifact.
    """

    files: Mapping[str, StagedFile | None] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)


def drop_duplicates(task: Dedupe) -> Deduped:
    """Stage again what stays of files with duplicates; files without any are left as they are."""
    stage = Stage(task.staging)
    root = Path(task.staging.directory)
    paths = {str(root / file.path): file for file in task.files}
    with connect(spill=task.staging.spill) as connection:
        _find(connection, task, list(paths))
        found = connection.execute("SELECT DISTINCT filename FROM lost ORDER BY 1").fetchall()
        files = {paths[path].path: _rest(connection, stage, path, paths[path]) for (path,) in found}
        lost = connection.execute("SELECT split_part(tp_id, '-', 1), count(*) FROM lost GROUP BY 1 ORDER BY 1")
        return Deduped(files, dict(lost.fetchall()))


def _find(connection: duckdb.DuckDBPyConnection, task: Dedupe, paths: Sequence[str]) -> None:
    """Make the table `lost`: file, place and id of each row that goes."""
    names = [f"k{number}" for number in range(len(task.key))]
    keys = ", ".join(f"{_value(column)} AS {name}" for column, name in zip(task.key, names, strict=True))
    key, there = ", ".join(names), " AND ".join(f"{name} IS NOT NULL" for name in names)
    staged = f"SELECT filename, file_row_number, tp_id, {keys} FROM {_read(paths, 'filename', 'file_row_number')}"
    order = f"row_number() OVER (PARTITION BY {key} ORDER BY tp_id, filename, file_row_number)"
    ranked = f"SELECT *, {order} AS place FROM ({staged}) WHERE {there}"
    live = [path for path in task.live if _has(path, task.key)]
    known = f" OR ({key}) IN (SELECT ({key}) FROM (SELECT {keys} FROM {_read(live)}) WHERE {there})" if live else ""
    connection.execute(
        f"CREATE TEMP TABLE lost AS SELECT filename, file_row_number, tp_id FROM ({ranked}) WHERE place > 1{known}"
    )


def _rest(connection: duckdb.DuckDBPyConnection, stage: Stage, path: str, file: StagedFile) -> StagedFile | None:
    query = (
        f"SELECT * EXCLUDE (file_row_number) FROM {_read([path], 'file_row_number')} WHERE file_row_number NOT IN"
        f" (SELECT file_row_number FROM lost WHERE filename = {literal(path)})"
    )
    before = len(stage.files)
    if file.role == "rejected":
        stage.copy_rejected(connection, query)
    else:
        assert file.tp_date is not None  # noqa: S101 - verified for every file of rows
        stage.copy(connection, query, (file.tp_date, file.tp_index), file.columns)
    return stage.files[before] if len(stage.files) > before else None


def _value(column: str) -> str:
    # As text, because a column may have been of another type when older files were written.
    return "split_part(tp_id, '-', 2)" if (column,) == EVENT else f"{quoted(column)}::VARCHAR"


def _has(path: str, columns: Iterable[str]) -> bool:
    """Whether a file has these columns: older files may lack one, and so do rejected rows that have no id."""
    import pyarrow.parquet as pq

    names = {name.lower() for name in pq.read_schema(path).names}
    return all(column.lower() in names for column in columns)


def _read(paths: Sequence[str], *options: str) -> str:
    more = "".join(f", {option} = true" for option in ("union_by_name", *options))
    return f"read_parquet({text_list(paths)}, hive_partitioning = false{more})"
