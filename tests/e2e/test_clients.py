"""Other clients read the tables: the snippets of docs/clients.md, and the databases of `tailpipe connect`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

import tailpipe
from tailpipe.model.window import Window
from tailpipe.operations.delete import delete
from tailpipe.operations.query import connect
from tailpipe.query.databases import ClientViews
from tailpipe.workspace import Workspace

from .demo import ROOT, demo_environment, demo_workspace

PAGE = (ROOT / "docs/clients.md").read_text(encoding="utf-8")


@pytest.fixture
def own(demo_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A copy of the quickstart's workspace that a test may change."""
    shutil.copytree(demo_directory, tmp_path / "demo")
    for name, value in demo_environment(tmp_path / "demo").items():
        monkeypatch.setenv(name, value)
    return demo_workspace()


def count(path: Path, table: str = "app_log") -> int:
    with duckdb.connect(str(path), read_only=True) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert row is not None
    return int(row[0])


def expected(workspace: Workspace, table: str = "app_log") -> int:
    return int(workspace.query(f"SELECT count(*) AS n FROM {table}")["n"][0].as_py())


@pytest.mark.slow
def test_the_python_of_the_page_runs(own: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tailpipe, "open", lambda *_, **__: own)
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    known: dict[str, object] = {}
    for snippet in snippets:
        if ".spark(" not in snippet:  # tests/spark runs that one
            exec(compile(snippet, "docs/clients.md", "exec"), known)
    assert len(snippets) == 9
    assert known["report"].is_done  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_shell_lines_of_the_page_run(own: Workspace, tmp_path: Path) -> None:
    scripts = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for script in scripts:
        if "--engine spark" not in script:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                env={**os.environ, "PATH": path},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert str(expected(own)) in done.stdout


@pytest.mark.slow
def test_powerpipe_gets_a_database_and_a_script_that_attaches_it(own: Workspace, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("tailpipe")), "connect", "--output", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert count(Path(found["database_filepath"])) == expected(own)
    with duckdb.connect() as connection:
        connection.execute(Path(found["init_script_path"]).read_text())
        assert connection.sql("SELECT count(*) FROM app_log").fetchone() == (expected(own),)


def test_a_database_shows_what_queries_show(demo: Workspace) -> None:
    recent = expected(demo, "recent.app_log")
    path = demo.connect()
    assert path.name == "tailpipe.duckdb"
    assert path.stat().st_mode & 0o077 == 0
    for table in ("app_log", "access_log", "flow_log"):
        assert count(path, table) == expected(demo, table) > 0
    assert recent >= count(path, "recent.app_log") >= expected(demo, "recent.app_log") > 0  # its window moves on
    with duckdb.connect(str(path), read_only=True) as connection:
        theirs = connection.execute("FROM flow_log ORDER BY tp_id").to_arrow_table()
    assert theirs.equals(demo.query("FROM flow_log ORDER BY tp_id"))


@pytest.mark.slow
@pytest.mark.parametrize("is_live", [False, True])
def test_a_request_narrows_its_database(demo: Workspace, is_live: bool) -> None:
    day = (datetime.now(UTC) - timedelta(days=3)).date()
    views = ClientViews(str(day), str(day), ("flow_log.*",), ("eni-0a1b",), is_live)
    path = connect(demo.home, views)
    rows = demo.query(f"FROM flow_log WHERE tp_date = '{day}' AND tp_index = 'eni-0a1b'").num_rows
    assert count(path, "flow_log") == rows > 0
    assert count(path, "app_log") == 0
    assert connect(demo.home, views) == path != connect(demo.home, ClientViews(is_live=is_live))


@pytest.mark.slow
def test_every_commit_replaces_the_databases(own: Workspace) -> None:
    narrowed = ClientViews(partitions=("shop",))
    paths = [own.connect(), connect(own.home, narrowed), connect(own.home, ClientViews(is_live=True))]
    before = expected(own)
    with duckdb.connect(str(paths[0]), read_only=True) as connection:
        oldest = connection.execute("SELECT min(tp_date) FROM app_log").fetchone()
        assert oldest is not None
        delete(own.home, "app_log.shop", Window.of_day(oldest[0]))
        still = connection.execute("SELECT count(*) FROM app_log").fetchone()
        assert still == (before,), "who is connected goes on seeing what was there"
    after = expected(own)
    assert after < before
    assert [count(path) for path in paths] == [after] * 3


def test_a_database_that_was_deleted_is_not_written_again(own: Workspace) -> None:
    path = own.connect()
    path.unlink()
    delete(own.home, "access_log.web", Window.of_day((datetime.now(UTC) - timedelta(days=3)).date()))
    assert not path.exists()
    assert not (path.parent / ".tailpipe" / "clients" / "tailpipe.json").exists()


@pytest.mark.slow
def test_a_database_that_cannot_be_written_does_not_harm_the_commit(
    own: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    path = own.connect()
    path.unlink()
    path.mkdir()
    delete(own.home, "access_log.web", Window.of_day((datetime.now(UTC) - timedelta(days=3)).date()))
    assert "is out of date" in " ".join(caplog.messages)


def test_the_statements_make_the_same_views(demo: Workspace) -> None:
    with duckdb.connect() as connection:
        for statement in demo.home.followers.statements(ClientViews()):
            connection.execute(statement)
        assert connection.execute("SELECT count(*) FROM access_log").fetchone() == (expected(demo, "access_log"),)


def test_a_workspace_without_data_has_empty_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in demo_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    workspace = tailpipe.open()
    assert {"access_log", "app_log", "flow_log"} <= set(workspace.tables())
    assert workspace.query("FROM app_log").num_rows == 0
    assert count(workspace.connect()) == 0
    assert count(connect(workspace.home, ClientViews(is_live=True))) == 0
