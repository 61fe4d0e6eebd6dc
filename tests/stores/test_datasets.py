"""Datasets: named working sets are pulled, counted and let go of."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.config.dataset import Dataset
from tailpipe.errors import UsageError
from tests.stores.test_hosts import NAME, TODAY, Machine

NOW = datetime(2024, 3, 10, 12, tzinfo=UTC)
RULE = '  here {\n    where = "false"\n  }\n'
NEWEST, OLDEST = TODAY - timedelta(days=2), TODAY - timedelta(days=4)
BETWEEN = TODAY - timedelta(days=3)


def dataset(name: str, **options: str | list[str]) -> str:
    lines = [f"  {option.rstrip('_')} = {json.dumps(value)}\n" for option, value in options.items()]
    return f'dataset "{name}" {{\n{"".join(lines)}}}\n'


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A store with three days of one partition, each in two files: one for each of two hosts, by their index."""
    (tmp_path / "lake").mkdir()
    for name in ("web-1", "web-2"):
        machine = Machine(tmp_path, name)
        main = machine.install / "config" / "main.tpc"
        main.write_text(main.read_text().replace('"app" "x" {', '"app" "x" {\n  tp_index = "message"'))
        machine.write("a", 1, days=3)
        machine.open().collect([NAME])
    return tmp_path


def reader(lake: Path, *datasets: str, rule: str = RULE) -> Machine:
    """A machine with datasets alone, on which nothing stays that is not pinned."""
    machine = Machine(lake, "reader", is_reader=True)
    text = (machine.install / "config" / "main.tpc").read_text().removesuffix("}\n") + rule + "}\n"
    (machine.install / "config" / "main.tpc").write_text(text + "".join(datasets))
    return machine


def told(machine: Machine, *arguments: str) -> Any:
    return json.loads(machine.run(*arguments, "--output", "json").stdout)


def here(machine: Machine) -> list[tuple[object, ...]]:
    """The files on this disk, by date and index, as far as they are pinned."""
    with machine.open().home.catalog() as catalog:
        return catalog.database.connection.execute(
            "SELECT tp_date, tp_index FROM files WHERE state = 'live' AND here = 1 AND is_pinned = 1 ORDER BY 1, 2"
        ).fetchall()


def hive(machine: Machine) -> int:
    return len(list((machine.install / "data").rglob("tp_table=*/**/*.parquet")))


def test_a_pull_brings_the_days_and_indexes_of_a_dataset_and_pins_them(lake: Path) -> None:
    machine = reader(lake, dataset("few", tables=["ap*"], from_=str(BETWEEN), to=str(BETWEEN), indexes=["*-2"]))
    [done] = told(machine, "pull", "--dataset", "few")
    assert (done["partition"], done["files"], done["error"]) == (NAME, 1, "")
    assert here(machine) == [(str(BETWEEN), "web-2")]
    assert machine.ask("SELECT count(*) FROM app") == [(6,)]  # the others are read from the store
    [again] = told(machine, "pull", "--dataset", "dataset.few")
    assert (again["files"], again["requests"]) == (0, 1)


def test_a_dry_run_tells_what_a_pull_of_a_dataset_brings(lake: Path) -> None:
    machine = reader(lake, dataset("few", from_=str(NEWEST)))
    [planned] = told(machine, "pull", "--dataset", "few", "--dry-run")
    assert here(machine) == []
    [done] = told(machine, "pull", "--dataset", "few")
    assert done["files"] == 2
    assert [planned[name] for name in ("files", "bytes", "requests")] == [
        done[name] for name in ("files", "bytes", "requests")
    ]


def test_list_and_show_tell_what_is_here_and_what_is_in_the_store_alone(lake: Path) -> None:
    machine = reader(
        lake, dataset("all"), dataset("few", description="One day.", to=str(OLDEST)), dataset("z", tables=["z"])
    )
    assert [one["here"]["file_count"] + one["store"]["file_count"] for one in told(machine, "dataset", "list")] == [
        0
    ] * 3
    [done] = told(machine, "pull", "--dataset", "few")
    every, few, none = told(machine, "dataset", "list")
    assert [one["name"] for one in (every, few, none)] == ["all", "few", "z"]
    assert few["here"] == {"file_count": 2, "file_size": done["bytes"]}
    assert (few["store"], few["pinned_files"]) == ({"file_count": 0, "file_size": 0}, 2)
    assert (every["here"], every["store"]["file_count"]) == (few["here"], 4)
    assert none["partitions"] == []
    shown = told(machine, "dataset", "show", "few")
    assert [one["partition"] for one in shown["partitions"]] == [NAME]
    assert shown["partitions"][0]["here"] == few["here"]
    assert shown["options"]["to"] == str(OLDEST)
    assert "One day." in machine.run("dataset", "list").output


def test_what_was_dropped_leaves_by_the_rule_and_what_another_dataset_wants_stays(lake: Path) -> None:
    machine = reader(lake, dataset("all"), dataset("few", from_=str(NEWEST), indexes=["web-1"]))
    machine.run("pull", "--dataset", "all")
    machine.run("push")
    assert hive(machine) == 6
    assert told(machine, "dataset", "drop", "all") == [{"partition": NAME, "files": 5}]
    assert here(machine) == [(str(NEWEST), "web-1")]
    assert hive(machine) == 6  # until the rule is applied
    machine.run("push")
    assert hive(machine) == 1
    assert machine.ask("SELECT count(*) FROM app") == [(6,)]
    assert told(machine, "dataset", "drop", "few") == [{"partition": NAME, "files": 0}]  # «all» has it too


def test_without_a_rule_all_stays_that_was_dropped(lake: Path) -> None:
    machine = reader(lake, dataset("all"), rule="")
    machine.run("pull", "--dataset", "all")
    assert told(machine, "dataset", "drop", "all") == [{"partition": NAME, "files": 6}]
    machine.run("push")
    assert hive(machine) == 6
    assert "no pinned files" in machine.run("dataset", "drop", "all").output


def test_dropping_a_window_that_moves_lets_go_of_the_days_that_it_has_left_behind(lake: Path) -> None:
    machine = reader(lake, dataset("moving", from_="T-3d"), dataset("fixed", from_=str(BETWEEN)))
    machine.run("pull", "--data")  # as if `moving` had been pulled when it held them
    main = machine.install / "config" / "main.tpc"
    text = main.read_text()
    main.write_text(text.partition('dataset "moving"')[0] + dataset("fixed", from_=str(BETWEEN)))
    assert told(machine, "dataset", "drop", "fixed") == [{"partition": NAME, "files": 4}]
    assert [day for day, _ in here(machine)] == [str(OLDEST)] * 2
    main.write_text(text)
    assert told(machine, "dataset", "drop", "moving") == [{"partition": NAME, "files": 2}]
    assert here(machine) == []


def test_a_dataset_that_is_not_known_or_has_no_partition_is_refused(lake: Path) -> None:
    machine = reader(lake, dataset("last_week"), dataset("wrong", tables=["apps"]))
    for command in (("pull", "--dataset"), ("dataset", "show"), ("dataset", "drop")):
        with pytest.raises(UsageError, match="dataset not found: last_wek") as caught:
            machine.run(*command, "last_wek")
        assert caught.value.hint == 'did you mean "last_week"?'
    with pytest.raises(UsageError, match='no partition in the stores belongs to dataset "wrong"') as caught:
        machine.run("pull", "--dataset", "wrong")
    assert caught.value.hint == "the stores have: app.x"


@pytest.mark.parametrize("flags", [["app.x"], ["--from", "T-7d"], ["--to", "T-7d"], ["--index", "a"]])
def test_what_is_pulled_is_said_once(lake: Path, flags: list[str]) -> None:
    machine = reader(lake, dataset("all"))
    with pytest.raises(UsageError, match="--dataset cannot be used with SELECTOR, --from, --to or --index"):
        machine.run("pull", "--dataset", "all", *flags)


def test_a_drop_where_nothing_was_ever_pulled_changes_nothing(lake: Path) -> None:
    machine = reader(lake, dataset("all"))
    assert told(machine, "dataset", "drop", "all") == []


@pytest.mark.parametrize(
    ("tables", "partitions", "expected"),
    [
        (["*"], ["*"], ["app.x", "aws_log.prod", "aws_log.test"]),
        (["aws_*"], ["*"], ["aws_log.prod", "aws_log.test"]),
        (["*"], ["prod", "app.*"], ["app.x", "aws_log.prod"]),
        (["app"], ["aws_log.prod"], []),
    ],
)
def test_a_partition_belongs_to_a_dataset_by_its_table_and_its_name(
    tables: list[str], partitions: list[str], expected: list[str]
) -> None:
    made = Dataset(name="d", tables=tables, partitions=partitions)
    assert [name for name in ("app.x", "aws_log.prod", "aws_log.test") if made.has(name)] == expected


@pytest.mark.parametrize(
    ("start", "has_start"), [(None, False), ("2024-03-01", True), ("T-7d", False), ("yesterday", False)]
)
def test_a_window_that_moves_reaches_back_to_the_first_day(start: str | None, has_start: bool) -> None:
    assert Dataset(name="d", from_=start).reach(NOW).has_start is has_start
