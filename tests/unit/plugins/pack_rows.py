"""The rows that tables of packs make of logs, as tables of a DuckDB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb

from tailpipe.formats import ApacheAccessLog, NginxAccessLog
from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import Trial, try_task
from tailpipe.model.artifact import Artifact
from tailpipe.model.table import Table
from tailpipe.plugin import Registry
from tailpipe.testing.feeding import NOW
from tailpipe.testing.memory import Memory

REGISTRY = Registry.installed()
QUERIES, EXPECTED = ".queries.sql", ".expected.jsonl"


def trial_of(table: Table, log: bytes, own: ApacheAccessLog | NginxAccessLog | None = None) -> Trial:
    """What a table makes of a log, by its own format or another."""
    table = replace(table, format=own or table.format)
    assert table.format is not None
    artifact = Artifact("log", size=len(log), kind="object")
    readings = (Reading(artifact, "log"),)
    return try_task(
        Task.of(f"{table.name}.test", table, Memory(name="m", content=log), table.format, readings, NOW), 1000
    )


def load_sample(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Make the table of the rows of its first sample."""
    folder = REGISTRY.plugins[REGISTRY.owner("table", name) or ""].folder
    (log,) = [
        one
        for one in (Path(folder) / "samples").glob(f"{name}.*")
        if one.name.count(".") == 1 and not one.name.endswith((QUERIES, EXPECTED))
    ]
    trial = trial_of(REGISTRY.tables[name], log.read_bytes())
    assert trial.rows is not None
    connection.register("found", trial.rows)
    connection.execute(f'CREATE TABLE "{name}" AS FROM found')
    connection.unregister("found")
