"""Collecting many small objects from a local S3 server, against a plain loop of obstore and DuckDB on the same ones.

The plain loop writes the same columns, those that are common to all tables too, with the same content but for the
ids; it keeps no accounts, checks no etag and tries nothing again.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median
from typing import Any, cast

import duckdb
import obstore
import pyarrow as pa
from obstore.store import S3Store
from tests.aws.server import ACCESS_KEY, SECRET_KEY, owner, s3_server

from bench.collect import COMMON
from tailpipe.formats import Json
from tailpipe.kernel.run import run_task
from tailpipe.kernel.task import Reading, Staging, Task
from tailpipe.plugin import Column, Table, Window
from tailpipe.plugins.aws.s3 import S3Bucket

OBJECTS = int(os.environ.get("BENCH_S3_OBJECTS", "10000"))
RECORDS = 20
ROUNDS = 3
DAY = date(2026, 1, 2)
TO_A_TASK = 2_500
TABLE = Table(
    name="trail",
    format=Json(records="Records"),
    columns=(
        Column("event_name", "varchar", source="eventName"),
        Column("event_id", "varchar", source="eventID"),
        Column("aws_region", "varchar", source="awsRegion"),
        Column("user_identity", "json", source="userIdentity"),
    ),
    common={"tp_timestamp": "eventTime::TIMESTAMP", "tp_source_ip": "sourceIPAddress"},
)
PLAIN = """
COPY (
  SELECT e->>'eventName' AS event_name, e->>'eventID' AS event_id, e->>'awsRegion' AS aws_region,
         (e->'userIdentity')::VARCHAR AS user_identity, (e->>'eventTime')::TIMESTAMP AS tp_timestamp,
         (e->>'eventTime')::TIMESTAMP::DATE AS tp_date, e->>'sourceIPAddress' AS tp_source_ip, {common}
  FROM (SELECT unnest((document::JSON->'Records')::JSON[]) AS e, filename FROM documents)
) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "server").mkdir()
        with s3_server(root / "server") as url:
            connection = owner(url)
            _fill(connection.client("s3"))
            source = S3Bucket(name="s", bucket="bench", connection=connection)
            window = Window.of_day(DAY)
            wall, cpu, artifacts = _timed(lambda: list(source.artifacts(window)))
            print(f"listing:  {len(artifacts) / wall:9,.0f} keys/s      {cpu:6.2f} s of CPU")
            artifacts.sort(key=lambda one: one.uri)
            rounds = []
            for _ in range(ROUNDS + 1):
                plain_wall, plain, rows = _timed(lambda: _plain(url, [one.uri for one in artifacts], root))
                wall, cpu, kept = _timed(lambda: _ours(source, artifacts, root))
                assert kept == rows == OBJECTS * RECORDS, (kept, rows)
                rounds.append((plain_wall, plain, wall, cpu, cpu / plain))
            # the first round warms both up
            plain_wall, plain, wall, cpu, ratio = (median(column) for column in zip(*rounds[1:], strict=True))
            for name, took, spent in (("plain:", plain_wall, plain), ("tailpipe:", wall, cpu)):
                speed = f"{OBJECTS / took:9,.0f} objects/s   {rows / took:9,.0f} rows/s"
                print(f"{name:9} {speed}   {spent:6.2f} s of CPU")
            print(f"CPU as a multiple of the plain loop: {ratio:.2f} (at most 1.3 is wanted)")


def _fill(client: Any) -> None:
    client.create_bucket(Bucket="bench")

    def put(number: int) -> None:
        records = [
            {
                "eventTime": f"{DAY}T{number % 24:02}:00:{one:02}Z",
                "eventName": f"Call{one}",
                "eventID": f"{number:08x}-{one:04x}",
                "awsRegion": "eu-west-1",
                "sourceIPAddress": f"198.51.100.{one}",
                "userIdentity": {"type": "AssumedRole", "arn": f"arn:aws:sts::123456789012:assumed-role/r/{number}"},
                "requestParameters": {"bucketName": "some-bucket", "key": f"k/{number}/{one}"},
            }
            for one in range(RECORDS)
        ]
        body = gzip.compress(json.dumps({"Records": records}).encode(), 1)
        client.put_object(Bucket="bench", Key=f"{DAY:%Y/%m/%d}/{number:06}.json.gz", Body=body)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, range(OBJECTS)))


def _plain(url: str, uris: list[str], root: Path) -> int:
    """Fetched by threads, unpacked, and read by one query for some thousand objects."""
    from isal import igzip

    store = S3Store(
        "bench",
        endpoint=url,
        access_key_id=ACCESS_KEY,
        secret_access_key=SECRET_KEY,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )
    rows, unpack = 0, cast("Callable[[bytes], bytes]", igzip.decompress)
    with ThreadPoolExecutor(16) as pool, duckdb.connect(config={"threads": 1}) as connection:
        for start in range(0, len(uris), TO_A_TASK):
            keys = [uri.removeprefix("s3://bench/") for uri in uris[start : start + TO_A_TASK]]
            texts = pool.map(lambda key: unpack(bytes(obstore.get(store, key).bytes())), keys)
            columns = {"document": pa.array(list(texts), pa.large_string()), "filename": pa.array(keys)}
            connection.register("documents", pa.table(columns))
            path = root / f"plain-{start}.parquet"
            rows += (
                connection.execute(PLAIN.format(path=path, common=COMMON.replace("DATA", "bench"))).fetchone() or (0,)
            )[0]
            connection.unregister("documents")
    return rows


def _ours(source: S3Bucket, artifacts: list[Any], root: Path) -> int:
    kept = 0
    for number, start in enumerate(range(0, len(artifacts), TO_A_TASK)):
        directory = root / f"stage-{time.monotonic_ns()}"
        directory.mkdir()
        readings = tuple(Reading(one, one.uri) for one in artifacts[start : start + TO_A_TASK])
        staging = Staging(str(directory), f"t{number}")
        now = datetime.now(UTC)
        (outcome,) = run_task(Task.of("trail.x", TABLE, source, TABLE.format, readings, now, staging=staging))  # type: ignore[arg-type]
        kept += outcome.accounts.kept
    return kept


def _timed(work: Any) -> tuple[float, float, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    answer = work()
    return time.perf_counter() - wall, time.process_time() - cpu, answer
