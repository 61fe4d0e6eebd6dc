"""The Python API: what programs import, and its methods."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from tailpipe.workspace import Collect, Query, Workspace
from tests.unit.home.support import OLD, opened, write

HEAVY = {"duckdb", "numpy", "obstore", "pandas", "pyarrow", "pyspark", "sqlglot", "tailpipe.catalog.catalog"}


def test_importing_the_api_loads_neither_an_engine_nor_the_catalog() -> None:
    code = "import json, sys\nfrom tailpipe import Window, Workspace\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout))
    assert "tailpipe.workspace" in modules
    assert modules & HEAVY == set()


def test_collect_takes_selectors_and_the_times_of_the_command_line(tmp_path: Path) -> None:
    write(tmp_path, "a")
    workspace, events = Workspace(opened(tmp_path)), list[object]()
    [later] = workspace.collect("app.*", start=str(datetime.now(UTC).date())).partitions
    assert later.accounts.kept == 0
    [summary] = workspace.collect("app.*", start="T-7d", emit=events.append).partitions
    assert (summary.partition, summary.accounts.kept) == ("app.x", 1)
    assert events
    assert workspace.query("SELECT tp_date, message FROM app").to_pylist() == [{"tp_date": OLD, "message": "a"}]


def test_collect_takes_a_request(tmp_path: Path) -> None:
    write(tmp_path, "a")
    workspace = Workspace(opened(tmp_path))
    report = workspace.collect(Collect(datetime.now(UTC), partitions="app.x", command="mine"))
    assert report.partitions[0].accounts.kept == 1


def test_tables_say_which_have_rows(tmp_path: Path) -> None:
    write(tmp_path, "a")
    workspace = Workspace(opened(tmp_path))
    before = workspace.tables()
    assert before["app"] is False
    assert before.keys() >= {"app", "detection_hit"}
    workspace.collect()
    after = workspace.tables()
    assert list(after) == sorted(before)
    assert [name for name, has_rows in after.items() if has_rows] == ["app"]


def test_a_session_takes_a_request(tmp_path: Path) -> None:
    write(tmp_path, "a")
    workspace = Workspace(opened(tmp_path))
    workspace.collect()
    with workspace.session(Query(is_unsafe=True)) as session:
        assert list(session.run("SELECT count(*) FROM app").rows) == [(1,)]
