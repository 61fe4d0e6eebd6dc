"""`tailpipe source test` on an HTTP API: the first page, parsed, and nothing more is requested."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.cli.app import app
from tests.http.server import Events, Reply, Server, refusal
from tests.http.world import SOURCE, config

TODAY = datetime.now(UTC).date()
LINKS = SOURCE + 'pagination "link_header" {}\n'


def run(root: Path, text: str, *arguments: str) -> Result:
    (root / "install" / "config").mkdir(parents=True)
    (root / "install" / "config" / "main.tpc").write_text(text)
    env = {"TAILPIPE_INSTALL_DIR": str(root / "install"), "HOME": str(root)}
    return CliRunner().invoke(app, ["source", "test", "audit.x", *arguments], env=env)


def test_the_first_page_of_the_newest_day_is_shown(server: Server, tmp_path: Path) -> None:
    api = Events(server, size=5)
    api.say(str(TODAY), *(f"name-{number:02}" for number in range(50)), at="00:00:00")
    done = run(tmp_path, config(server.url, LINKS), "--limit", "5")
    assert done.exit_code == 0, done.output
    assert f'source "http": 7 artifacts listed; opened {server.url}/logs#{TODAY}' in done.stderr
    assert "name-00" in done.stdout
    assert "name-05" not in done.stdout
    assert len(server.asked) == 1
    assert not (tmp_path / "install" / "data").exists()


def test_rows_come_as_json(server: Server, tmp_path: Path) -> None:
    day = TODAY - timedelta(days=1)
    Events(server).say(str(day), "ada", "bob", "cy")
    window = ("--from", str(day), "--to", str(day))
    done = run(tmp_path, config(server.url, LINKS), *window, "--output", "json")
    found = json.loads(done.stdout)
    assert [row["actor"] for row in found["rows"]] == ["ada", "bob", "cy"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (refusal(401, {"message": "who are you"}), "refuses connection.http.api (401 Unauthorized)"),
        (Reply(b"<html>log in"), "the response is not JSON (application/json, Expecting value): <html>log in"),
        (Reply({"events": [{"id": 1}]}), 'the response has no list "items"; it has: events'),
    ],
)
def test_what_is_wrong_is_said(server: Server, tmp_path: Path, reply: Reply, message: str) -> None:
    server.answer = lambda _: reply
    done = run(tmp_path, config(server.url, LINKS + 'records = "items"'))
    assert done.exit_code == 1
    assert message in " ".join((done.output + str(done.exception)).split())


def test_days_that_the_service_has_forgotten_are_not_requested(server: Server, tmp_path: Path) -> None:
    text = config(server.url, LINKS + 'window { max_age = "7d" }')
    day = TODAY - timedelta(days=30)
    done = run(tmp_path, text, "--from", str(day), "--to", str(day))
    assert done.exit_code == 1
    assert "older than 7d, which is all that the service keeps" in str(done.exception)
    assert server.asked == []
