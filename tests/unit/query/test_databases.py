"""The databases of other clients follow commits, and a run of many commits does not spend its time on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailpipe.catalog.layout import Layout
from tailpipe.errors import StorageError
from tailpipe.kernel.duck import duckdb
from tailpipe.query.databases import Databases, Wish


@dataclass
class Slow:
    """Takes some seconds to tell the statements, by its own clock."""

    seconds: float
    now: float = 0.0
    written: int = 0

    def statements(self, _: Wish) -> Sequence[str]:
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

    def full(_: Wish) -> Sequence[str]:
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
