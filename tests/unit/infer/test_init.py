"""What `init` writes is collected without edits: the same rows, types and times as the logs have."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.config.environment import Environment
from tailpipe.errors import UsageError
from tailpipe.home.home import Home
from tailpipe.infer.choices import Choices
from tailpipe.infer.inference import Found, Inference, Known, infer
from tailpipe.infer.places import open_target
from tailpipe.operations.trial import check_config_sql
from tailpipe.plugin import Registry
from tailpipe.plugins.core import plugin as core
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.unit.infer.logs import LOGS, write_logs

NOW = datetime(2024, 2, 10, tzinfo=UTC)
REGISTRY = Registry([core])


def looked_at(path: Path, name: str | None = None) -> Inference:
    target = open_target(str(path), REGISTRY.sources, None)
    return infer(target, Known(REGISTRY.tables, REGISTRY.presets), NOW, name)


def opened(install: Path, found: Inference) -> Workspace:
    (install / "config").mkdir(parents=True)
    text = "\n".join(one.text(REGISTRY.presets) for one in found.found)
    (install / "config" / "logs.tpc").write_text(text)
    environment = Environment.resolve({"TAILPIPE_INSTALL_DIR": str(install)})
    return Workspace(Home(environment, REGISTRY, engine=InProcessEngine()))


def words(found: Found, confidence: str) -> str:
    return "\n".join(point.text for point in found.points if point.confidence == confidence)


@pytest.mark.slow
def test_every_kind_of_log_in_a_directory_is_collected_without_edits(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs")
    found = looked_at(tmp_path / "logs")
    by_file = {one.groups[0].artifacts[0].path: one for one in found.found}
    assert found.skipped == ()
    workspace = opened(tmp_path / "install", found)
    check_config_sql(workspace.home)
    report = workspace.collect(start="2024-01-01", end="2024-02-10")
    kept = {one.partition: one.accounts for one in report.partitions}
    with workspace.session() as session:
        for log in LOGS:
            one = by_file[log.name]
            assert one.kind.table.format is not None
            assert one.kind.table.format.type == log.format, log.name
            accounts = kept[one.partition.address]
            assert (accounts.kept, accounts.rejected) == (log.rows, 0), log.name
            table = one.partition.table
            types = {row[0]: row[1] for row in session.run(f"DESCRIBE {table}").rows}
            assert log.types.items() <= types.items(), (log.name, types)
            ((first,),) = session.run(f"SELECT min(tp_timestamp)::VARCHAR FROM {table}").rows
            assert first == log.first, log.name


def test_dates_in_paths_become_the_layout_and_the_first_day_to_collect(tmp_path: Path) -> None:
    for day in ("30", "31"):
        for name in ("a", "b"):
            path = tmp_path / "logs" / "2023" / "12" / day / f"{name}-7.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('{"time": "2023-12-31T10:00:00Z"}\n')
    (found,) = looked_at(tmp_path / "logs").found
    (source,) = found.partition.sources
    assert (
        getattr(source, "file_layout", None)
        == r"%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/[^/]*\.jsonl(\.(gz|bz2|xz|zst))?"
    )
    assert str(found.start) == "2023-12-30"


def test_a_file_takes_its_rotated_versions_along_and_nothing_else(tmp_path: Path) -> None:
    for name in ("app.log", "app.log.1", "app.log-20240131", "app.log.bak", "other.log"):
        (tmp_path / name).write_text("2024-01-31 10:00:00 INFO hello\n")
    (found,) = looked_at(tmp_path / "app.log").found
    (source,) = found.partition.sources
    assert getattr(source, "paths", None) == (f"{tmp_path}/app.log*",)
    assert getattr(source, "file_layout", None) == r"app\.log([.-][0-9-]+)?(\.(gz|bz2|xz|zst))?"
    assert len(found.artifacts) == 3


GUESSES = {
    "days.csv": ("day,n\n03/04/2024,1\n04/05/2024,2\n", 'for the day: --time "%-d/%-m/%Y"'),
    "zones.csv": ("time,what,n\n2024-01-31 10:00:00,a,1\n2024-01-31 10:00:01,b,2\n", "no zone"),
    "cron.log": ("Jan 31 10:00:00 web1 cron[7]: started\n" * 5, "no year"),
    "two.jsonl": ('{"time": "2024-01-31T10:00:00Z", "created": "2024-01-30T10:00:00Z"}\n', "created also holds times"),
    "ids.jsonl": ('{"time": "2024-01-31T10:00:00Z", "account_id": 7, "x": 1, "y": 2}\n', "account_id is a number"),
    "long.jsonl": (
        '{"at": "2024-01-31T10:00:00Z", "serial": 1234567890123456}\n',
        "serial is text, because it has more than 15",
    ),
    "plain.txt": ("a line\nanother one\n", "no field holds a time"),
    "one.jsonl": ('{"ts": "2024-01-31T10:00:00Z"}\n', "based on only 1 row"),
}


def test_what_a_log_leaves_open_is_called_a_guess(tmp_path: Path) -> None:
    for name, (text, _) in GUESSES.items():
        (tmp_path / name).write_text(text)
    by_file = {one.groups[0].artifacts[0].path: one for one in looked_at(tmp_path).found}
    assert set(by_file) == set(GUESSES)
    for name, (_, guess) in GUESSES.items():
        assert guess in words(by_file[name], "guessed"), name


def test_how_many_rows_were_read_is_counted(tmp_path: Path) -> None:
    lines = ['{"time": "2024-01-31T10:00:00Z"}'] * 98 + ["no json", "{"]
    (tmp_path / "x.log").write_text("\n".join(lines) + "\n")
    (found,) = looked_at(tmp_path / "x.log").found
    assert "98 of 100 rows parsed" in words(found, "sure")


def test_some_rows_of_a_long_file_are_said_to_be_a_sample(tmp_path: Path) -> None:
    line = "2024-01-31 10:00:00 INFO " + "x" * 999 + "\n"
    (tmp_path / "x.log").write_text(line * 2000)
    (found,) = looked_at(tmp_path / "x.log").found
    assert "format regex: 1,023 of 1,023 sampled rows parsed" in words(found, "sure")


def test_another_table_that_reads_the_log_is_named_with_the_next_step(tmp_path: Path) -> None:
    line = '203.0.113.9 - anna [31/Jan/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "https://a.example/" "curl/8.0"\n'
    log = tmp_path / "nginx" / "access.log"
    log.parent.mkdir()
    log.write_text(line * 64)
    shipped = Registry.installed()
    names = ("apache_access_log", "nginx_access_log")
    known = Known({name: shipped.tables[name] for name in names}, shipped.presets)
    (found,) = infer(open_target(str(log), REGISTRY.sources, None), known, NOW, None).found
    (other,) = set(names) - {found.kind.table.name}
    step = f"{other} would read it too; to use it instead, rename the partition's table to {other}"
    assert step in words(found, "guessed")


@pytest.mark.parametrize(
    "odd", ["2024-01-31 10:00:31,125 oops", "2024-01-31 10:00:31,125 WARN [main] root: no dot in it"]
)
def test_one_line_among_many_does_not_cost_the_fields_of_the_others(tmp_path: Path, odd: str) -> None:
    usual = [f"2024-01-31 10:00:{n:02},125 ERROR [main] com.example.Shop: it broke" for n in range(30)]
    (tmp_path / "app.log").write_text("\n".join([*usual, odd]) + "\n")
    (found,) = looked_at(tmp_path / "app.log").found
    layout = getattr(found.kind.table.format, "layout", "")
    assert re.findall(r"\?P<(\w+)>", layout) == ["time", "level", "thread", "logger", "message"]
    (first, last) = (re.match(layout, line) for line in (usual[0], odd))
    assert first
    assert last
    assert first.group("level", "thread", "logger", "message") == ("ERROR", "main", "com.example.Shop", "it broke")
    assert last["message"] == odd.rpartition("root: ")[2].rpartition("125 ")[2]
    assert "format regex: 31 of 31 rows parsed" in words(found, "sure")


def test_values_never_get_into_the_config(tmp_path: Path) -> None:
    secret = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    rows = [f"2024-01-31 10:00:0{number};{secret};hunter{number}" for number in range(6)]
    (tmp_path / "keys.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "keys.jsonl").write_text(f'{{"time": "2024-01-31T10:00:00Z", "{secret}": "hunter2"}}\n' * 6)
    (tmp_path / "keys.txt").write_text(f"2024-01-31 10:00:00 password {secret} hunter2\n" * 6)
    for found in looked_at(tmp_path).found:
        text = found.text(REGISTRY.presets) + "".join(point.text for point in found.points)
        assert secret not in text
        assert "hunter" not in text


def test_messages_in_braces_need_not_be_json(tmp_path: Path) -> None:
    (tmp_path / "state.csv").write_text("n,what\n" + "1,{a -> 1}\n" * 5)
    (found,) = looked_at(tmp_path / "state.csv").found
    assert "no field holds a time" in words(found, "guessed")


def test_the_years_of_times_without_one_are_stated_with_their_basis(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "2023-02-03.log"
    log.parent.mkdir()
    log.write_text("Dec 31 23:00:00 web1 cron[7]: started\nJan 31 10:00:00 web1 cron[7]: started\n")
    (found,) = looked_at(log.parent).found
    said = words(found, "guessed")
    assert "assumed 2022 for 1 row, 2023 for 1 row, from the date in the path and the order of rows" in said
    log = log.rename(tmp_path / "cron.log")
    os.utime(log, (1_500_000_000, 1_500_000_000))  # in July 2017
    (found,) = looked_at(log).found
    said = words(found, "guessed")
    assert "assumed 2016 for 1 row, 2017 for 1 row, from the modification time of the file" in said
    assert "to set the year: a file_layout with a date, or the modification time of the files" in said


def test_a_word_after_the_time_that_looks_like_a_region_is_no_zone(tmp_path: Path) -> None:
    for name, word in (("app.log", "Mail/Queue"), ("php.log", "Europe/Berlin")):
        (tmp_path / name).write_text("".join(f"2024-01-31 10:00:{n:02} {word} flushed\n" for n in range(10, 30)))
    (queue,) = looked_at(tmp_path / "app.log").found
    assert (getattr(queue.kind.table.format, "timezone", ""), queue.kind.rows[0]["message"]) == (
        None,
        "Mail/Queue flushed",
    )
    (php,) = looked_at(tmp_path / "php.log").found
    assert (getattr(php.kind.table.format, "timezone", ""), php.kind.rows[0]["message"]) == ("Europe/Berlin", "flushed")


@pytest.mark.parametrize("key", ['a" || (SELECT 1) || "b', 'a"', "a'b", "a b", "time", '"'])
@pytest.mark.parametrize("row", [{"KEY": "10:00:01"}, {"day": "2024-01-31", "KEY": "10:00:01"}], ids=["path", "field"])
def test_a_key_of_a_log_never_becomes_sql(tmp_path: Path, key: str, row: dict[str, str]) -> None:
    line = json.dumps({name.replace("KEY", key): value for name, value in row.items()})
    (tmp_path / "app-2024-01-31.jsonl").write_text(f"{line}\n" * 6)
    (found,) = looked_at(tmp_path / "app-2024-01-31.jsonl").found
    assert [str(one["tp_timestamp"]) for one in found.kind.rows] == ["2024-01-31 10:00:01"] * 3


@pytest.mark.parametrize("pattern", ["(", "(?=x)", r"(a)\1"])
def test_a_pattern_of_events_is_checked_as_in_the_config(pattern: str) -> None:
    with pytest.raises(UsageError):
        Choices(multiline=pattern).check()
