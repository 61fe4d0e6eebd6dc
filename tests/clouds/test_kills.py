"""`kill -9` of collections from GCS and Azure at different moments: then a run to the end has each row once."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.plugins.buckets.fetch import RANGE_BYTES
from tailpipe.workspace import Workspace
from tests.bucket_server import Asked
from tests.clouds.commands import azure_config, done, gcs_config, started
from tests.clouds.server import Cloud

pytestmark = pytest.mark.slow

TODAY = datetime.now(UTC).date()
DAYS = 12
LARGE = "x" * 1000


class Logs:
    """Objects of several days, and the messages that are in them."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.written: list[str] = []
        self.growing = cloud.put("logs", _name(TODAY, "growing"), "", kind="AppendBlob")

    def add(self, day: date, name: str, count: int = 3, size: str = "") -> None:
        self.cloud.put("logs", _name(day, name), self._rows(day, f"{name} of {day}", count, size))

    def grow(self, words: str) -> None:
        """What an append blob of Azure does; an object of Google is replaced by a longer one."""
        self.growing.append(self._rows(TODAY, words, 3).encode())

    def _rows(self, day: date, words: str, count: int, size: str = "") -> str:
        messages = [f"{words} {number}" for number in range(count)]
        self.written += messages
        facts = {"time": f"{day}T00:00:00Z", "size": size}
        return "".join(json.dumps({**facts, "message": one}) + "\n" for one in messages)


def _name(day: date, name: str) -> str:
    return f"one/eu/{day:%Y/%m/%d}/{name}.jsonl"


def _is_object(asked: Asked) -> bool:
    return not asked.is_list and asked.path.endswith(".jsonl")


def _is_second_range(asked: Asked) -> bool:
    given = asked.headers.get("x-ms-range") or asked.headers.get("range") or "bytes=0-"
    return _is_object(asked) and int(given.removeprefix("bytes=").partition("-")[0]) >= RANGE_BYTES


@pytest.mark.parametrize("kind", ["azure", "gcs"])
def test_kills_at_any_moment_lose_no_row_and_double_none(cloud: Cloud, tmp_path: Path, kind: str) -> None:
    text = azure_config(cloud) if kind == "azure" else gcs_config(cloud, tmp_path)
    logs, days = Logs(cloud), [TODAY - timedelta(days=back) for back in range(DAYS)]
    for day in days:
        logs.add(day, "a")
    logs.add(days[1], "large", RANGE_BYTES // len(LARGE) + 500, LARGE)
    logs.grow("first")
    call = ("collect", "app.x", "--from", str(days[-1]), "--no-progress")

    def kill_while(stalls: Callable[[Asked], bool], what: str) -> None:
        """Kill the driver alone when such a request waits; its workers go on, and must leave nothing behind."""
        reached, free = threading.Event(), threading.Event()

        def stall(asked: Asked) -> None:
            if stalls(asked):
                reached.set()
                free.wait(200)

        cloud.fault = stall
        process = started(tmp_path, text, *call)
        try:
            assert reached.wait(200), f"{what}: {process.poll()}"
            assert process.poll() is None, f"{what}: {done(process)}"
        finally:
            process.kill()
            free.set()
        process.communicate(timeout=60)
        cloud.fault = lambda _: None

    kill_while(lambda one: one.is_list, "it lists")
    kill_while(_is_object, "it reads the first object")
    logs.grow("second")
    kill_while(_is_second_range, "it is in the middle of an object")
    logs.add(days[2], "late")
    points = {"TAILPIPE_FAILPOINT": "commit.after:4=kill", "TAILPIPE_TEST": "1"}
    code, _, err = done(started(tmp_path, text, *call, **points))
    assert code == -signal.SIGKILL, err
    before = _messages(tmp_path)
    assert 0 < len(before) < len(logs.written)
    assert max(before.values()) == 1
    logs.grow("third")
    code, _, err = done(started(tmp_path, text, *call))
    assert code == 0, err
    assert _messages(tmp_path) == Counter(logs.written)
    staging = tmp_path / "data" / "default" / ".tailpipe" / "staging"
    assert [path for path in staging.rglob("*") if path.is_file()] == []


def _messages(root: Path) -> Counter[str]:
    with Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(root)}).session() as session:
        return Counter(row[0] for row in session.run("SELECT message FROM app").rows)
