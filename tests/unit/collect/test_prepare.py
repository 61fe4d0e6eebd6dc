"""The engine is started ahead as soon as there seems to be work, and not without."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from tailpipe.collect.collect import preview
from tailpipe.collect.job import Job
from tailpipe.model.request import Collect
from tailpipe.workspace import Workspace

from .support import NOW, LocalEngine, World


class Prepared(LocalEngine):
    """Notes when it is told to prepare itself."""

    def __init__(self) -> None:
        super().__init__()
        self.prepared: list[int] = []

    def prepare(self) -> None:
        self.prepared.append(len(self.jobs))


def test_it_is_prepared_once_with_what_is_new_or_has_grown(tmp_path: Path) -> None:
    world = World(tmp_path, engine=(engine := Prepared()))
    for number in (1, 2, 3):
        world.write(f"2024-03-0{number}.jsonl", "a")
    world.collect()
    assert engine.prepared == [0]  # before the first job
    jobs = len(engine.jobs)
    world.collect()
    assert engine.prepared == [0]
    world.write("2024-03-09.jsonl", "b")
    world.collect()
    assert engine.prepared == [0, jobs]
    world.write("2024-03-09.jsonl", "c", mode="a")
    world.collect()
    assert len(engine.prepared) == 3
    world.collect()
    assert len(engine.prepared) == 3
    assert world.rows() == ["a", "a", "a", "b", "c"]


def test_a_plan_that_is_only_shown_prepares_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, engine=(engine := Prepared()))
    world.write("2024-03-09.jsonl", "a")
    config = world.config
    chosen = [(one, config.tables[one.table]) for one in config.partitions.values()]
    with world.catalog() as catalog:
        ((_, planned),) = preview([Job(*pair, catalog, engine, Collect(NOW)) for pair in chosen])
    assert planned.listed == 1
    assert engine.prepared == []


CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "x" {
  source "file" { paths = ["LOGS"] }
}
"""


def collected(root: Path, engine: LocalEngine) -> Sequence[int]:
    report = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(root), "HOME": str(root)}, engine=engine).collect()
    return [one.accounts.read for one in report.partitions]


def test_a_command_prepares_it_before_a_first_run_is_planned(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "config" / "app.tpc").write_text(CONFIG.replace("LOGS", str(tmp_path / "logs")))
    engine = Prepared()
    assert collected(tmp_path, engine) == [0]
    assert engine.prepared == [0]
    assert collected(tmp_path, engine) == [0]  # the partition is known now, and still has nothing
    assert engine.prepared == [0]
    with gzip.open(tmp_path / "logs" / "a.jsonl.gz", "wt") as file:
        file.write('{"time": "2024-03-01T10:00:00Z"}\n')
    collected(tmp_path, engine)
    assert engine.prepared == [0, 0]
