"""The queries of the tables in packs: each runs over the rows of the table's samples, and has an answer."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import try_task
from tailpipe.model.artifact import Artifact
from tailpipe.model.table import Table
from tailpipe.plugin import Registry
from tailpipe.testing.feeding import NOW
from tailpipe.testing.memory import Memory

QUERIES = ".queries.sql"
REGISTRY = Registry.installed()


def queries(path: Path) -> dict[str, str]:
    """The statements of a file, by the titles above them."""
    parts = re.split(r"^-- (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not parts[0].strip(), f"{path.name} begins with a title"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def load(connection: duckdb.DuckDBPyConnection, table: Table, samples: Path) -> None:
    """Make the table of the rows of its first sample."""
    (log,) = [
        one
        for one in samples.glob(f"{table.name}.*")
        if one.name.count(".") == 1 and not one.name.endswith((QUERIES, ".expected.jsonl"))
    ]
    assert table.format is not None
    content = log.read_bytes()
    artifact = Artifact(log.name, size=len(content), kind="object")
    source = Memory(name="memory", content=content)
    readings = (Reading(artifact, log.name),)
    trial = try_task(Task.of(f"{table.name}.test", table, source, table.format, readings, NOW), 1000)
    assert trial.rows is not None
    connection.register("found", trial.rows)
    connection.execute(f'CREATE TABLE "{table.name}" AS FROM found')
    connection.unregister("found")


@pytest.mark.slow
@pytest.mark.parametrize(
    "pack", [plugin for plugin in REGISTRY.plugins.values() if plugin.folder], ids=lambda pack: pack.name
)
def test_every_query_of_a_pack_has_an_answer(pack) -> None:  # type: ignore[no-untyped-def]
    samples = Path(pack.folder) / "samples"
    for path in sorted(samples.glob(f"*{QUERIES}")):
        name = path.name.removesuffix(QUERIES)
        with duckdb.connect() as connection:
            load(connection, REGISTRY.tables[name], samples)
            found = {title: connection.execute(sql).fetchall() for title, sql in queries(path).items()}
            assert len(found) >= 2, f"{name} has two queries at least"
            assert all(found.values()), f"{name}: {[title for title, rows in found.items() if not rows]}"
