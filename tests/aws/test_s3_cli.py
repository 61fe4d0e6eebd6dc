"""A bucket collected by the command line: nothing secret is written anywhere, and failures have exit codes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.errors import SparkError
from tailpipe.plugin import Secret
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.s3 import S3Bucket
from tailpipe.plugins.core.command import Command
from tailpipe.spark.conf import PROTECTION
from tailpipe.spark.engine import check_secrets
from tests.aws.conftest import TestBucket
from tests.aws.proxy import Proxy
from tests.aws.server import ACCESS_KEY, SECRET_KEY
from tests.aws.world import LAYOUT, s3_config


class Install:
    """A directory with a config, and the command line on it."""

    def __init__(self, root: Path, url: str, bucket: str, *, secret_key: str = SECRET_KEY, conf: str = "") -> None:
        self.root = root
        (root / "config").mkdir(parents=True)
        text = s3_config(url, bucket, ACCESS_KEY, secret_key, LAYOUT, 2)
        spark = f'workspace "default" {{\n  spark {{\n    master = "local[2]"\n    conf = {{ {conf} }}\n  }}\n}}\n'
        (root / "config" / "main.tpc").write_text(spark + text)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(self.root)}
        command = [sys.executable, "-m", "tailpipe", *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=400)

    def rows(self, what: str = "count(*)") -> list[dict[str, object]]:
        done = self.run("query", f"select {what} as found from app", "--output", "json")
        assert done.returncode == 0, done.stderr
        found: list[dict[str, object]] = json.loads(done.stdout)
        return found


def holding(root: Path, secret: str) -> list[Path]:
    """The files below a directory that hold the secret, packed or not."""
    found = []
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            data += gzip.decompress(data) if data.startswith(b"\x1f\x8b") else b""
            if secret.encode() in data:
                found.append(path)
    return found


@pytest.mark.slow
def test_a_run_writes_the_secret_nowhere_and_a_wrong_one_fails_in_a_sentence(
    bucket: TestBucket, tmp_path: Path
) -> None:
    for back in range(3):
        day = datetime.now(UTC).date() - timedelta(days=back)
        bucket.put_rows(f"one/{day:%Y/%m/%d}/a.jsonl.gz", "x", "y", day=day)
    events = tmp_path / "events"
    events.mkdir()
    conf = f'"spark.eventLog.enabled" = "true", "spark.eventLog.dir" = "{events}", "spark.eventLog.compress" = "false"'
    install = Install(tmp_path / "install", bucket.url, bucket.name, conf=conf)
    done = install.run("collect", "app.x")
    assert done.returncode == 0, done.stderr
    assert "6 rows" in done.stdout + done.stderr
    assert install.rows() == [{"found": 6}]
    shown = install.run("connection", "show", "aws.local")
    assert SECRET_KEY not in done.stdout + done.stderr + shown.stdout
    assert any(events.rglob("*"))
    [config] = holding(tmp_path, SECRET_KEY)
    assert config.name == "main.tpc"

    wrong = Install(tmp_path / "wrong", bucket.url, bucket.name, secret_key="not-the-secret")
    done = wrong.run("collect", "app.x")
    assert done.returncode == 1
    assert "the secret key of connection.aws.local is wrong" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "not-the-secret" not in done.stdout + done.stderr


def test_secrets_do_not_travel_where_others_may_listen() -> None:
    source = S3Bucket(bucket="bkt", connection=Aws(name="x", access_key="A", secret_key=Secret("s")))
    with pytest.raises(SparkError, match=r"connection\.aws\.x holds secrets, and the cluster spark://h:7077") as caught:
        check_secrets([source], "spark://h:7077", {"spark.authenticate": "true"})
    assert "spark.network.crypto.enabled, spark.io.encryption.enabled" in caught.value.hint
    check_secrets([source], "spark://h:7077", dict.fromkeys(PROTECTION, "true"))
    check_secrets([source], "local[2]", {})
    command = Command(command=["x"], env={"LOGIN": Secret("x")})
    with pytest.raises(SparkError, match="source command holds secrets"):
        check_secrets([command], "spark://h:7077", {})
    check_secrets([Command(command=["x"])], "spark://h:7077", {})
    check_secrets([S3Bucket(bucket="bkt", connection=Aws(profile="p"))], "spark://h:7077", {})
    local = {"spark.master": "local[2]"}  # of a Spark Connect server
    check_secrets([source], "sc://127.0.0.1", local)
    with pytest.raises(SparkError) as caught:
        check_secrets([source], "sc://h:15002", local, is_private=False)
    assert caught.value.hint.startswith("add /;use_ssl=true to the address in remote")
    with pytest.raises(SparkError):  # it hides its properties
        check_secrets([source], "sc://h:15002", {})


ACCOUNTS = ("111111111111", "222222222222", "333333333333")
DAYS = 40


def _put_all(bucket: TestBucket, today: date, objects: int) -> dict[date, int]:
    """Objects of two rows each; how many rows there are of each day."""
    client, counts = bucket.client, dict[date, int]()

    def put(number: int) -> None:
        day = today - timedelta(days=number % DAYS)
        rows = [{"time": f"{day}T{number % 24:02}:00:00Z", "message": f"{number}-{row}"} for row in range(2)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        key = f"{ACCOUNTS[number % 3]}/{day:%Y/%m/%d}/{number:05}.jsonl.gz"
        client.put_object(Bucket=bucket.name, Key=key, Body=gzip.compress(text.encode(), 1))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, range(objects)))
    for number in range(objects):
        day = today - timedelta(days=number % DAYS)
        counts[day] = counts.get(day, 0) + 2
    return counts


def _skipped(proxy: Proxy, today: date) -> set[int]:
    """How many days ago the newest day was that listings of accounts have skipped since the last look."""
    begun = dict[str, str]()
    for one in proxy.lists:
        account, _, rest = one.query.get("start-after", "").partition("/")
        if rest:
            begun[account] = min(rest[:10], begun.get(account, rest[:10]))
    proxy.asked.clear()
    assert set(begun) == set(ACCOUNTS)
    return {(today - _newest_skipped(day)).days for day in begun.values()}


def _newest_skipped(begin: str) -> date:
    """The day before the first that is listed; what comes before `2026/10/20` is `2026/10/2/`."""
    if begin.endswith("/"):
        return date.fromisoformat(f"{begin[:-1]}0".replace("/", "-")) - timedelta(days=1)
    return date.fromisoformat(begin.replace("/", "-"))


@contextmanager
def _within_a_day() -> Iterator[date]:
    """Today; if midnight comes meanwhile, nothing is judged, because what a plain `collect` takes moves on."""
    today = datetime.now(UTC).date()
    try:
        yield today
    except AssertionError:
        if datetime.now(UTC).date() != today:
            pytest.skip("midnight came meanwhile")
        raise


@pytest.mark.slow
@pytest.mark.parametrize("objects", [2_000, pytest.param(20_000, marks=pytest.mark.soak)])
def test_thousands_of_objects_are_taken_once_each_and_only_the_days_wanted_are_listed(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path, objects: int
) -> None:
    with _within_a_day() as today:
        _check_windows(bucket, proxy, tmp_path, today, objects)


def _check_windows(bucket: TestBucket, proxy: Proxy, tmp_path: Path, today: date, objects: int) -> None:
    counts = _put_all(bucket, today, objects)
    install = Install(tmp_path / "install", proxy.url, bucket.name)

    def collect(*arguments: str) -> str:
        done = install.run("collect", "app.x", *arguments)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout + done.stderr

    def total(backs: int) -> int:
        return sum(counts[today - timedelta(days=back)] for back in range(backs + 1))

    proxy.asked.clear()
    collect()
    assert _skipped(proxy, today) == {31}
    assert install.rows() == [{"found": total(30)}]
    assert "no new data" in collect()
    assert _skipped(proxy, today) == {4}, "two days of overlap, and one for remembered folders"

    day = today - timedelta(days=1)
    bucket.put_rows(f"{ACCOUNTS[0]}/{day:%Y/%m/%d}/late.jsonl.gz", "late", day=day)
    old = today - timedelta(days=20)
    bucket.put_rows(f"{ACCOUNTS[1]}/{old:%Y/%m/%d}/late.jsonl.gz", "later", day=old)
    collect()
    assert _skipped(proxy, today) == {4}
    assert install.rows() == [{"found": total(30) + 1}]
    collect("--from", "T-20d")
    assert _skipped(proxy, today) == {21}
    assert install.rows() == [{"found": total(30) + 2}]

    replaced = next(number for number in range(objects) if number % DAYS == 2)
    day = today - timedelta(days=2)
    bucket.put_rows(f"{ACCOUNTS[replaced % 3]}/{day:%Y/%m/%d}/{replaced:05}.jsonl.gz", "replaced", day=day)
    collect()
    assert install.rows() == [{"found": total(30) + 1}]
    proxy.asked.clear()
    collect("--from", "T-40d")
    assert _skipped(proxy, today) == {41}
    whole = sum(counts.values()) + 1
    assert install.rows() == [{"found": whole}]
    assert install.rows("count(distinct tp_id)") == [{"found": whole}]
    gone = f"count(*) filter (where message like '{replaced}-%')"
    assert install.rows(gone) == [{"found": 0}]
