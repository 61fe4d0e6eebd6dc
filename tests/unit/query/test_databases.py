"""The databases of other clients follow commits, and a run of many commits does not spend its time on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tailpipe.catalog.layout import Layout
from tailpipe.errors import StorageError, UsageError
from tailpipe.query.databases import ClientViews, Databases
from tailpipe.sql.duck import duckdb


@dataclass
class Slow:
    """Takes some seconds to tell the statements, by its own clock."""

    seconds: float
    now: float = 0.0
    written: int = 0

    def statements(self, _: ClientViews) -> Sequence[str]:
        self.now += self.seconds
        self.written += 1
        return [f"CREATE VIEW it AS SELECT {self.written} AS number"]

    def clock(self) -> float:
        return self.now


def _made(tmp_path: Path, slow: Slow) -> Databases:
    (tmp_path / ".tailpipe").mkdir()
    databases = Databases(Layout.of(tmp_path), slow.statements)
    databases.make()
    slow.written = 0
    return databases


def test_a_full_disk_is_told_as_such_and_nothing_is_left(tmp_path: Path) -> None:
    slow = Slow(0.0)
    databases = _made(tmp_path, slow)

    def full(_: ClientViews) -> Sequence[str]:
        (draft,) = (path for path in databases.layout.clients.iterdir() if path.suffix == ".duckdb")
        draft.with_name(f"{draft.name}.wal").write_bytes(b"half")
        raise duckdb.TransactionException(f'Failed to commit: Could not write file "{draft}": No space left on device')

    with pytest.raises(StorageError, match=f"no space left for a database in {tmp_path}"):
        Databases(databases.layout, full).make()
    assert [path.suffix for path in databases.layout.clients.iterdir()] == [".json"]


def test_a_slow_database_follows_now_and_then_and_always_in_the_end(tmp_path: Path) -> None:
    slow = Slow(2.0)
    with _made(tmp_path, slow).following(slow.clock) as follow:
        for _ in range(100):
            follow()
            slow.now += 0.5  # a commit
    assert slow.written == 4  # of 100: the first, one each 18 seconds, and the last


def test_a_quick_one_follows_every_commit(tmp_path: Path) -> None:
    slow = Slow(0.01)
    with _made(tmp_path, slow).following(slow.clock) as follow:
        for number in range(10):
            follow()
            assert slow.written == number + 1
            slow.now += 0.001
    assert slow.written == 10


def test_a_run_that_fails_leaves_its_databases_true(tmp_path: Path) -> None:
    slow = Slow(2.0)

    def fail() -> None:
        with _made(tmp_path, slow).following(slow.clock) as follow:
            follow()
            follow()
            raise RuntimeError("the power went")

    with pytest.raises(RuntimeError):
        fail()
    assert slow.written == 2


def test_what_cannot_be_told_or_read_harms_no_commit_and_no_other_database(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slow = Slow(0.0)
    databases = _made(tmp_path, slow)
    databases.make(ClientViews(start="T-7d"))
    clients = Layout.of(tmp_path).clients
    for name, text in (("a.json", "{"), ("b.json", "[]"), ("c.json", "{}"), ("d.json", "7")):
        (clients / name).write_text(text)

    def statements(views: ClientViews) -> Sequence[str]:
        if views == ClientViews():
            raise UsageError("no such partition")
        return slow.statements(views)

    replace(databases, statements=statements).refresh()
    assert slow.written == 2  # when it was made, and now
    told = " ".join(caplog.messages)
    assert "tailpipe.duckdb is out of date: no such partition" in told
    assert told.count("cannot be read") == 4


def test_a_request_is_kept_as_it_was_made(tmp_path: Path) -> None:
    requests = [
        ClientViews(),
        ClientViews(is_live=True),
        ClientViews("T-7d", "2024-01-31", ("prod", "é*"), ("x",)),
        ClientViews("T-7d", "2024-01-31", ("prod", "é*"), ("x",), is_live=True),
    ]
    assert [ClientViews.from_text(views.text()) for views in requests] == requests
    names = [views.name for views in requests]
    assert names[:2] == ["tailpipe", "tailpipe-live"]
    assert len(set(names)) == 4
    seen: list[ClientViews] = []
    (tmp_path / ".tailpipe").mkdir()
    databases = Databases(Layout.of(tmp_path), lambda views: seen.append(views) or [])  # type: ignore[func-returns-value]
    paths = [databases.make(views) for views in requests]
    assert [path.name for path in paths] == [f"{name}.duckdb" for name in names]
    seen.clear()
    paths[1].unlink()
    databases.refresh()
    assert sorted(seen, key=str) == sorted((views for views in requests if views != requests[1]), key=str)
    assert not paths[1].exists()
