"""`tailpipe detect`, `detection` and what `status` says of alerts, as people and programs read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailpipe.cli.app import _run
from tailpipe.sql.attempt import Attempt
from tests.unit.detect.world import World

RULES = """
notifier "webhook" "siem" {
  webhook_url = "http://localhost:1/hook/TOKEN-IN-PATH"
  secret      = "a-very-secret-key"
}
detection "failed" {
  title        = "Failed login"
  table        = "app_log"
  where        = "event = 'failed'"
  severity     = "high"
  notify       = [notifier.webhook.siem]
  must_hit     = [{ event = "failed" }]
  must_not_hit = [{ event = "fine" }]
}
detection "broken" {
  table = "app_log"
  where = "CAST(event AS INTEGER) = 1"
}
"""


def run(*words: str) -> int:
    """The exit code of a command, however it ends."""
    try:
        return _run(words, Attempt())
    except SystemExit as left:
        return int(left.code or 0)


@pytest.mark.slow
def test_a_run_is_told_with_its_hits_failures_and_alerts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path))
    world = World(tmp_path, RULES)
    assert run("detection", "test") == 0
    assert "2 events tested, 0 failed" in capsys.readouterr().err
    assert run("detect", "--to", "2024-01-01") == 2
    assert "--to needs --from" in capsys.readouterr().err
    assert run("detect") == 0
    assert "first run: detections start with rows collected from now on" in capsys.readouterr().err
    world.append({"event": "failed", "user": "anna"})
    assert run("detect", "--dry-run") == 1
    assert "1 new hit (not stored: --dry-run)" in capsys.readouterr().err
    assert run("detect") == 1
    out, err = capsys.readouterr()
    assert "failed     high             1      0  Failed login" in out
    assert 'error: detection "broken" failed: could not convert string' in err
    assert "0 alerts sent, 1 waiting; see: tailpipe status" in err
    assert run("detect", "--output", "json") == 1
    out, err = capsys.readouterr()
    whole = json.loads(out)
    assert [one["hits"] for one in whole["detections"]] == [[], []]
    assert run("status") == 0
    out, more = capsys.readouterr()
    assert "alerts: notifier.webhook.siem 1 waiting, the oldest for" in out
    assert run("detection", "show", "failed", "--output", "tpc") == 0
    assert run("config", "show") == 0
    shown = capsys.readouterr()
    for secret in ("TOKEN-IN-PATH", "a-very-secret-key"):
        assert secret not in f"{out}{err}{more}{shown.out}{shown.err}"
