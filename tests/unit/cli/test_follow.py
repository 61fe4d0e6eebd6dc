"""The flags of `collect --follow`, and what it prints."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from tailpipe.cli.app import main
from tailpipe.cli.follow import Printer
from tailpipe.collect.events import Committed, Summary
from tailpipe.follow.news import Collected, Failing, News, Recovered, Reloaded, TaskDone
from tailpipe.model.artifact import Accounts
from tests.unit.collect.support import CONFIG

ACCOUNTS = Accounts(read=1303, kept=1300, rejected=2, filtered=1)
SUMMARY = Summary("app.x", (Committed("app.x", "2024-01-31", 2, ACCOUNTS, "new"),), bytes=9, seconds=0.52, run=7)
EVENTS = {
    Collected: "collected",
    Failing: "failing",
    Recovered: "recovered",
    TaskDone: "task_done",
    Reloaded: "reloaded",
}
PRINTED: list[tuple[News, str]] = [
    (Collected(SUMMARY), "app.x: 1,300 rows, 2 rejected, 1 filtered (0.5 s)"),
    (Failing("app.x", "no such bucket", 10), "app.x: failed: no such bucket; retry in 10 s"),
    (Failing("app.x", "no\x1b[2Jthing", 40, 3), "app.x: failed (3 times): no␛[2Jthing; retry in 40 s"),
    (Failing("push", "running for 600 s", is_stuck=True), "push: stuck: running for 600 s"),
    (Recovered("app.x"), "app.x: works again"),
    (TaskDone("maintenance", "compacted 9 files into 1", {"files": 9}), "compacted 9 files into 1"),
    (Reloaded(2), "config reloaded: 2 partitions"),
    (Reloaded(2, "error: x"), "config not reloaded, the previous one stays in use:"),
]


@pytest.mark.parametrize(("one", "line"), PRINTED)
def test_each_news_is_a_line(one: News, line: str, capfd: pytest.CaptureFixture[str]) -> None:
    printer = Printer("pretty", lambda: datetime(2024, 1, 31, 12, 0, 5))
    printer(one)
    printer.close()
    out, err = capfd.readouterr()
    printed = out or err
    assert printed.startswith(f"12:00:05  {line}"[:20])
    assert "\x1b" not in printed
    assert bool(out) is isinstance(one, Collected | TaskDone)
    if "\x1b" not in str(getattr(one, "error", "")):
        assert line in printed


@pytest.mark.parametrize("one", [one for one, _ in PRINTED])
def test_each_news_is_an_object_of_json(one: News, capfd: pytest.CaptureFixture[str]) -> None:
    printer = Printer("json")
    printer(one)
    printer.close()
    (line,) = capfd.readouterr().out.splitlines()
    found = json.loads(line)
    assert found["event"] == EVENTS[type(one)]
    assert datetime.fromisoformat(found["time"]).tzinfo is not None
    if isinstance(one, Collected):
        assert (found["kept"], found["artifacts"], found["units"], found["run"]) == (1300, 2, ["2024-01-31"], 7)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--follow", "--from", "T-7d"], "--follow cannot be combined with --from"),
        (["--follow", "--to", "2024-01-31"], "--follow cannot be combined with --to"),
        (["--follow", "--overwrite"], "--follow cannot be combined with --overwrite"),
        (["--follow", "--dry-run"], "--follow cannot be combined with --dry-run"),
        (["--every", "5s"], "--every needs --follow"),
        (["--status-address", ":1"], "--status-address needs --follow"),
        (["--follow", "--every", "soon"], '--every "soon" is not a duration from 0.1s to 7d'),
        (["--follow", "--every", "0s"], '--every "0s" is not a duration'),
        (["--follow", "--stuck-after", "-5m"], '--stuck-after "-5m" is not a duration'),
        (["--follow", "--idle-after", "99999999999999999d"], '--idle-after "99999999999999999d" is not a duration'),
        (["--follow", "--status-address", "example.com:80"], '"example.com:80" is not an address'),
        (["--follow", "nope"], "nope"),
    ],
)
def test_flags_that_make_no_sense_are_refused(
    flags: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "main.tpc").write_text(CONFIG.replace("LOGS", str(tmp_path / "logs")))
    with pytest.raises(SystemExit) as ended:
        main(["collect", *flags])
    assert ended.value.code not in (0, None)
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
