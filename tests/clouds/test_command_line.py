"""The command line over containers: `source test`, Ctrl-C and kill -9 while it lists, and no secret anywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.bucket_server import Asked
from tests.clouds.commands import azure_config, done, started
from tests.clouds.server import ACCOUNT_KEY, Answer, Cloud

pytestmark = pytest.mark.slow

TODAY = datetime.now(UTC).date()


def filled(cloud: Cloud, accounts: int) -> None:
    row = json.dumps({"time": f"{TODAY}T00:00:00Z", "message": "hello"}) + "\n"
    for number in range(accounts):
        cloud.put("logs", f"a{number:03}/eu/{TODAY:%Y/%m/%d}/x.jsonl", row)


def command(root: Path, cloud: Cloud, *arguments: str) -> subprocess.Popen[str]:
    return started(root, azure_config(cloud), *arguments)


def test_source_test_shows_rows_and_says_what_is_wrong(cloud: Cloud, tmp_path: Path) -> None:
    filled(cloud, 2)
    code, out, err = done(command(tmp_path, cloud, "source", "test", "app.x", "--output", "json"))
    assert code == 0, err
    assert [row["message"] for row in json.loads(out)["rows"]] == ["hello"]
    cloud.fault = lambda _: Answer(403, b"<Error><Code>AuthenticationFailed</Code></Error>")
    code, _, err = done(command(tmp_path, cloud, "source", "test", "app.x"))
    assert code == 1
    assert "the credentials were rejected (AuthenticationFailed)" in err
    assert "connection.azure.c" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_listing_that_hangs_ends_at_once_and_goes_on_later(
    cloud: Cloud, tmp_path: Path, number: signal.Signals
) -> None:
    filled(cloud, 40)
    free = threading.Event()

    def stall(asked: Asked) -> None:
        if asked.is_list and len(cloud.lists) > 30:
            free.wait(120)

    cloud.fault = stall
    process = command(tmp_path, cloud, "collect", "app.x")
    end = time.monotonic() + 120
    while len(cloud.lists) <= 50 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(cloud.lists) > 50, process.poll()
    begun = time.monotonic()
    os.killpg(process.pid, number)
    code, _, _ = done(process)
    assert time.monotonic() - begun < 15, "the requests under way would take two minutes"
    assert code in (130, -signal.SIGKILL)
    free.set()
    cloud.fault = lambda _: None
    code, out, err = done(command(tmp_path, cloud, "collect", "app.x", "--dry-run"))
    assert code == 0, err
    assert "40" in out + err
    assert [
        path for path in tmp_path.rglob("*") if path.is_file() and ACCOUNT_KEY in path.read_text(errors="replace")
    ] == [tmp_path / "config" / "main.tpc"]


def test_a_long_listing_says_what_it_does(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailpipe.cli.progress import Display
    from tailpipe.collect import events

    now = [0.0]
    said: list[str] = []
    monkeypatch.setattr("tailpipe.cli.render.say", said.append)
    display = Display(True, clock=lambda: now[0])
    display(events.Started("app.x", "listing"))
    for second in range(61):
        now[0] = float(second)
        display(events.Listing("app.x", 10 * second, 20 * second, 5 * second))
    assert said == [
        "app.x: listing, 150 artifacts, 300 requests, 75 folders, 15 s",
        "app.x: listing, 300 artifacts, 600 requests, 150 folders, 30 s",
        "app.x: listing, 450 artifacts, 900 requests, 225 folders, 45 s",
        "app.x: listing, 600 artifacts, 1,200 requests, 300 folders, 60 s",
    ]
    assert timedelta(seconds=now[0]) == timedelta(minutes=1)
