"""A workspace whose files are in a store: everything that reads them gives what it gives over local ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.model.request import Collect
from tailpipe.model.store import Store
from tailpipe.model.window import Window
from tailpipe.operations.compact import Compact, compact
from tailpipe.operations.delete import delete
from tailpipe.operations.facts import rejected
from tailpipe.query.rejected import rejected_rows
from tailpipe.query.request import Query
from tailpipe.query.session import Session
from tailpipe.storage.object_stores import open_objects
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.e2e.demo import demo_environment, demo_workspace
from tests.e2e.test_cookbook import RECIPES
from tests.reading.support import asked, give_store, move_out, requests_of

CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "local" {
  tp_index   = "who"
  dedupe_key = ["n"]
  source "file" {
    paths       = ["%s"]
    file_layout = `%%{YEAR:year}-%%{MONTHNUM:month}-%%{MONTHDAY:day}-\\d+.jsonl`
  }
}
schema "copied" {
  materialized = true
}
"""

JANUARY = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 10, tzinfo=UTC))
SECOND = Window(datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def write(logs: Path, day: int, part: int, numbers: range, *, is_bad: bool = False) -> None:
    lines = [json.dumps({"time": f"2024-01-{day:02d}T10:00:00Z", "n": n, "who": f"w{n % 2}"}) for n in numbers]
    lines += ["no json"] if is_bad else []
    (logs / f"2024-01-{day:02d}-{part}.jsonl").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def workspace(tmp_path: Path, logs: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Three days in two files each, with rejected rows, all in the store alone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path / "install"))
    config = tmp_path / "install" / "config" / "main.tpc"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG % logs)
    opened = give_store(Workspace.open(engine=InProcessEngine()), store)
    for part in range(2):
        for day in (1, 2, 3):
            write(logs, day, part, range(day * 100 + part * 10, day * 100 + part * 10 + 10), is_bad=part == 0)
        assert opened.collect(Collect(datetime.now(UTC), JANUARY, compact=False)).is_done
    objects = open_objects(store.location, store.connection)
    assert move_out(opened.home.layout(), objects) > 6
    shutil.rmtree(opened.home.layout().internal / "schemas")
    return opened


def total(workspace: Workspace) -> list[tuple[object, ...]]:
    with workspace.session() as session:
        return asked(session, "SELECT count(*), sum(n), count(DISTINCT tp_id) FROM app")


def test_queries_over_all_of_it_are_answered(workspace: Workspace) -> None:
    numbers = [day * 100 + n for day in (1, 2, 3) for n in range(20)]
    assert total(workspace) == [(60, sum(numbers), 60)]


def test_rejected_rows_are_read(workspace: Workspace) -> None:
    rows = rejected_rows("app.local", rejected(workspace.home, "app.local"), 10)
    assert [row.text for row in rows] == ["no json"] * 3


@pytest.mark.slow
def test_compaction_merges_files_of_the_store(workspace: Workspace) -> None:
    before = total(workspace)
    (done,) = compact(workspace.home, Compact())
    assert done.files > (done.new_files or 0) > 0
    assert total(workspace) == before


@pytest.mark.slow
def test_another_index_is_applied_to_files_of_the_store(workspace: Workspace, store: Store, tmp_path: Path) -> None:
    before = total(workspace)
    config = tmp_path / "install" / "config" / "main.tpc"
    config.write_text(config.read_text().replace('tp_index   = "who"', ""))
    again = give_store(Workspace.open(engine=InProcessEngine()), store)
    (done,) = compact(again.home, Compact(reindex=True))
    assert done.files > 0
    with again.session() as session:
        assert asked(session, "SELECT DISTINCT tp_index FROM app") == [("default",)]
    assert total(again) == before


@pytest.mark.slow
def test_duplicates_of_rows_in_the_store_are_left_out(workspace: Workspace, logs: Path) -> None:
    write(logs, 2, 7, range(205, 230))  # 205..219 are there already
    assert workspace.collect(Collect(datetime.now(UTC), JANUARY, compact=False)).is_done
    with workspace.session() as session:
        assert asked(session, "SELECT count(*), count(DISTINCT n) FROM app WHERE tp_date = DATE '2024-01-02'") == [
            (30, 30)
        ]


def test_a_copy_of_a_schema_is_made_of_files_in_the_store(workspace: Workspace) -> None:
    workspace.home.followers.refresh_copies(None)
    (copy,) = (workspace.home.layout().internal / "schemas").glob("copied/app/*")
    with workspace.session() as session:
        assert asked(session, "SELECT count(*) FROM copied.app") == [(60,)]
        assert requests_of(session) == {}
    assert copy.stat().st_size > 0


def test_a_day_in_the_store_is_deleted_like_any_other(workspace: Workspace) -> None:
    delete(workspace.home, "app.local", SECOND)
    assert total(workspace)[0][0] == 40


def test_python_reads_it(workspace: Workspace) -> None:
    assert workspace.query("SELECT count(*) AS c FROM app").to_pylist() == [{"c": 60}]


@pytest.mark.slow
def test_connect_names_the_files_that_are_here_alone(workspace: Workspace, logs: Path) -> None:
    import duckdb

    write(logs, 5, 0, range(500, 504))
    assert workspace.collect(Collect(datetime.now(UTC), JANUARY, compact=False)).is_done
    with duckdb.connect(str(workspace.connect()), read_only=True) as client:
        assert client.execute("SELECT count(*) FROM app").fetchall() == [(4,)]


def test_the_summary_needs_no_store(workspace: Workspace, store: Store) -> None:
    with workspace.session() as session:
        columns = "tp_date, sum(rows), bool_or(is_here), bool_and(is_in_store)"
        rows = asked(session, f"SELECT {columns} FROM tp_catalog.days GROUP BY 1 ORDER BY 1")
        assert rows == [(date(2024, 1, day), 20, False, True) for day in (1, 2, 3)]
        assert asked(session, "SELECT sum(rows), min(first_event)::DATE FROM tp_catalog.files") == [
            (60, date(2024, 1, 1))
        ]
        assert asked(session, "SELECT count(*) FROM tp_catalog.files WHERE tp_table = 'app'")[0][0] > 0
        assert requests_of(session) == {}
        joined = "FROM app JOIN tp_catalog.days d USING (tp_date, tp_index) WHERE d.tp_table = 'app'"
        assert asked(session, f"SELECT count(*), min(d.rows) {joined}") == [(60, 10)]


@pytest.mark.slow
@pytest.mark.parametrize("leaves", [lambda _: False, lambda path: sum(path.encode()) % 2 == 0], ids=["all", "mixed"])
def test_the_cookbook_answers_the_same_over_files_in_a_store(
    demo_directory: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: Callable[[str], bool]
) -> None:
    shutil.copytree(demo_directory, tmp_path / "copy", symlinks=True)
    for name, value in demo_environment(tmp_path / "copy").items():
        monkeypatch.setenv(name, value)
    workspace = give_store(demo_workspace(), store)
    answers = answered(workspace)
    assert move_out(workspace.home.layout(), open_objects(store.location, store.connection), leaves) > 20
    assert answered(workspace) == answers
    with workspace.session() as session:
        for name in RECIPES:
            assert len(recipe(session, workspace, name)) == len(answers[name])


def recipe(session: Session, workspace: Workspace, name: str) -> list[tuple[object, ...]]:
    query = workspace.home.queries[name]
    return list(session.run(query.text, query.values({}, now=datetime.now(UTC))).rows)


def answered(workspace: Workspace) -> dict[str, list[tuple[object, ...]]]:
    """What the cookbook answers; with one thread, so that equal rows and sums of broken numbers come in one order."""
    with workspace.session(Query(is_unsafe=True)) as session:
        session.run("SET threads = 1")
        return {name: recipe(session, workspace, name) for name in RECIPES}


def test_a_file_that_no_store_is_known_of_is_an_error_and_no_answer(workspace: Workspace) -> None:
    plain = Workspace.open(engine=InProcessEngine())
    with plain.session() as session, pytest.raises(TailpipeError, match="config does not name"):
        asked(session, "SELECT count(*) FROM app")
