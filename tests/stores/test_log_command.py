"""`tailpipe log`: the changes of a partition, with and without a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailpipe.catalog.changes import changes
from tailpipe.errors import UsageError
from tests.stores.conftest import Shared
from tests.stores.installed import NAME, write
from tests.stores.test_publish import install, opened, run
from tests.unit.catalog.conftest import PARTITION

__all__ = ["install"]


def test_changes_say_who_when_what_and_the_version_of_the_log(lake: Shared, tmp_path: Path) -> None:
    lake.collect(["a1", "a2"])
    lake.push()
    other = Shared(tmp_path / "other", lake.objects, host="web-2")
    other.push()
    other.replace(["b1"])
    other.push()
    lake.push()
    lake.collect(["c1"], index="c")
    with lake.open() as catalog:
        found = changes(catalog.database, PARTITION, 10)
    assert [(one.host, one.kind, one.version, one.added_files, one.removed_files, one.rows) for one in found] == [
        ("web-1", "append", None, 1, 0, 1),
        ("web-2", "replace", 2, 1, 1, 1),
        ("web-1", "append", 1, 1, 0, 2),
    ]
    assert all(one.bytes for one in found)
    with other.open() as catalog:
        assert [one.rows for one in changes(catalog.database, PARTITION, 10)][-1] is None


def test_the_command_works_without_a_store_and_keeps_to_its_limit(install: Path) -> None:
    config = install / "config" / "main.tpc"
    config.write_text(config.read_text().replace("store = store.lake", "").replace('host  = "web-1"', ""))
    write(install, "a", days=3)
    opened(install).collect([NAME])
    records = json.loads(run("log", NAME, "--output", "json", "--limit", "3").stdout)
    assert len(records) == 3
    assert {record["version"] for record in records} == {None}
    assert "version" not in run("log", NAME).stdout
    assert sum(record["rows"] for record in records if record["kind"] == "append") >= 2
    with pytest.raises(UsageError, match="not"):
        run("log", "app.nothing")
