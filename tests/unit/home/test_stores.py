"""What the config says about stores reaches the catalog."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tailpipe.errors import UsageError
from tailpipe.home.home import Home
from tailpipe.home.stores import own_host
from tailpipe.workspace import Workspace
from tests.unit.home.support import opened, with_block, write

STORE = 'store "lake" { location = "/srv/lake" }\nstore "own" { location = "/srv/own" }\n'


def origins(home: Home) -> list[str]:
    with home.catalog(is_read_only=True) as catalog:
        return [entry.origin for entry in catalog.state("app.x").ledger]


def test_a_partition_has_its_own_store_or_that_of_the_workspace(tmp_path: Path) -> None:
    assert opened(tmp_path).stores.of("app.x") is None
    default = STORE + 'workspace "default" { store = store.lake }\n'
    for block, more, name in (
        (STORE, "store = store.own", "own"),
        (default, "store = store.own", "own"),
        (default, "", "lake"),
    ):
        store = with_block(tmp_path, block, more).stores.of("app.x")
        assert store is not None
        assert store.name == name
    assert with_block(tmp_path, STORE, "store = store.own").stores.of("app.gone") is None
    gone = with_block(tmp_path, default).stores.of("app.gone")
    assert gone is not None
    assert gone.name == "lake"


def test_a_host_is_named_only_if_something_is_in_a_store(tmp_path: Path) -> None:
    named = 'workspace "default" { host = "web-1" }\n'
    assert with_block(tmp_path, STORE + named).stores.host is None
    assert with_block(tmp_path, STORE + named, "store = store.own").stores.host == "web-1"
    assert with_block(tmp_path, STORE, "store = store.own").stores.host == socket.gethostname()


def test_files_of_a_workspace_with_a_store_belong_to_its_host(tmp_path: Path) -> None:
    write(tmp_path, "a")
    block = STORE + 'workspace "default" { host = "web-1" }\n'
    home = with_block(tmp_path, block, "store = store.own")
    Workspace(home).collect("app.x")
    assert [origin.startswith("@web-1:") for origin in origins(home)] == [True]


def test_a_host_name_that_stores_cannot_use_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "my host")
    with pytest.raises(UsageError, match='"my host", cannot be used') as caught:
        own_host()
    assert "workspace" in caught.value.hint
