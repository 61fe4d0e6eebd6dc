"""Publishing after pushes: the Delta table of a store always has the files that its logs name."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from urllib.parse import unquote

import deltalake
import pytest
from click.testing import CliRunner, Result

from tailpipe.cli.app import app
from tailpipe.errors import UsageError
from tailpipe.model.coverage import DaySet
from tailpipe.model.staged import Covered
from tailpipe.model.store import Store
from tailpipe.operations.compact import Compact, compact
from tailpipe.operations.delete import delete
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.keys import table_root
from tailpipe.stores.pushed import PushReport
from tailpipe.stores.pushing import Pushing, StoreUse
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.stores.conftest import Shared
from tests.stores.installed import NAME, write
from tests.unit.catalog.conftest import DAY, PARTITION
from tests.unit.collect.support import CONFIG

TABLE = PARTITION.partition(".")[0]
OTHER = f"{TABLE}.other"
SECOND = "second.one"


def store(lake: Shared) -> Store:
    return Store(name="lake", location=lake.objects.location, publish="delta")


def pushed(host: Shared, *names: str) -> dict[str, PushReport]:
    """Push as operations do."""
    use = StoreUse(store(host), tuple(host.partition_by), lambda files: [one.path for one in files])
    pushing = Pushing(lambda _: use, host.host, lambda _: host.objects)
    with host.open() as catalog:
        return dict(pushing.finish(catalog, names or (PARTITION,)))


def delta_keys(host: Shared, table: str = TABLE) -> set[str]:
    place = f"{host.objects.location}/{table_root(table)}"
    if not (Path(place) / "_delta_log").is_dir():
        return set()
    paths = deltalake.DeltaTable(place).get_add_actions(flatten=True).column("path").to_pylist()
    return {f"{table_root(table)}/{unquote(path)}" for path in paths}


def live_keys(host: Shared, table: str = TABLE) -> set[str]:
    rows = host.ask(
        "SELECT key FROM files f JOIN partitions p ON p.id = f.partition_id"
        f" WHERE state = 'live' AND role = 'data' AND p.name LIKE '{table}.%'"
    )
    return {str(key) for (key,) in rows}


def test_after_every_push_the_delta_table_has_the_live_files(lake: Shared) -> None:
    steps: list[Callable[[], None]] = [
        lambda: lake.collect(["a1", "a2"], rejected=1),
        lambda: lake.collect(["b1"], index="b"),
        lambda: lake.replace(["c1", "c2", "c3"]),
        lambda: lake.collect(["d1"], day=date(2024, 5, 5)),
        lambda: _collect_and_replace(lake),
        lambda: _delete(lake, DAY),
    ]
    for step in steps:
        step()
        (report,) = pushed(lake).values()
        assert (report.error, report.publish_error, report.unpushed_commits) == ("", "", 0)
        assert delta_keys(lake) == live_keys(lake)
    assert live_keys(lake)


def _collect_and_replace(lake: Shared) -> None:
    lake.collect(["e1"], day=date(2024, 5, 6))
    lake.replace(["e2"], day=date(2024, 5, 6))


def _delete(lake: Shared, day: date) -> None:
    with lake.open() as catalog:
        catalog.delete(PARTITION, DaySet.of([day]))


def test_partitions_of_a_table_share_a_delta_table_and_other_tables_have_their_own(lake: Shared) -> None:
    for name in (PARTITION, OTHER, SECOND):
        lake.partition = name
        lake.collect([f"{name}-1"])
        pushed(lake, name)
    lake.partition = OTHER
    lake.replace(["again"])
    pushed(lake, OTHER)
    assert delta_keys(lake) == live_keys(lake)
    assert len(delta_keys(lake)) == 2
    assert delta_keys(lake, "second") == live_keys(lake, "second")
    assert len(delta_keys(lake, "second")) == 1


def test_a_failing_publication_fails_no_push_and_the_next_push_of_any_host_does_it(
    lake: Shared, tmp_path: Path
) -> None:
    lake.collect(["a"])
    log = tmp_path / "lake" / table_root(TABLE) / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text('{"commitInfo": {"engineInfo": "another"}}\n')
    (report,) = pushed(lake).values()
    assert (report.error, report.unpushed_commits, report.version) == ("", 0, 1)
    assert "made by another program" in report.publish_error
    assert f"tailpipe store publish STORE {TABLE}" in report.publish_error
    (log / f"{0:020}.json").unlink()
    lake.collect(["b"], index="b")
    lake.push()  # which publishes nothing, as if it had been killed
    other = Shared(tmp_path / "other", lake.objects, host="web-2")
    other.push()
    (report,) = pushed(other).values()
    assert report.publish_error == ""
    assert delta_keys(lake) == live_keys(lake) == live_keys(other)


def test_a_version_without_files_is_no_gap(lake: Shared) -> None:
    lake.collect(["a"])
    pushed(lake)
    with lake.writer() as writer:
        writer.note((), [Covered("file", DaySet.of([date(2024, 5, 7)]), DAY)])
    lake.push()
    assert len(lake.keys("log")) == 2
    lake.collect(["b"], index="b")
    pushed(lake)
    assert delta_keys(lake) == live_keys(lake)
    assert len(delta_keys(lake)) == 2


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An install directory whose partitions are in a published store."""
    (tmp_path / "lake").mkdir()
    (tmp_path / "config").mkdir()
    text = f"""
store "lake" {{
  location = "{tmp_path}/lake"
  publish  = "delta"
}}
workspace "default" {{
  store = store.lake
  host  = "web-1"
}}
"""
    described = CONFIG.replace("LOGS", str(tmp_path / "logs")).replace(
        'column "message"', 'column "at" { type = "time" }\n  column "message"'
    )
    (tmp_path / "config" / "main.tpc").write_text(text + described)
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path))
    return tmp_path


def opened(install: Path) -> Workspace:
    return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(install)}, engine=InProcessEngine())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False, standalone_mode=False)


def delta_rows(install: Path) -> int:
    table = deltalake.DeltaTable(str(install / "lake" / table_root("app")))
    return sum(table.get_add_actions(flatten=True).column("num_records").to_pylist())


def test_collecting_compacting_and_deleting_are_published_and_columns_left_out_are_reported_once(
    install: Path,
) -> None:
    told: list[str] = []
    for name in ("a", "b", "c", "d"):
        write(install, name, days=2)
        (one,) = opened(install).collect([NAME]).partitions
        assert one.push is not None
        assert one.push.publish_error == ""
        told += one.push.omitted_columns
        rows = opened(install).query("SELECT count(*) AS rows FROM app").to_pylist()[0]["rows"]
        assert delta_rows(install) == rows
    assert told == ["at: Delta has no type for TIME"]
    compact(opened(install).home, Compact([NAME]))
    assert delta_rows(install) == 8
    delete(opened(install).home, NAME)
    assert delta_rows(install) == 0


def test_store_publish_makes_the_delta_log_anew_and_names_what_is_left_out(install: Path) -> None:
    write(install, "a", days=3)
    opened(install).collect([NAME])
    log = install / "lake" / table_root("app") / "_delta_log"
    (log / f"{1:020}.json").write_text('{"commitInfo": {"engineInfo": "another"}}\n')
    result = run("store", "publish", "lake", "app", "--output", "json")
    (record,) = json.loads(result.stdout)
    assert {name: record[name] for name in ("store", "table", "partitions", "files", "rows")} == {
        "store": "lake",
        "table": "app",
        "partitions": 1,
        "files": 3,
        "rows": 3,
    }
    assert record["omitted_columns"] == ["at: Delta has no type for TIME"]
    assert "app: column not published: at:" in result.stderr
    assert [path.name for path in sorted(log.iterdir())] == [f"{0:020}.json"]
    assert delta_rows(install) == 3


def test_store_publish_also_publishes_partitions_that_only_other_hosts_know(install: Path, tmp_path: Path) -> None:
    other = Shared(tmp_path / "other", open_objects(str(install / "lake")), host="web-2", partition="app.y")
    other.collect(["y1", "y2"])
    other.push()
    other.replace(["y3"])
    other.push()
    write(install, "a")
    opened(install).collect([NAME])
    assert delta_rows(install) == 1
    assert run("store", "publish").exit_code == 0
    assert delta_rows(install) == 2


def test_an_unknown_table_and_a_store_that_is_not_published_are_refused(install: Path) -> None:
    with pytest.raises(UsageError, match="table not found in the store: nothing"):
        run("store", "publish", "lake", "nothing")
    config = install / "config" / "main.tpc"
    config.write_text(config.read_text().replace('"delta"', '"none"'))
    with pytest.raises(UsageError, match='store "lake" is not published'):
        run("store", "publish", "lake")
