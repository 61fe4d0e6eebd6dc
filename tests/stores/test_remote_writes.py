"""What writes days anew whose files are in the store alone: rows that stay are carried over, and none is lost."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.operations.compact import Compact, compact
from tailpipe.operations.delete import delete
from tailpipe.operations.pull import Pull, pull
from tailpipe.storage.object_stores import open_objects
from tests.crash.soak import another_disk
from tests.stores.installed import NAME, NOTHING, configure, free, log, opened, write


def messages(install: Path) -> Counter[str]:
    with opened(install).session() as session:
        return Counter(message for (message,) in session.run("SELECT message FROM app").rows)


def replace_days(install: Path) -> bool:
    """Collect days again of which one log has grown and the other is gone; whether all of it was done."""
    shutil.rmtree(install / "logs" / "b", ignore_errors=True)
    for path in (install / "logs" / "a").iterdir():
        first = path.read_text().splitlines(keepends=True)[0]
        path.write_text(first + first.replace('"a"', '"new"'))
    return opened(install).collect([NAME], overwrite=True).is_done


def reject(install: Path, name: str) -> None:
    """Let each log of a name have a row that cannot be used."""
    for path in (install / "logs" / name).iterdir():
        path.write_text(path.read_text() + "{broken\n")


@pytest.fixture
def remote(install: Path) -> Path:
    """Two days of two logs each, with rejected rows, all of it in the store alone."""
    configure(install, here=NOTHING)
    write(install, "a", days=2)
    write(install, "b", days=2)
    reject(install, "b")
    opened(install).collect([NAME])
    assert free(install) == []
    return install


def test_rows_of_logs_that_are_gone_are_carried_over_when_their_days_are_replaced(remote: Path) -> None:
    assert messages(remote) == Counter(a=2, b=2)
    assert replace_days(remote)
    assert messages(remote) == Counter(a=2, new=2, b=2)
    assert free(remote) == []
    assert messages(remote) == Counter(a=2, new=2, b=2)
    with opened(remote).home.catalog(is_read_only=True) as catalog:
        accounts = catalog.accounts(NAME)
        assert (accounts.kept, accounts.rejected) == (6, 2)
        assert len(catalog.rejected_files(NAME)) == 2
    assert doctor.examine(remote / "data" / "default", with_checksums=True) == []


def test_a_store_that_is_gone_fails_the_day_and_changes_nothing(remote: Path) -> None:
    shutil.rmtree(remote / "data" / "default" / ".tailpipe" / "cache", ignore_errors=True)
    (remote / "lake").rename(remote / "away")
    assert not replace_days(remote)
    (remote / "away").rename(remote / "lake")
    assert messages(remote) == Counter(a=2, b=2)
    assert replace_days(remote)
    assert messages(remote) == Counter(a=2, new=2, b=2)


@pytest.mark.slow
def test_an_object_with_other_bytes_is_never_carried_over(remote: Path) -> None:
    shutil.rmtree(remote / "data" / "default" / ".tailpipe" / "cache", ignore_errors=True)
    objects = open_objects(str(remote / "lake"))
    for one in list(objects.list("data")):
        path = remote / "lake" / one.key
        path.chmod(0o600)
        path.write_bytes(bytes(reversed(path.read_bytes())))
    before = log(remote)
    assert not replace_days(remote)
    assert log(remote) == before


@pytest.mark.slow
def test_compaction_and_deletion_take_remote_files(remote: Path) -> None:
    for name in ("c", "d", "e"):
        write(remote, name)
        opened(remote).collect([NAME])
        free(remote)
    compact(opened(remote).home, Compact([NAME]))
    assert free(remote) == []
    assert messages(remote) == Counter(a=2, b=2, c=1, d=1, e=1)
    delete(opened(remote).home, NAME)
    assert messages(remote) == Counter()


@pytest.mark.slow
def test_what_comes_back_to_this_disk_comes_to_the_path_of_the_here_block(remote: Path) -> None:
    with another_disk(remote) as disk:
        configure(remote, here=f'path = "{disk}"')
        write(remote, "c")
        assert opened(remote).collect([NAME]).is_done
        days = {path.parent.name for path in disk.glob("tp_table=*/**/*.parquet")}
        assert len(days) == 1
        pull(opened(remote).home, Pull([NAME], with_data=True))
        days = {path.parent.name for path in disk.glob("tp_table=*/**/*.parquet")}
        assert len(days) == 2
        assert free_files(remote) == []
        assert messages(remote) == Counter(a=2, b=2, c=1)


def free_files(install: Path) -> list[Path]:
    return [path for path in (install / "data" / "default" / ".tailpipe" / "files").rglob("*") if path.is_file()]
