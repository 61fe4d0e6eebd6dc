"""`tailpipe source test`: what a source lists, and what becomes of one artifact."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from tailpipe.cli.app import app
from tailpipe.plugin import Registry
from tests.unit.plugin.beacon import CONFIG as BEACON
from tests.unit.plugin.beacon import TOKEN, Service, load, registry_with, served

TODAY = datetime.now(UTC).date()
CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "n" { type = "integer" }
}
partition "app" "x" {
  filter = "n IS NULL OR n < 100"
  source "file" {
    paths       = ["LOGS"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`
  }
}
partition "app" "two" {
  source "file" { paths = ["LOGS"] }
  source "command" { command = ["false"] }
}
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "logs").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "app.tpc").write_text(CONFIG.replace("LOGS", str(tmp_path / "logs")))

    def call(*arguments: str) -> Result:
        env = {"TAILPIPE_INSTALL_DIR": str(tmp_path), "HOME": str(tmp_path)}
        return CliRunner().invoke(app, ["source", "test", *arguments], env=env)

    return call


def write(tmp_path: Path, back: int, *lines: str) -> None:
    day = TODAY - timedelta(days=back)
    (tmp_path / "logs" / f"{day}.jsonl").write_text("".join(line.replace("DAY", str(day)) + "\n" for line in lines))


GOOD = '{"time": "DAYT10:00:00Z", "n": 1}'


def test_the_newest_artifact_is_shown_with_its_rejected_rows(run: Run, tmp_path: Path) -> None:
    write(tmp_path, 3, GOOD)
    write(tmp_path, 1, GOOD, "no JSON", '{"time": "DAYT11:00:00Z", "n": 500}')
    write(tmp_path, 0)
    done = run("app.x")
    assert done.exit_code == 0, done.output
    newest = TODAY - timedelta(days=1)
    assert f'source "file": 3 artifacts listed; opened {tmp_path}/logs/{newest}.jsonl' in done.stderr
    assert "line 2: the line is not JSON: no JSON" in done.stderr
    assert f"{newest}" in done.stdout
    assert not (tmp_path / "data").exists()


def test_json_is_one_object(run: Run, tmp_path: Path) -> None:
    write(tmp_path, 1, GOOD, "no JSON", '{"time": "DAYT11:00:00Z", "n": 500}')
    done = run("app.x", "file", "--output", "json", "--limit", "5")
    found = json.loads(done.stdout)
    assert (found["source"], found["artifacts"], found["error"]) == ("file", 1, None)
    assert [found[name] for name in ("read", "kept", "filtered", "rejected")] == [3, 1, 1, 1]
    assert [row["n"] for row in found["rows"]] == [1]
    assert found["rejected_rows"] == [{"position": "line 2", "reason": "the line is not JSON", "text": "no JSON"}]


def test_other_days_are_chosen_by_a_window(run: Run, tmp_path: Path) -> None:
    write(tmp_path, 30, GOOD)
    done = run("app.x")
    assert done.exit_code == 1
    old = TODAY - timedelta(days=30)
    assert f"there are artifacts for {old} to {old}" in str(done.exception)
    assert run("app.x", "--from", str(old), "--to", str(old)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["app.y"], "partition not found: app.y"),
        (["app.two"], "app.two has 2 sources"),
        (["app.two", "other"], "source not found: other"),
        (["app.x", "--from", "soon"], '"soon" is not a time'),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert message in str(done.exception)


def test_no_row_that_fits_and_no_row_at_all_are_failures(run: Run, tmp_path: Path) -> None:
    write(tmp_path, 1, "no JSON")
    assert run("app.x").exit_code == 1
    write(tmp_path, 1)
    done = run("app.x")
    assert done.exit_code == 1
    assert "the artifact has no rows" in done.stderr
    done = run("app.two", "command")
    assert done.exit_code == 1


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[Service]:
    module = load(monkeypatch, [], tmp_path)
    registry = registry_with(module)
    monkeypatch.setattr(Registry, "installed", classmethod(lambda _, packs=None: registry))
    with served() as service:
        (tmp_path / "config" / "app.tpc").write_text(BEACON.replace("URL", service.url))
        yield service


def test_events_of_an_api_are_shown(run: Run, service: Service) -> None:
    service.say(str(TODAY), "ada", "bob", "cy")
    found = json.loads(run("beacon_event.main", "--output", "json").stdout)
    assert [row["actor"] for row in found["rows"]] == ["ada", "bob", "cy"]
    assert found["artifacts"] == 7


def test_a_refused_token_is_a_message_without_the_token(run: Run, service: Service) -> None:
    service.refusals = [(401, {})]
    done = run("beacon_event.main", "--output", "json")
    assert done.exit_code == 1
    assert "HTTPError: HTTP Error 401: Unauthorized" in json.loads(done.stdout)["error"]
    assert TOKEN not in done.output


@pytest.mark.parametrize("method", ["artifacts", "open", "_page"])
def test_a_secret_in_an_exception_is_masked_wherever_it_is_raised(
    run: Run, service: Service, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    import tailpipe_beacon  # type: ignore[import-not-found]

    def fail(self: Any, *_: Any) -> Any:
        raise ValueError(f"no luck with {self.connection.token.reveal()}")

    monkeypatch.setattr(tailpipe_beacon.BeaconAudit, method, fail)
    for output in ("pretty", "json"):
        done = run("beacon_event.main", "--output", output)
        words = done.output + (str(done.exception) if done.exception else "")
        assert done.exit_code == 1
        assert "ValueError: no luck with •••" in words
        assert TOKEN not in words


def test_partitions_and_their_sources_are_completed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path))
    shell = ShellComplete(app, {}, "tailpipe", "_TAILPIPE_COMPLETE")
    assert [one.value for one in shell.get_completions(["source", "test"], "app.")] == ["app.x", "app.two"]
    assert [one.value for one in shell.get_completions(["source", "test", "app.two"], "")] == ["file", "command"]


def test_the_sources_of_a_table_or_partition_are_listed(run: Run, tmp_path: Path) -> None:
    env = {"TAILPIPE_INSTALL_DIR": str(tmp_path), "HOME": str(tmp_path)}

    def listed(name: str) -> list[tuple[str, str]]:
        done = CliRunner().invoke(app, ["source", "list", name, "--output", "json"], env=env)
        return [(one["partition"], one["type"]) for one in json.loads(done.stdout)]

    assert listed("app.two") == [("app.two", "file"), ("app.two", "command")]
    assert listed("app") == [("app.x", "file"), *listed("app.two")]
    assert listed("aws_cloudtrail_log") == []
    done = CliRunner().invoke(app, ["source", "list", "ap"], env=env)
    assert str(done.exception) == "table not found: ap"
