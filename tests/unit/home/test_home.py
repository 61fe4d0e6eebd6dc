"""What the config says about the hive reaches the catalog."""

from __future__ import annotations

from pathlib import Path

from tailpipe.operations.doctor import examine
from tailpipe.operations.query import open_session
from tailpipe.workspace import Workspace
from tests.unit.home.support import OLD, opened, with_block, write


def hive(install: Path) -> list[str]:
    data = install / "data" / "default"
    return [path.parent.relative_to(data).as_posix() for path in sorted(data.glob("tp_table=*/**/*.parquet"))]


def test_another_partition_by_is_applied_by_the_next_collection(tmp_path: Path) -> None:
    write(tmp_path, "a")
    Workspace(opened(tmp_path)).collect("app.x")
    assert hive(tmp_path) == [f"tp_table=app/tp_partition=x/tp_index=default/tp_date={OLD}"]
    by = '["tp_table", "tp_partition", "tp_year", "tp_month", "tp_day", "tp_index"]'
    home = with_block(tmp_path, f'workspace "default" {{ partition_by = {by} }}\n')
    Workspace(home).collect("app.x")
    day = f"tp_year={OLD:%Y}/tp_month={OLD:%m}/tp_day={OLD:%d}"
    assert hive(tmp_path) == [f"tp_table=app/tp_partition=x/{day}/tp_index=default"]
    assert examine(home, with_checksums=True) == []
    with open_session(home) as session:
        assert list(session.run("SELECT count(*) FROM app").rows) == [(1,)]
