"""Assistants get nothing but their tables through `query` and `search`, also if the files are in a bucket."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp.client import Client

from tailpipe.config.environment import Environment
from tailpipe.home.home import Home
from tailpipe.operations.query import open_session
from tailpipe.plugin import Registry
from tailpipe.plugins import aws, core
from tailpipe.query.session import Session
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.fetch import SMALL
from tests.aws.conftest import TestBucket
from tests.aws.server import ACCESS_KEY, CONNECTION, SECRET_KEY, owner
from tests.reading import attempts as gate_attempts
from tests.reading.support import move_out
from tests.unit.detect.world import World
from tests.unit.mcp_server.support import Mcp, asked, call
from tests.unit.query import attempts as file_attempts

STORE = """
store "lake" {
  location   = "s3://BUCKET/logs"
  connection = connection.aws.local
}
workspace "default" { store = store.lake }
"""
PRIVATE = "private words of somebody else in the bucket"
ROWS = 12_000
MORE = [
    "FROM read_parquet('{gate}0')",
    "FROM read_text('{location}/private.txt')",
    "FROM read_text('{gate}../private.txt')",
    "FROM read_text('{gate}private.txt')",
    "FROM read_text('{endpoint}/{bucket}/logs/private.txt')",
    "FROM read_text('{endpoint}/{bucket}/elsewhere/private.txt')",
    "FROM read_blob('{links}/*')",
]
"""Attempts through the gate and the cache of another call, and on the bucket itself."""


def _open(environment: Environment) -> Home:
    return Home(environment, Registry([core.plugin, aws.plugin]))


class Lake:
    """A workspace whose files are in a bucket, a session of another call that reads them, and places to attack."""

    def __init__(self, home: Path, bucket: TestBucket, trap: tuple[int, list[str]]) -> None:
        connection = CONNECTION.replace("URL", bucket.url).replace("ACCESS", ACCESS_KEY).replace("SECRET", SECRET_KEY)
        self.world = World(home, connection + STORE.replace("BUCKET", bucket.name))
        self.bucket, self.trap, self.place = bucket, trap, home / "data" / "default"
        self._environment = Environment.resolve({"TAILPIPE_INSTALL_DIR": str(home)})
        bits = random.Random(7)
        users = (base64.b64encode(bits.randbytes(750)).decode() for _ in range(ROWS))
        self.world.log(*({"user": user, "size": n} for n, user in enumerate(users)), day="2024-01-10")
        self.world.log({"user": "the-user-anna", "size": 1}, day="2024-01-11")
        self.world.collect(push=False)
        store = open_objects(f"s3://{bucket.name}/logs", owner(bucket.url))
        assert move_out(self.open().layout(), store) == 2
        for key in ("logs/private.txt", "elsewhere/private.txt"):
            bucket.put(key, PRIVATE)
        file_attempts.make_outside(self.place)
        self.mcp = Mcp(self.world, opened=partial(_open, self._environment))

    def open(self) -> Home:
        return _open(self._environment)

    def filled(self, sql: str, session: Session) -> str:
        """An attempt with its places, as far as they are known to somebody who sees another session."""
        reader = session._files._reader  # type: ignore[union-attr]
        assert reader is not None
        assert reader.gate_prefix is not None
        parts = urlsplit(reader.gate_prefix)
        keys = [one["Key"].removeprefix("logs/") for one in _listed(self.bucket)]
        return sql.format(
            gate=reader.gate_prefix,
            port=parts.port,
            token=parts.path.strip("/"),
            trap=self.trap[0],
            location=f"s3://{self.bucket.name}/logs",
            endpoint=self.bucket.url,
            bucket=self.bucket.name,
            key=next(key for key in keys if "2024-01-11" in key),
            other=next(path.name for path in (self.place / ".tailpipe" / "cache").iterdir() if len(path.name) == 64),
            cache=self.place / ".tailpipe" / "cache",
            links=reader.directory,
            foreign=reader.directory,
        )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, s3_url: str) -> Iterator[Lake]:
    bucket = TestBucket(s3_url, "asked-by-assistants")
    bucket.client.create_bucket(Bucket=bucket.name)
    with gate_attempts.trapping() as trap:
        yield Lake(tmp_path_factory.mktemp("lake"), bucket, trap)


@pytest.fixture(scope="module")
def session(lake: Lake) -> Iterator[Session]:
    """Another call that goes on: it reads a large file through its gate and has a small one in the cache."""
    with open_session(lake.open()) as session:
        assert list(session.run("SELECT count(*), max(size), max(tp_date)::VARCHAR FROM app_log").rows) == [
            (ROWS + 1, ROWS - 1, "2024-01-11")
        ]
        sizes = sorted(one["Size"] for one in _listed(lake.bucket) if "/data/" in one["Key"])
        assert sizes[0] < SMALL < sizes[1]
        yield session


def _with_a_gate(sql: str) -> str:
    """The same in a statement that has a gate of its own."""
    return f"SELECT * FROM (SELECT max(size) FROM app_log) a, ({sql}) b" if sql.startswith("FROM") else sql


def _attempts(lake: Lake, session: Session, step: int) -> list[str]:
    plain = [lake.filled(sql, session) for sql in [*MORE, *gate_attempts.ATTEMPTS]]
    files = [file_attempts.filled(sql, lake.place) for sql in file_attempts.ATTEMPTS[:: 12 * step]]
    some = plain if step == 1 else [*plain[: len(MORE)], *plain[len(MORE) :: step]]
    return [*some, *(_with_a_gate(sql) for sql in [*some, *files] if sql.startswith("FROM"))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "is_stdio"),
    [
        (16, False),
        pytest.param(1, False, marks=pytest.mark.slow),
        pytest.param(16, True, marks=pytest.mark.slow),
    ],
)
def test_no_attempt_reads_another_key_host_or_file(lake: Lake, session: Session, step: int, is_stdio: bool) -> None:
    attempts = _attempts(lake, session, step)

    async def ask(client: Client) -> dict[str, str]:
        answered = {}
        for sql in attempts:
            result = await client.call_tool("query", {"sql": sql})
            text = str(result.content[0].text)  # type: ignore[union-attr]
            _check(text)
            if not result.is_error:
                answered[sql] = text
        assert (await call(client, "query", sql="SELECT max(size) FROM app_log"))["rows"] == [[ROWS - 1]]
        return answered

    objects = {one["Key"]: one["ETag"] for one in _listed(lake.bucket)}
    assert asked(lake.mcp, ask, is_stdio=is_stdio) == {}
    assert lake.trap[1] == []
    assert {one["Key"]: one["ETag"] for one in _listed(lake.bucket)} == objects


def test_what_one_call_tells_of_its_gate_is_of_no_use_to_the_next(lake: Lake, session: Session) -> None:
    tell = "SELECT sql FROM duckdb_views(), (SELECT max(size) FROM app_log)"

    async def ask(client: Client) -> tuple[str, list[Any]]:
        told = str((await client.call_tool("query", {"sql": tell, "limit": 1000})).content)
        found = re.findall(r"http://127\.0\.0\.1:\d+/[\w-]+/", told) or ["http://127.0.0.1:1/unknown/"]
        again = [await client.call_tool("query", {"sql": f"FROM read_parquet('{gate}0')"}) for gate in found]
        quiet = [lake.filled(sql, session) for sql in gate_attempts.QUIET[::2]]
        return told, [*again, *[await client.call_tool("query", {"sql": _with_a_gate(sql)}) for sql in quiet]]

    told, results = asked(lake.mcp, ask)
    _check(told)
    assert results[0].is_error
    for result in results:
        _check(str(result.content))


def test_a_search_finds_rows_of_the_bucket_and_its_arguments_reach_nothing_else(lake: Lake, session: Session) -> None:
    evil = [lake.filled(sql, session) for sql in MORE[:3]]
    calls: list[dict[str, Any]] = []
    for sql in evil:
        said = f"x' UNION ALL SELECT content {sql} --"
        calls += [{"text": said}, {"text": "the-user-anna", "tables": [said]}, {"text": "the-user-anna", "start": said}]
        calls += [{"text": "the-user-anna", "tables": [sql.removeprefix("FROM ")]}]

    async def ask(client: Client) -> list[str]:
        found = await call(client, "search", text="the-user-anna", start="2024-01-01")
        assert [(one["table"], one["rows"]) for one in found["tables"]] == [("app_log", 1)]
        return [str((await client.call_tool("search", {"start": "2024-01-01", **one})).content) for one in calls]

    for text in asked(lake.mcp, ask):
        _check(text)
    assert lake.trap[1] == []


def _check(text: str) -> None:
    for secret in (PRIVATE, ACCESS_KEY, SECRET_KEY, file_attempts.SECRET):
        assert secret not in text
        assert json.dumps(secret) not in text


def _listed(bucket: TestBucket) -> list[dict[str, Any]]:
    return list(bucket.client.list_objects_v2(Bucket=bucket.name)["Contents"])
