"""Trials: what the kernel makes of a sample, with a format alone or with a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.infer.sample import Held, Sample
from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import Trial, try_task
from tailpipe.model.format import Format
from tailpipe.model.parsing import DocumentParser, Lines, ParseContext
from tailpipe.model.table import Table
from tailpipe.sql.connection import registered
from tailpipe.sql.duck import duckdb

_ROWS = 2000
_ANY_TIME = {"tp_timestamp": "TIMESTAMP '1970-01-01'"}
_PARSED = Table(name="sample", description="Whether lines are read at all.", map_fields=(), common=_ANY_TIME)
_FIELDS = Table(name="sample", description="Every field.", map_fields=("*",), common=_ANY_TIME)


@frozen
class Fit:
    """How many rows of a sample a format can read, of how many."""

    kept: int
    read: int

    @property
    def share(self) -> float:
        """The part of the rows that fits."""
        return self.kept / self.read if self.read else 0.0


def fit(format: Format, sample: Sample, now: datetime) -> Fit:
    """How much of a sample a format reads; a format that fails on it reads nothing."""
    try:
        trial = try_table(_PARSED, format, sample, now)
    except TailpipeError:
        return Fit(0, 0)
    return _fit(trial, sample)


def fits(
    format: Format, sample: Sample, now: datetime, connection: duckdb.DuckDBPyConnection, share: float = 1.0
) -> bool:
    """Whether a format reads that part of the rows. Where lines are rows, only its parser runs, which is cheap."""
    reader = format.read_as()
    is_plain = reader.event_start is None and reader.joining is None and reader.noun == "line"
    if not is_plain or sample.encoding is None or sample.artifact.uri.endswith(".parquet"):
        return fit(format, sample, now).share >= share
    lines = sample.lines
    try:
        parser = reader.parser(ParseContext(connection=connection))
        if isinstance(parser, DocumentParser):
            return fit(format, sample, now).share >= share
        parsed = parser.parse([Lines(pa.array(lines, pa.string()), np.arange(1, len(lines) + 1), 0)])
        with registered(connection, parsed.tables):
            query = f"SELECT count(*), count(_bad) FROM ({parsed.sql})"  # noqa: S608 - the parser's own
            ((read, bad),) = connection.execute(query).fetchall()
    except (TailpipeError, duckdb.Error):
        return False
    return bool(read) and (read - bad) / read >= share


def rows_of(format: Format, sample: Sample, now: datetime) -> tuple[Fit, Mapping[str, list[Any]]]:
    """The values of each field that a format finds in a sample."""
    trial = try_table(_FIELDS, format, sample, now)
    rows = trial.rows
    names = [] if rows is None else [name for name in rows.column_names if not name.startswith("tp_")]
    return _fit(trial, sample), {name: rows[name].to_pylist() for name in names} if rows is not None else {}


def try_table(table: Table, format: Format, sample: Sample, now: datetime) -> Trial:
    """What a table makes of a sample."""
    # Its name may promise an archive, from which the sample was taken already.
    name = "sample.parquet" if sample.artifact.uri.lower().endswith(".parquet") else f"{sample.artifact.uri}.log"
    artifact = replace(sample.artifact, uri=name, size=len(sample.data), kind="object", fields={}, file=None)
    source = Held(name="sample", content=sample.data)
    reading = Reading(artifact, artifact.uri)
    return try_task(Task.of(f"{table.name}.sample", table, source, format, (reading,), now), _ROWS)


def _fit(trial: Trial, sample: Sample) -> Fit:
    """The rows that were read; the end of a sample that was cut is no fault of the format."""
    if trial.error is not None:
        return Fit(0, 0)
    accounts = trial.accounts
    is_cut = not sample.is_whole and not sample.data.endswith(b"\n") and accounts.rejected > 0
    return Fit(accounts.kept, accounts.read - is_cut)
