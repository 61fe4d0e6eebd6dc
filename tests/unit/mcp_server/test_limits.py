"""Every limit of an answer: rows, bytes, long texts, seconds; and calls that are cancelled."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from tailpipe.mcp_server.limits import Limits, Rows, shortened
from tailpipe.query.json_values import plain
from tailpipe.spark.processes import cpu_seconds
from tests.unit.mcp_server.support import Mcp, asked, call, failure

ENDLESS = "SELECT count(*) FROM range(1000000000000) a, range(1000) b"
TRANSPORTS = [False, pytest.param(True, marks=pytest.mark.slow)]


@pytest.mark.parametrize("is_stdio", TRANSPORTS)
def test_an_answer_is_cut_and_says_so(home: Mcp, is_stdio: bool) -> None:
    async def ask(client: Client) -> dict[str, Any]:
        return {
            "usual": await call(client, "query", sql="FROM app_log"),
            "exact": await call(client, "query", sql="FROM range(100)"),
            "requested": await call(client, "query", sql="FROM range(10000000000)", limit=1000),
            "bytes": await call(client, "query", sql="SELECT repeat('x', 1000) FROM range(1000)", limit=1000),
            "long": await call(client, "query", sql="SELECT repeat('x', 100000) AS a, 1 AS b"),
            "wide": await failure(
                client, "query", sql="SELECT " + ", ".join(f"repeat('x', 100000) AS a{n}" for n in range(500))
            ),
            "many": await failure(client, "query", sql="SELECT " + ", ".join(f"1 AS c{n}" for n in range(5000))),
        }

    found = asked(home, ask, is_stdio=is_stdio)
    assert len(found["usual"]["rows"]) == 100
    assert found["usual"]["truncated"] == ["only the first 100 rows are shown; there are more"]
    assert len(found["exact"]["rows"]) == 100
    assert "truncated" not in found["exact"]
    assert len(found["requested"]["rows"]) == 1000
    assert 60 <= len(found["bytes"]["rows"]) <= 65
    assert len(json.dumps(found["bytes"], ensure_ascii=False)) <= 65_536
    assert "because an answer has at most 65536 bytes" in found["bytes"]["truncated"][0]
    assert found["long"]["rows"] == [["x" * 2000 + "… (98000 more characters)", 1]]
    assert found["long"]["truncated"] == ["long texts are shortened; use substr() to read the rest of one"]
    assert "one row is larger than 65536 bytes; name fewer columns" in found["wide"]
    assert "too many columns" in found["many"]


def test_a_statement_that_takes_too_long_is_stopped_and_the_next_one_runs(home: Mcp) -> None:
    hurried = Mcp(home.world, Limits(seconds=3))

    async def ask(client: Client) -> tuple[str, dict[str, Any]]:
        return await failure(client, "query", sql=ENDLESS), await call(client, "query", sql="SELECT 1")

    said, after = asked(hurried, ask)
    assert "stopped at the time limit of 3 s" in said
    assert after["rows"] == [[1]]


@pytest.mark.slow
def test_a_statement_that_crashes_or_hangs_fails_alone(home: Mcp) -> None:
    crash = "SELECT from_json('1', repeat('[',20000)||'\"INT\"'||repeat(']',20000))"
    hurried = Mcp(home.world, Limits(seconds=8))

    async def ask(client: Client) -> list[Any]:
        crashed = await failure(client, "query", sql=crash)
        hung = await failure(client, "query", sql="SELECT lpad('x',2000000000,'ab')")
        places = await failure(client, "query", sql="SELECT current_setting('secret_directory')")
        large = await failure(client, "query", sql="SELECT INTERVAL 100000000 YEAR")
        return [crashed, hung, places, large, (await call(client, "query", sql="SELECT 1"))["rows"]]

    crashed, hung, places, large, after = asked(hurried, ask)
    assert "the statement crashed the SQL engine: SELECT from_json" in crashed
    assert "stopped at the time limit of 8 s" in hung or "needed more memory" in hung
    assert "shows paths of the machine" in places
    assert "a value is too large; show it as text" in large
    assert after == [[1]]


def test_a_cancelled_call_interrupts_its_statement(home: Mcp) -> None:
    async def ask(client: Client) -> tuple[float, dict[str, Any]]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_endless, client)
            while not home.worker.running:
                await anyio.sleep(0.02)
            await anyio.sleep(0.3)
            tasks.cancel_scope.cancel()
        begin = time.monotonic()
        with anyio.fail_after(25):  # the statement alone would end after 30 s at the earliest
            while home.worker.running:
                await anyio.sleep(0.02)
        return time.monotonic() - begin, await call(client, "query", sql="SELECT 1")

    async def call_endless(client: Client) -> None:
        await client.call_tool("query", {"sql": ENDLESS})

    _, after = asked(home, ask)
    assert after["rows"] == [[1]]


@pytest.mark.slow
def test_cancelled_calls_over_stdio_interrupt_their_statements_and_the_next_one_is_answered(home: Mcp) -> None:
    others = _children()

    async def endless(client: Client) -> None:
        await client.call_tool("query", {"sql": ENDLESS})

    async def ask(client: Client) -> tuple[float, list[Any], float]:
        (server,) = _children() - others
        async with anyio.create_task_group() as tasks:
            for _ in range(4):  # as many as run at once, so that the next one waits for the end of one of them
                tasks.start_soon(endless, client)
            begun = cpu_seconds(server)
            with anyio.fail_after(60):
                while cpu_seconds(server) - begun < 1.5:
                    await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        begin = time.monotonic()
        found = await call(client, "query", sql="SELECT 1")
        seconds = time.monotonic() - begin
        await anyio.sleep(1)  # those that were interrupted last
        before = cpu_seconds(server)
        await anyio.sleep(1)
        return seconds, found["rows"], cpu_seconds(server) - before

    seconds, rows, used = asked(home, ask, "--timeout", "10m", is_stdio=True)
    assert rows == [[1]]
    assert seconds < 60, "without the interrupts it would be ten minutes"
    assert used < 0.5, "DuckDB works on"


def _children() -> set[int]:
    """The processes that this one has started and that run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            number, _, rest = path.read_text().partition(" (")
            state, parent = rest.rpartition(") ")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found.add(int(number))
    return found


def test_many_calls_at_once_are_answered(home: Mcp) -> None:
    async def ask(client: Client) -> list[Any]:
        found: list[Any] = []

        async def one(number: int) -> None:
            found.append((await call(client, "query", sql=f"SELECT {number}"))["rows"][0][0])

        async with anyio.create_task_group() as tasks:
            for number in range(12):
                tasks.start_soon(one, number)
        return found

    assert sorted(asked(home, ask)) == list(range(12))


def test_values_are_exact_json() -> None:
    from datetime import UTC, date, datetime, timedelta
    from decimal import Decimal

    assert plain([2**53, 2**60, float("nan"), 1.5, True, None]) == [2**53, str(2**60), "nan", 1.5, True, None]
    assert plain(datetime(2024, 1, 1)) == "2024-01-01T00:00:00Z"
    assert plain(datetime(2024, 1, 1, tzinfo=UTC)) == "2024-01-01T00:00:00+00:00"
    assert plain({1: (date(2024, 1, 1), b"\x00\xff", Decimal("1.10"), timedelta(seconds=1))}) == {
        "1": ["2024-01-01", "00ff", "1.10", "0:00:01"]
    }
    assert shortened({"a": ["x" * 11, 1]}, 10) == ({"a": ["x" * 10 + "… (1 more characters)", 1]}, True)


def test_rows_beyond_the_limit_are_not_read() -> None:
    def rows() -> Any:
        yield from range(4)
        raise AssertionError("a row too many was read")

    assert Rows(Limits(), 3).take(rows()).kept == [0, 1, 2]


def test_answers_that_are_short_by_default_stay_within_a_small_limit() -> None:
    assert Limits(most_rows=10).rows_for(None, usual=20) == 10
    assert Limits().rows_for(None, usual=20) == 20
    assert Limits().rows_for(30, usual=20) == 30
