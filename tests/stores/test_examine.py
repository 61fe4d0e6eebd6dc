"""The doctor of stores: what is missing there is found, and put back from a good copy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stores.installed import NAME, write
from tests.stores.test_publish import install, opened, run

__all__ = ["install"]


def findings(*flags: str) -> list[tuple[str, bool]]:
    result = run("doctor", "--stores", "--output", "json", *flags)
    return [(record["problem"], bool(record["repair"])) for record in json.loads(result.stdout)]


@pytest.fixture
def data(install: Path) -> list[Path]:
    """The objects of three days."""
    write(install, "a", days=3)
    opened(install).collect([NAME])
    return sorted((install / "lake" / "data").rglob("*-*.parquet"))


def test_missing_and_altered_objects_are_found_and_put_back(install: Path, data: list[Path]) -> None:
    assert findings() == []
    good = [path.read_bytes() for path in data]
    (entry,) = (install / "lake" / "log").rglob("*2.manifest")
    logged = entry.read_bytes()
    data[0].unlink()
    data[1].chmod(0o644)
    data[1].write_bytes(b"short")
    data[2].chmod(0o644)
    data[2].write_bytes(bytes(len(good[2])))
    entry.unlink()
    assert sorted(findings()) == [("altered", True), ("missing", True), ("missing", True)]
    assert sorted(findings("--checksums")).count(("altered", True)) == 2
    assert findings("--checksums", "--repair") == []
    assert [path.read_bytes() for path in data] == good
    assert entry.read_bytes() == logged


def test_what_neither_has_is_a_failure_without_a_repair(install: Path, data: list[Path]) -> None:
    data[0].unlink()
    (stored,) = (install / "data" / "default" / ".tailpipe" / "files").rglob(data[0].stem)
    stored.chmod(0o644)
    stored.write_bytes(bytes(stored.stat().st_size))
    assert findings() == [("missing", False)]
    assert run("doctor", "--stores").return_value == 1


def test_a_repair_that_cannot_be_pushed_fails_and_the_next_push_brings_it(install: Path) -> None:
    lake = install / "lake"
    lake.rmdir()
    write(install, "a")
    opened(install).collect([NAME])
    for path in (install / "data").rglob("*.parquet"):
        path.unlink()
    for path in (install / "data" / "default" / ".tailpipe" / "files").rglob("*"):
        if path.is_file():
            path.unlink()
    repaired = run("doctor", "--repair")
    assert repaired.return_value == 1
    assert "marked 1 day for collection" in repaired.stderr
    assert f"{NAME} was not pushed" in repaired.stderr
    assert "to push it: tailpipe push" in repaired.stderr
    lake.mkdir()
    (summary,) = opened(install).collect([NAME]).partitions
    assert summary.push is not None
    assert summary.push.error == ""
    assert findings("--checksums") == []
    assert run("doctor").return_value is None
    assert opened(install).query("SELECT count(*) AS n FROM app").to_pylist() == [{"n": 1}]


def test_a_repair_after_which_only_the_push_fails_is_a_failure(install: Path, data: list[Path]) -> None:
    links = list((install / "data").rglob("tp_table=app/**/*.parquet"))
    for link in links:
        link.unlink()
    write(install, "b")
    (install / "lake").rename(install / "away")
    opened(install).collect([NAME])
    repaired = run("doctor", "--repair")
    assert repaired.return_value == 1
    assert f"the push of {NAME} failed; everything is committed on this disk" in repaired.stderr
    assert all(link.exists() for link in links)
    (install / "away").rename(install / "lake")
    assert run("push").return_value is None
    assert run("doctor", "--repair").return_value is None
    assert findings("--checksums") == []
