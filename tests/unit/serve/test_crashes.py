"""Statements that crash the engine, hang or take all memory, posted while others read: everybody else is answered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import pytest

from tailpipe.serve.limits import Limits
from tests.unit.detect.world import World
from tests.unit.serve.support import Client, serving

DEEP = "repeat('[',20000)||'\"INT\"'||repeat(']',20000)"
CRASHING = [f"SELECT {name}('1', {DEEP})" for name in ("from_json", "from_json_strict", "json_transform")]
HANGING = [
    "SELECT repeat('9',3000000)::BIGNUM::VARCHAR",
    "SELECT lpad('x',2000000000,'ab')",
    "SELECT repeat(repeat('x',4000000000),2)",
    "SELECT " + "list_transform([1], x -> " * 400 + "x" + ")" * 400,
    "SELECT 1 " + "/*" * 50_000 + "*/" * 50_000,
    "SELECT 1" + " UNION ALL SELECT 1" * 20_000,
]
PATHS = [
    "FROM duckdb_settings()",
    "SELECT current_setting('secret_directory')",
    "FROM duckdb_views()",
    "FROM information_schema.views",
    "FROM sqlite_master",
    r"FROM E'sqlite\x5fmaster'",
    r"SUMMARIZE E'sqlite\_master'",
    "FROM pg_catalog.pg_settings",
    "FROM duckdb_external_file_cache()",
    "SELECT pg_get_viewdef(oid) FROM pg_class",
    "SELECT json_serialize_plan('FROM app_log')",
    "EXPLAIN ANALYZE FROM app_log",
]


def children(of: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{of}/task/{of}/children").read_text().split()]


def test_a_crash_is_an_answer_and_names_the_statement(world: World) -> None:
    with serving(world.open()) as client:
        for sql in CRASHING:
            wrong = client.failure("sql", {"sql": sql}, 500)
            assert wrong["code"] == "crashed"
            assert wrong["message"].startswith(f"the statement crashed the SQL engine: {sql[:30]}")
        assert client.failure("export", {"sql": CRASHING[0], "format": "csv"}, 500)["code"] == "crashed"
        assert client.lines("SELECT count(*) AS n FROM app_log")[1]["rows"] == [[72]]


def test_no_statement_shows_where_files_of_the_machine_are(client: Client, world: World) -> None:
    for sql in PATHS:
        status, _, content = client.request("POST", "/api/sql", {"sql": sql})
        assert (status, b"shows paths of the machine" in content) == (400, True), (sql, content)
    assert client.lines("EXPLAIN FROM app_log")[-1]["end"]


def test_times_of_all_years_are_answered(client: Client) -> None:
    lines = client.lines("SELECT TIMESTAMP '290000-01-01', DATE '290000-01-01', INTERVAL 100000000 YEAR")
    assert lines[1]["rows"] == [["290000-01-01T00:00:00Z", "290000-01-01", "100000000 years"]]


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_a_campaign_of_crashes_disturbs_no_reader_and_leaves_nothing_behind(world: World, count: int) -> None:
    with serving(world.open(), Limits(seconds=5, waiting=200)) as client:
        server = client.explorer.pool.workers._server.pid
        statements = list(islice(cycle([*CRASHING, *HANGING]), count))

        def post(sql: str) -> int:
            return client.request("POST", "/api/sql", {"sql": sql}, timeout=600)[0]

        def read(number: int) -> bool:
            q = f"size:{number % 24}"
            found = client.post("rows", search={"table": "app_log", "q": q, "from": "2024-01-08", "to": "2024-01-09"})
            return [row["tp_id"] for row in found["ids"]] == expected[number % 24]

        expected = {
            n: [
                row["tp_id"]
                for row in client.post(
                    "rows", search={"table": "app_log", "q": f"size:{n}", "from": "2024-01-08", "to": "2024-01-09"}
                )["ids"]
            ]
            for n in range(24)
        }
        assert all(len(ids) == 1 for ids in expected.values())
        with ThreadPoolExecutor(10) as attackers, ThreadPoolExecutor(10) as readers:
            posted = attackers.map(post, statements)
            assert all(readers.map(read, range(10 * 24)))
            assert set(posted) <= {400, 500, 504}
        assert client.explorer.pool.workers._server.pid == server
        assert len(children(server)) <= 4
    assert not Path(f"/proc/{server}").exists()
