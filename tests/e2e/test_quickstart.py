"""The quickstart as a person follows it: logs made, collected with Spark, queried, and collected again."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from .conftest import Done
from .starter import Starter

QUICKSTART = Path(__file__).parents[2] / "examples/quickstart"
DAYS = 3
PARTITIONS = ["access_log.web", "app_log.shop", "flow_log.office"]

TODAY = datetime.now(UTC).date()

Call = Callable[..., Done]

pytestmark = pytest.mark.xdist_group("quickstart")  # one collection for all of them


def make_logs(target: Path, *arguments: str) -> None:
    program = [sys.executable, str(QUICKSTART / "make_logs.py"), str(target), *arguments]
    subprocess.run(program, check=True, capture_output=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quickstart")


@pytest.fixture(scope="module")
def tailpipe(home: Path, starting: Starter) -> Call:
    """Run `tailpipe` on the quickstart's config."""
    env = {
        **os.environ,
        "NO_COLOR": "1",
        "TAILPIPE_INSTALL_DIR": str(home / "install"),
        "TAILPIPE_CONFIG_PATH": str(QUICKSTART / "config"),
        "TAILPIPE_DEMO_LOGS": str(home / "logs"),
    }

    def call(*arguments: str) -> Done:
        done = Done(*starting.run("tailpipe", list(arguments), env=env, cwd=home, scratch=home / "output"))
        assert "Traceback" not in done.err, done.err
        return done

    return call


@pytest.fixture(scope="module")
def collected(home: Path, tailpipe: Call) -> dict[str, dict[str, object]]:
    """The report of the first collection, by partition; everything else looks at what it has left."""
    make_logs(home / "logs", "--days", str(DAYS), "--now", f"{TODAY}T12:00")
    done = tailpipe("collect", "--output", "json")
    assert done.code == 0, done.err
    return {report["partition"]: report for report in json.loads(done.out)}


def lines_of(home: Path, pattern: str) -> list[str]:
    lines: list[str] = []
    for path in sorted((home / "logs").glob(pattern)):
        data = path.read_bytes()
        lines += (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()
    return lines


def ask(tailpipe: Call, sql: str) -> list[dict[str, object]]:
    done = tailpipe("query", sql, "--output", "json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert isinstance(answer, list)
    return answer


def test_the_report_accounts_for_every_line(home: Path, collected: dict[str, dict[str, object]]) -> None:
    wanted = {
        "access_log.web": len(lines_of(home, "access/*")),
        "app_log.shop": len(lines_of(home, "app/*")),
        "flow_log.office": sum(not line.startswith("version ") for line in lines_of(home, "flow/**/*.gz")),
    }
    assert sorted(collected) == PARTITIONS
    for partition, report in collected.items():
        accounts = report["row_counts"]
        assert isinstance(accounts, dict)
        assert accounts["read"] == wanted[partition]
        others = ("kept", "filtered", "rejected", "out_of_window", "duplicate")
        assert sum(accounts[name] for name in others) == accounts["read"]
        assert report["is_done"] is True
        units = [one["unit"] for one in report["committed"]]  # type: ignore[attr-defined]
        assert len(units) == DAYS
        assert units == sorted(units, reverse=True)


def test_the_queries_of_the_demo_are_answered(
    home: Path, collected: dict[str, dict[str, object]], tailpipe: Call
) -> None:
    levels = ask(tailpipe, "SELECT level, count(*) AS n FROM app_log GROUP BY level")
    told = [json.loads(line)["level"] for line in lines_of(home, "app/*")]
    assert {row["level"]: row["n"] for row in levels} == {level: told.count(level) for level in set(told)}

    failed = ask(tailpipe, "SELECT tp_source_ip, count(*) AS n FROM access_log WHERE status = 401 GROUP BY ALL")
    assert [row["tp_source_ip"] for row in failed] == ["198.51.100.66"]

    refused = ask(
        tailpipe,
        "SELECT count(*) AS n FROM flow_log WHERE action = 'REJECT'"
        " AND tp_source_ip IN (SELECT tp_source_ip FROM access_log WHERE status = 401)",
    )
    assert refused[0]["n"] == sum(" REJECT " in line for line in lines_of(home, "flow/**/*.gz"))
    assert collected


@pytest.mark.parametrize("table", ["access_log", "app_log", "flow_log"])
def test_every_row_is_there_once(table: str, collected: dict[str, dict[str, object]], tailpipe: Call) -> None:
    (row,) = ask(tailpipe, f"SELECT count(*) AS rows, count(DISTINCT tp_id) AS ids FROM {table}")
    kept = [r["row_counts"]["kept"] for name, r in collected.items() if name.startswith(f"{table}.")]  # type: ignore[index]
    assert [row["rows"]] == kept
    assert row["ids"] == row["rows"]


def test_a_row_has_its_own_date_whatever_its_file_says(collected: dict[str, dict[str, object]], tailpipe: Call) -> None:
    assert collected
    dates = [row["tp_date"] for row in ask(tailpipe, "SELECT DISTINCT tp_date FROM app_log ORDER BY 1")]
    assert dates == [str(TODAY - timedelta(days=n)) for n in range(DAYS, -1, -1)]


def test_what_was_filtered_and_what_was_rejected_is_not_there(
    home: Path, collected: dict[str, dict[str, object]], tailpipe: Call
) -> None:
    assert ask(tailpipe, "SELECT count(*) AS n FROM access_log WHERE path = '/health'") == [{"n": 0}]
    done = tailpipe("rejected", "show", "access_log.web", "--limit", "100", "--output", "json")
    rows = json.loads(done.out)
    assert len(rows) == collected["access_log.web"]["row_counts"]["rejected"] > 0  # type: ignore[index]
    for row in rows:
        assert Path(row["file"]).read_text().splitlines()[row["line"] - 1] == row["text"]
        assert row["reason"] == "does not match the layout"
    pretty = tailpipe("rejected", "show", "access_log.web", "--limit", "1")
    assert str(home / "logs" / "access") in pretty.out
    assert "1 of" in pretty.err
    assert "no rejected rows" in tailpipe("rejected", "show", "app_log.shop").err


def test_the_partition_tells_what_is_covered(collected: dict[str, dict[str, object]], tailpipe: Call) -> None:
    shown = json.loads(tailpipe("partition", "show", "access_log.web", "--output", "json").out)
    assert shown["rejected_rows"] == collected["access_log.web"]["row_counts"]["rejected"]  # type: ignore[index]
    assert shown["gaps"] == ""
    (coverage,) = shown["coverage"]
    assert coverage["source"] == "file"
    assert collected["access_log.web"]["committed"][-1]["unit"] >= coverage["covered"][:10]  # type: ignore[index]
    assert coverage["missing"] == coverage["dropped"] == ""


def test_answers_are_for_people_and_for_programs(collected: dict[str, dict[str, object]], tailpipe: Call) -> None:
    assert collected
    sql = "SELECT status, count(*) AS n FROM access_log GROUP BY status ORDER BY status"
    pretty = tailpipe("query", sql)
    assert pretty.out.splitlines()[0].split() == ["status", "n"]
    assert "rows, " in pretty.err
    rows = list(csv.DictReader(io.StringIO(tailpipe("query", sql, "--output", "csv").out)))
    lines = tailpipe("query", sql, "--output", "jsonl").out.splitlines()
    assert [{key: int(value) for key, value in row.items()} for row in rows] == [json.loads(line) for line in lines]
    wrong = tailpipe("query", "SELECT stauts FROM access_log")
    assert (wrong.code, wrong.out) == (1, "")
    assert 'did you mean "status"?' in wrong.err
    assert tailpipe("query", "DROP VIEW access_log").code == 2


def test_collecting_again_adds_nothing(collected: dict[str, dict[str, object]], tailpipe: Call) -> None:
    assert collected
    done = tailpipe("collect")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        f"{name}: no new data" for name in ("app_log.shop", "flow_log.office", PARTITIONS[0])
    ]


def test_the_logs_are_the_same_for_the_same_seed_and_time(tmp_path: Path) -> None:
    def contents(name: str, *more: str) -> dict[str, bytes]:
        make_logs(tmp_path / name, "--days", "9", *more)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        return {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files}

    first = contents("a", "--now", "2024-01-31T10:00")
    assert first == contents("b", "--now", "2024-01-31T10:00")
    assert first != contents("c", "--now", "2024-01-31T10:00", "--seed", "2")
    later = contents("d", "--now", "2024-01-31T18:00")
    assert later["app/2024-01-31.jsonl"].startswith(first["app/2024-01-31.jsonl"])
    assert len(later["app/2024-01-31.jsonl"]) > len(first["app/2024-01-31.jsonl"])
    assert {name for name in first if name.startswith("access/")} >= {
        "access/access-20240131.log",
        "access/access-20240123.log.gz",
    }


@pytest.mark.slow
def test_a_query_runs_on_spark_as_on_duckdb(tailpipe: Call, collected: object) -> None:
    sql = "SELECT level, count(*) AS messages, max(tp_timestamp) AS last FROM app_log GROUP BY ALL ORDER BY ALL"
    here, there = (tailpipe("query", sql, "--output", "csv", *flags) for flags in ((), ("--engine", "spark")))
    assert there == here
    assert there.err == ""
    refused = tailpipe("query", "SELECT bar(1, 0, 10, 5)", "--engine", "spark")
    assert refused.code == 2
    assert "bar may return another result on Spark" in refused.err
