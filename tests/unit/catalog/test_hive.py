"""The directories of the hive: as `partition_by` says, and changed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.catalog.layout import Layout, data_path
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import StorageError
from tailpipe.model.coverage import EVERY_DAY
from tailpipe.model.store import PARTITION_BY
from tests.crash.harness import read_ids
from tests.unit.catalog.conftest import PARTITION, Workspace

BY_DAY = ("tp_table", "tp_partition", "tp_year", "tp_month", "tp_day", "tp_index")
BY_ACCOUNT = ("tp_table", "tp_partition", "account/id", "tp_date")
FILES = [("a", date(2024, 1, 31), ["id-1"]), ("b/c", date(2024, 1, 30), ["id-2"]), (None, date(2024, 1, 31), ["id-3"])]


def laid_out(workspace: Workspace, by: Sequence[str]) -> Layout:
    return replace(Layout.of(workspace.home), hive={PARTITION: by})


def written(layout: Layout, failpoint: str = "") -> None:
    """What every writing command does first."""
    points = Failpoints.from_environment({"TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": failpoint})
    with Catalog.open(layout, failpoints=points) as catalog, catalog.writer(PARTITION):
        pass


def places(workspace: Workspace) -> list[str]:
    return [path.parent.relative_to(workspace.home).as_posix() for path in workspace.hive()]


@pytest.fixture
def collected(workspace: Workspace) -> Workspace:
    workspace.collect(FILES)
    return workspace


@pytest.mark.parametrize("by", [PARTITION_BY, BY_DAY, BY_ACCOUNT, (*PARTITION_BY[:2], "tp_date", "tp_index")])
def test_a_file_of_the_hive_leads_back_to_its_stored_file(tmp_path: Path, by: Sequence[str]) -> None:
    layout = replace(Layout.of(tmp_path), hive={"web_log.prod": by})
    for index in ("a", None, "x/y=z", "~" * 500):
        path = data_path("web_log.prod", index, date(2024, 1, 31), "00000012-0a1b2c3d0a1b2c3d-0003")
        public = layout.public(path)
        assert layout.mirrored(public) == layout.stored(path)
        assert public.parent == layout.public_directory(path.rpartition("/")[0])
        assert public.suffix == ".parquet"
        assert Layout.of(tmp_path).mirrored(public) == layout.stored(path)  # whatever the config says now


def test_a_changed_hive_is_projected_again_by_the_next_writer(collected: Workspace) -> None:
    written(laid_out(collected, BY_DAY))
    top = "/".join(f"{name}={value}" for name, value in zip(PARTITION_BY, PARTITION.split("."), strict=False))
    assert places(collected) == [
        f"{top}/tp_year=2024/tp_month=01/tp_day=30/tp_index=b%2Fc",
        f"{top}/tp_year=2024/tp_month=01/tp_day=31/tp_index=__HIVE_DEFAULT_PARTITION__",
        f"{top}/tp_year=2024/tp_month=01/tp_day=31/tp_index=a",
    ]
    assert collected.hive_ids() == {"id-1": 1, "id-2": 1, "id-3": 1}
    assert not [path for path in collected.home.rglob("tp_date=*") if ".tailpipe" not in path.parts]
    assert doctor.examine(laid_out(collected, BY_DAY)) == []


def test_the_way_back_leaves_nothing_behind(collected: Workspace) -> None:
    before = places(collected)
    written(laid_out(collected, BY_ACCOUNT))
    assert places(collected) != before
    assert "account%2Fid=a" in places(collected)[0] + places(collected)[1] + places(collected)[2]
    written(Layout.of(collected.home))
    assert places(collected) == before
    assert doctor.examine(collected.home) == []


def test_a_day_that_is_deleted_leaves_no_directory(collected: Workspace) -> None:
    layout = laid_out(collected, BY_DAY)
    written(layout)
    with Catalog.open(layout) as catalog:
        catalog.delete(PARTITION, EVERY_DAY)
    assert collected.hive() == []
    assert not list(collected.home.glob("tp_table=*/tp_partition=*/*"))


def test_a_file_of_others_stays_where_it_is(collected: Workspace) -> None:
    theirs = collected.hive()[0].parent / "mine.parquet"
    theirs.write_bytes(b"mine")
    written(laid_out(collected, BY_DAY))
    assert theirs.read_bytes() == b"mine"


def test_the_last_copy_of_a_file_moves_with_the_hive(collected: Workspace) -> None:
    collected.stored()[0].unlink()
    layout = laid_out(collected, BY_DAY)
    written(layout)
    assert collected.hive_ids() == {"id-1": 1, "id-2": 1, "id-3": 1}
    assert doctor.repair(layout).healed == 1
    assert doctor.examine(layout) == []


@pytest.mark.parametrize("point", ["project.unlink", "project.link", "project.synced"])
def test_an_interrupted_change_is_done_again(collected: Workspace, point: str) -> None:
    layout = laid_out(collected, BY_DAY)
    with pytest.raises(StorageError):
        written(layout, f"{point}=eio")
    written(layout)
    assert read_ids([str(path) for path in collected.hive()]) == {"id-1": 1, "id-2": 1, "id-3": 1}
    assert doctor.examine(layout) == []


def test_a_rebuilt_catalog_has_the_hive_that_the_config_says(collected: Workspace) -> None:
    layout = laid_out(collected, BY_DAY)
    written(layout)
    layout.database.unlink()
    rebuild(layout)
    written(layout)
    assert doctor.examine(layout) == []
