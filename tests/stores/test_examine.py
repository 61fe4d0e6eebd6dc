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
