"""Two collectors and a reader share a store: the operations of their workspaces."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.cli.app import app
from tailpipe.model.window import Window
from tailpipe.operations.delete import delete
from tailpipe.storage.object_stores import open_objects
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.unit.collect.support import CONFIG

TODAY = datetime.now(UTC).date()
NAME = "app.x"


class Machine:
    """One host with its own install directory and logs."""

    def __init__(self, root: Path, name: str, *, is_reader: bool = False) -> None:
        self.install, self.name = root / name, name
        (self.install / "config").mkdir(parents=True)
        lake = f'store "lake" {{\n  location = "{root / "lake"}"\n}}\n'
        host = f'workspace "default" {{\n  host = "{name}"\n  store = store.lake\n}}\n'
        rest = "" if is_reader else host + CONFIG.replace("LOGS", str(self.logs))
        (self.install / "config" / "main.tpc").write_text(lake + rest)

    @property
    def logs(self) -> Path:
        return self.install / "logs"

    def write(self, source: str, count: int, days: int = 1) -> None:
        for back in range(days):
            day = TODAY - timedelta(days=back + 2)
            path = self.logs / source / f"{day}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [{"time": f"{day}T10:00:0{number}Z", "message": self.name} for number in range(count)]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def open(self, say: Callable[[str], None] = lambda _: None) -> Workspace:
        return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(self.install)}, engine=InProcessEngine(), say=say)

    def run(self, *arguments: str) -> Result:
        env = {"TAILPIPE_INSTALL_DIR": str(self.install)}
        return CliRunner().invoke(app, arguments, env=env, catch_exceptions=False, standalone_mode=False)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with self.open().session() as session:
            return list(session.run(sql).rows)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    return tmp_path


def test_the_same_path_on_two_hosts_is_no_conflict_and_a_reader_needs_no_plugin_and_no_partition(root: Path) -> None:
    first, second, reader = Machine(root, "web-1"), Machine(root, "web-2"), Machine(root, "reader", is_reader=True)
    for machine, count in ((first, 3), (second, 5)):
        machine.write("a", count, days=2)
        report = machine.open().collect([NAME])
        assert report.partitions[0].push is not None
        assert report.partitions[0].push.conflicts == ()
    told = json.loads(reader.run("pull", "--output", "json").stdout)
    assert [(one["partition"], one["files"], one["error"]) for one in told] == [(NAME, 0, "")]
    done = json.loads(reader.run("pull", "--data", "--output", "json").stdout)
    assert done[0]["files"] == 4
    assert reader.ask("SELECT count(*), count(DISTINCT tp_id) FROM app") == [(16, 16)]
    assert len(list((reader.install / "data").rglob("tp_table=*/**/*.parquet"))) == 4
    again = json.loads(reader.run("pull", "--data", "--output", "json").stdout)
    assert (again[0]["files"], again[0]["commits"], again[0]["requests"]) == (0, 0, 1)


def test_a_dry_run_tells_what_the_pull_brings_on_a_new_machine_and_on_one_that_is_behind(root: Path) -> None:
    first, second, reader = Machine(root, "web-1"), Machine(root, "web-2"), Machine(root, "reader", is_reader=True)
    first.write("a", 3, days=3)
    first.open().collect([NAME])
    _expect_as_planned(reader, files=3)
    second.write("a", 1)
    second.open().collect([NAME])
    oldest = Window(datetime(2000, 1, 1, tzinfo=UTC), datetime.combine(TODAY - timedelta(days=3), time(), UTC))
    delete(first.open().home, NAME, oldest)
    _expect_as_planned(reader, files=1)
    _expect_as_planned(reader, files=0)


def _expect_as_planned(machine: Machine, files: int) -> None:
    names = ("version", "files", "bytes", "requests")
    [planned] = json.loads(machine.run("pull", "--data", "--dry-run", "--output", "json").stdout)
    [done] = json.loads(machine.run("pull", "--data", "--output", "json").stdout)
    assert [planned[name] for name in names] == [done[name] for name in names]
    assert done["files"] == files


def test_the_status_shows_hosts_and_their_last_commits(root: Path) -> None:
    first, second, reader = Machine(root, "web-1"), Machine(root, "web-2"), Machine(root, "reader", is_reader=True)
    for machine in (first, second):
        machine.write("a", 1)
        machine.open().collect([NAME])
    reader.run("pull")
    told = json.loads(reader.run("status", "--output", "json").stdout)
    record = next(one for one in told["partitions"] if one["partition"] == NAME)
    assert [one["host"] for one in record["store"]["hosts"]] == ["web-1", "web-2"]
    assert record["store"]["name"] == "lake"
    version = record["store"]["version"]
    shown = reader.run("status")
    assert f"last commits by host, as of version {version} of the log: web-1 " in shown.output


def test_data_of_a_window_and_an_index_alone_come_here(root: Path) -> None:
    first, reader = Machine(root, "web-1"), Machine(root, "reader", is_reader=True)
    first.write("a", 1, days=3)
    first.open().collect([NAME])
    day = TODAY - timedelta(days=3)
    done = json.loads(reader.run("pull", "--data", "--from", str(day), "--to", str(day), "--output", "json").stdout)
    assert done[0]["files"] == 1
    done = json.loads(reader.run("pull", "--data", "--index", "nobody", "--output", "json").stdout)
    assert done[0]["files"] == 0
    layout = reader.open().home.layout()
    assert len([path for path in layout.files.rglob("*") if path.is_file()]) == 1


def test_a_collector_fetches_the_log_before_it_collects(root: Path) -> None:
    first, second = Machine(root, "web-1"), Machine(root, "web-2")
    for machine in (first, second):
        machine.write("a", 1)
        machine.open().collect([NAME])
    first.open().collect([NAME])
    with first.open().home.catalog(is_read_only=True) as catalog:
        assert sum(one.rows for one in catalog.partitions()) == 2


def test_a_store_that_cannot_be_reached_does_not_stop_a_collection(root: Path) -> None:
    first = Machine(root, "web-1")
    first.write("a", 1)
    first.open().collect([NAME])
    (root / "lake").rename(root / "gone")
    (root / "lake").write_text("not a directory")
    first.write("b", 1)
    report = first.open().collect([NAME])
    push = report.partitions[0].push
    assert push is not None
    assert push.error
    assert push.unpushed_commits == 1
    assert first.ask("SELECT count(*) FROM app") == [(2,)]


def test_an_object_with_other_bytes_is_refused_and_the_rest_stays_as_it_was(root: Path) -> None:
    first, reader = Machine(root, "web-1"), Machine(root, "reader", is_reader=True)
    first.write("a", 1)
    first.open().collect([NAME])
    objects = open_objects(str(root / "lake"))
    [one] = objects.list("data")
    objects.replace(one.key, b"x" * one.size)
    failed = reader.run("pull", "--data", "--output", "json")
    assert "differs from were pushed" in json.loads(failed.stdout)[0]["error"]
    assert not [path for path in reader.open().home.layout().files.rglob("*") if path.is_file()]


def test_a_pull_without_a_store_says_what_to_do(root: Path) -> None:
    machine = Machine(root, "web-1")
    (machine.install / "config" / "main.tpc").write_text("")
    from tailpipe.errors import UsageError

    with pytest.raises(UsageError, match="the config has no store"):
        machine.run("pull")
