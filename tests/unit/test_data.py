"""What the config says about stores and the hive reaches the catalog."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tailpipe.data import own_host

from tailpipe.errors import UsageError
from tailpipe.workspace import Workspace
from tests.unit.test_workspace import OLD, opened, write

STORE = 'store "lake" { location = "/srv/lake" }\nstore "own" { location = "/srv/own" }\n'


def with_block(install: Path, block: str, more: str = "") -> Workspace:
    """The workspace with further blocks in its config, and further arguments in its partition."""
    workspace = opened(install, more)
    path = install / "config" / "main.tpc"
    path.write_text(path.read_text() + block)
    return workspace


def hive(install: Path) -> list[str]:
    data = install / "data" / "default"
    return [path.parent.relative_to(data).as_posix() for path in sorted(data.glob("tp_table=*/**/*.parquet"))]


def origins(workspace: Workspace) -> list[str]:
    with workspace.data.catalog(is_read_only=True) as catalog:
        return [entry.origin for entry in catalog.state("app.x").ledger]


def test_a_partition_has_its_own_store_or_that_of_the_workspace(tmp_path: Path) -> None:
    assert opened(tmp_path).data.store_of("app.x") is None
    default = STORE + 'workspace "default" { store = store.lake }\n'
    for block, more, name in (
        (STORE, "store = store.own", "own"),
        (default, "store = store.own", "own"),
        (default, "", "lake"),
    ):
        store = with_block(tmp_path, block, more).data.store_of("app.x")
        assert store is not None
        assert store.name == name
    assert with_block(tmp_path, STORE, "store = store.own").data.store_of("app.gone") is None
    gone = with_block(tmp_path, default).data.store_of("app.gone")
    assert gone is not None
    assert gone.name == "lake"


def test_a_host_is_named_only_if_something_is_in_a_store(tmp_path: Path) -> None:
    named = 'workspace "default" { host = "web-1" }\n'
    assert with_block(tmp_path, STORE + named).data.host is None
    assert with_block(tmp_path, STORE + named, "store = store.own").data.host == "web-1"
    assert with_block(tmp_path, STORE, "store = store.own").data.host == socket.gethostname()


def test_files_of_a_workspace_with_a_store_belong_to_its_host(tmp_path: Path) -> None:
    write(tmp_path, "a")
    block = STORE + 'workspace "default" { host = "web-1" }\n'
    workspace = with_block(tmp_path, block, "store = store.own")
    workspace.collect(["app.x"])
    assert [origin.startswith("@web-1:") for origin in origins(workspace)] == [True]


def test_a_host_name_that_stores_cannot_use_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "my host")
    with pytest.raises(UsageError, match='"my host", cannot be used') as caught:
        own_host()
    assert "workspace" in caught.value.hint


def test_another_partition_by_is_applied_by_the_next_collection(tmp_path: Path) -> None:
    write(tmp_path, "a")
    opened(tmp_path).collect(["app.x"])
    assert hive(tmp_path) == [f"tp_table=app/tp_partition=x/tp_index=default/tp_date={OLD}"]
    by = '["tp_table", "tp_partition", "tp_year", "tp_month", "tp_day", "tp_index"]'
    changed = with_block(tmp_path, f'workspace "default" {{ partition_by = {by} }}\n')
    changed.collect(["app.x"])
    day = f"tp_year={OLD:%Y}/tp_month={OLD:%m}/tp_day={OLD:%d}"
    assert hive(tmp_path) == [f"tp_table=app/tp_partition=x/{day}/tp_index=default"]
    assert changed.data.examine(with_checksums=True) == []
    with changed.session() as session:
        assert list(session.run("SELECT count(*) FROM app").rows) == [(1,)]
