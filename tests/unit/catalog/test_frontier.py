"""The frontier of catalogs and manifests that were written before there was one.

`old/` holds what that version wrote: app.x was collected by plain runs up to the 19th of June and then had two windows
with --to; app.y had nothing but such a window; app.z had --from without --to on the 22nd.
"""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import date
from pathlib import Path

import pytest

from tailpipe.catalog import manifest
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.frontier import derived
from tailpipe.catalog.rebuild import rebuild
from tailpipe.model.coverage import Coverage, DaySet
from tailpipe.model.window import Window
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace

OLD = Path(__file__).parent / "old"
FRONTIERS = {"app.x": date(2024, 6, 19), "app.y": None, "app.z": date(2024, 6, 22)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The old catalog, with its directories."""
    with Catalog.open(tmp_path / "ws"):
        pass
    path = tmp_path / "ws" / ".tailpipe" / "catalog.db"
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / "catalog-2.sql").read_text())
        connection.execute("PRAGMA application_id = 0x74706361")
        connection.execute("PRAGMA user_version = 2")
        connection.execute("PRAGMA journal_mode = WAL")
        for (name,) in connection.execute("SELECT path FROM files").fetchall():
            (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
            (path.parent / name).touch()
    return tmp_path / "ws"


def frontiers(catalog: Catalog) -> dict[str, date | None]:
    return {name: catalog.coverage(name)["file"].frontier for name in FRONTIERS}


def test_the_frontier_of_an_old_catalog_is_where_its_runs_without_an_end_had_come(home: Path) -> None:
    with Catalog.open(home, is_read_only=True) as catalog:
        assert frontiers(catalog) == FRONTIERS
        assert {one.totals.name: one.coverage["file"].frontier for one in catalog.overview()} == FRONTIERS
    with Catalog.open(home) as catalog:
        assert frontiers(catalog) == FRONTIERS
        known = catalog.coverage("app.x")["file"]
    assert str(known.covered) == "2024-03-05, 2024-05-19..2024-06-19, 2024-06-22"
    assert str(known.not_requested(date(2024, 3, 5), date(2024, 6, 22))) == "2024-03-06..2024-05-18"


def test_a_run_of_one_source_leaves_the_frontier_of_the_others_where_it_was(home: Path) -> None:
    with Catalog.open(home) as catalog, catalog.writer("app.x") as writer:
        catalog.database.connection.execute(
            "INSERT INTO coverage SELECT partition_id, 'other', state, days FROM coverage WHERE partition_id = 1"
        )
        writer.begin_run(
            Window.of_day(date(2024, 6, 25)), {}, "tailpipe collect app.x other", {"other": date(2024, 6, 25)}
        )
        writer.end_run("done")
        found = {name: known.frontier for name, known in catalog.coverage("app.x").items()}
    assert found == {"file": date(2024, 6, 19), "other": date(2024, 6, 25)}


def test_manifests_without_a_frontier_have_that_of_their_newest_day() -> None:
    told = [manifest.from_text(line) for line in (OLD / "manifests-1.jsonl").read_text().splitlines()]
    newest = {one.partition: Coverage().after(dict(one.coverage)["file"]).frontier for one in told}
    assert newest == {"app.x": date(2024, 6, 22), "app.y": date(2024, 3, 5), "app.z": date(2024, 6, 22)}


def test_a_rebuilt_catalog_of_an_old_version_has_no_runs_and_takes_the_newest_day(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / ".tailpipe" / "catalog.db")) as connection:
        known = Coverage(DaySet.of([DAY]))
        assert derived(connection, 99, known) == DAY
        assert derived(connection, 2, known) is None


@pytest.mark.parametrize("frontier", [None, date(2024, 2, 1)])
def test_a_rebuild_brings_the_frontier_back(workspace: Workspace, frontier: date | None) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        moved = {"file": frontier} if frontier else {}
        writer.begin_run(Window.of_day(DAY), {"file": DaySet.of([DAY])}, frontiers=moved)
    workspace.collect([("a", DAY, ["1"])])
    with workspace.open() as catalog:
        before = catalog.coverage(PARTITION)
    assert before["file"].frontier == frontier
    rebuild(workspace.home)
    with workspace.open() as catalog:
        assert catalog.coverage(PARTITION) == before
