"""Objects of a store that are deleted, altered, truncated or swapped: a clear message, no wrong row, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.cli.app import app
from tailpipe.errors import CatalogError, TailpipeError
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.log import entries_after
from tests.stores.installed import NAME, configure, free, log, opened, write


def delete(path: Path, _: Path) -> None:
    path.unlink()


def alter(path: Path, _: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def truncate(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def swap(path: Path, other: Path) -> None:
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


DAMAGES: list[Callable[[Path, Path], None]] = [delete, alter, truncate, empty, swap]
QUERY = "SELECT count(*) AS n, count(DISTINCT tp_id) AS ids FROM app"


@pytest.fixture
def lake(install: Path) -> Path:
    """A store with four days in four entries of its log."""
    for name in ("a", "b"):
        write(install, name, days=2, message=name)
        opened(install).collect([NAME])
    return install / "lake"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False, standalone_mode=False)


def two(lake: Path, pattern: str) -> tuple[Path, Path]:
    first, second, *_ = sorted(path for path in lake.glob(pattern) if path.is_file())
    return first, second


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_data_file_is_never_read(install: Path, lake: Path, damage: Callable[[Path, Path], None]) -> None:
    assert free(install) == []
    path, other = two(lake, "data/**/*.parquet")
    kept = path.read_bytes(), other.read_bytes()
    damage(path, other)
    key = path.relative_to(lake).as_posix()
    with pytest.raises(TailpipeError) as caught:
        opened(install).query(QUERY)
    assert path.name in caught.value.with_hint or (damage is swap and other.name in caught.value.with_hint)
    found = run("doctor", "--stores", "--checksums")
    assert found.return_value == 1
    assert key in found.stdout
    path.write_bytes(kept[0])
    other.write_bytes(kept[1])
    assert opened(install).query(QUERY).to_pylist() == [{"n": 4, "ids": 4}]


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_of_the_log_is_found_and_restored(
    install: Path, lake: Path, damage: Callable[[Path, Path], None]
) -> None:
    path, other = two(lake, "log/**/*.manifest")
    kept = path.read_bytes(), other.read_bytes()
    damage(path, other)
    found = run("doctor", "--stores", "--checksums", "--output", "json")
    assert found.return_value == 1
    names = {record["path"] for record in json.loads(found.stdout)}
    assert path.relative_to(lake).as_posix() in names
    assert opened(install).query(QUERY).to_pylist() == [{"n": 4, "ids": 4}]
    run("doctor", "--stores", "--checksums", "--repair")
    assert (path.read_bytes(), other.read_bytes()) == kept
    assert run("doctor", "--stores", "--checksums").return_value is None


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_identity_of_the_store_is_found_and_restored(
    install: Path, lake: Path, tmp_path: Path, damage: Callable[[Path, Path], None]
) -> None:
    path, other = lake / "tailpipe.json", tmp_path / "other.json"
    kept = path.read_bytes()
    other.write_text(json.dumps({"format": 1, "id": "0" * 32}))
    damage(path, other)
    for checksums in ((), ("--checksums",)):
        found = run("doctor", "--stores", "--output", "json", *checksums)
        assert found.return_value == 1
        assert [record["path"] for record in json.loads(found.stdout)] == ["tailpipe.json"]
    run("doctor", "--stores", "--repair")
    assert path.read_bytes() == kept
    assert run("doctor", "--stores").return_value is None


@pytest.mark.slow
@pytest.mark.parametrize("damage", [delete, truncate, empty])
def test_a_new_host_does_not_take_a_store_with_a_damaged_identity_for_an_empty_one(
    install: Path, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path, Path], None]
) -> None:
    path, fresh = lake / "tailpipe.json", tmp_path / "fresh"
    kept = path.read_bytes()
    damage(path, path)
    fresh.mkdir()
    configure(fresh, location=str(lake))
    write(fresh, "c")
    (summary,) = opened(fresh).collect([NAME]).partitions
    assert summary.push is not None
    assert "tailpipe.json" in summary.push.error
    assert "doctor --stores --repair" in summary.push.error
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(fresh))
    pulled = run("pull")
    assert pulled.return_value == 1
    assert "tailpipe.json" in pulled.stderr
    run("doctor", "--stores", "--repair")  # the log tells the name, so any host can
    assert path.read_bytes() == kept
    assert run("push").return_value is None
    assert opened(fresh).query(QUERY).to_pylist() == [{"n": 5, "ids": 5}]
    assert run("doctor", "--stores", "--checksums").return_value is None


def test_an_entry_of_the_log_of_another_partition_is_refused(install: Path, lake: Path) -> None:
    objects = open_objects(str(lake))
    assert [entry.version for entry in entries_after(objects, NAME, 0)] == list(range(1, 1 + len(log(install))))
    (lake / "log" / NAME).rename(lake / "log" / "app.y")
    with pytest.raises(CatalogError, match=f"is of the log of {NAME}, not of app.y"):
        list(entries_after(objects, "app.y", 0))
