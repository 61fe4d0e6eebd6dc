"""Carry rows over: files of a unit are written again without the rows of artifacts that are being replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from tailpipe.frozen import frozen
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.task import Staging
from tailpipe.model.staged import StagedFile
from tailpipe.sql.connection import connect
from tailpipe.sql.quoting import literal


@frozen
class CarriedFile:
    """A live file some of whose rows stay."""

    path: str
    tp_date: date
    tp_index: str | None
    columns: Mapping[str, str]


@frozen
class Carry:
    """Live files of one unit, and the beginnings of the `tp_id` of the rows that go.

    Of `ranges`, which were asked for anew, all rejected rows go, but of the others only those whose
    events are in the staged files `fresh`: what nobody could give again stays.
    """

    files: tuple[CarriedFile, ...]
    prefixes: tuple[str, ...]
    staging: Staging
    rejected: tuple[str, ...] = ()
    """The files of its rejected rows."""
    ranges: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()


def carry_rows(task: Carry) -> tuple[StagedFile, ...]:
    """Stage what stays, in its order. A file that keeps no row is not written."""
    stage = Stage(task.staging)
    conditions = []
    if task.prefixes:
        conditions.append(f"split_part(tp_id, '-', 1) NOT IN ({_texts(task.prefixes)})")
    if task.fresh:
        event = "split_part(tp_id, '-', 2)"
        fresh = f"read_parquet([{_texts(task.fresh)}], hive_partitioning = false)"
        conditions.append(f"{event} NOT IN (SELECT {event} FROM {fresh})")
    condition = " AND ".join(conditions) or "true"
    with connect(spill=task.staging.spill) as connection:
        for file in task.files:
            query = f"SELECT * FROM read_parquet({literal(file.path)}, hive_partitioning = false) WHERE {condition}"
            stage.copy(connection, query, (file.tp_date, file.tp_index), file.columns)
        for path in task.rejected:
            source = f"read_parquet({literal(path)}, hive_partitioning = false)"
            names = [row[0] for row in connection.execute(f"DESCRIBE FROM {source}").fetchall()]
            # Files of older versions do not tell whose rows they are: they stay.
            going = (*task.prefixes, *task.ranges) if "tp_id" in names else ()
            stays = f"split_part(tp_id, '-', 1) NOT IN ({_texts(going)})" if going else "true"
            stage.copy_rejected(connection, f"FROM {source} WHERE {stays}")
    return tuple(stage.files)


def _texts(values: Sequence[str]) -> str:
    return ", ".join(literal(value) for value in values)
