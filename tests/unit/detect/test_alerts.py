"""The outbox: an alert for each hit and notifier, delivered at least once, whatever the receiver does meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailpipe.cli.alerts import alert_records
from tailpipe.operations.detect import deliver, waiting_alerts
from tests.unit.detect.receiver import Receiver
from tests.unit.detect.test_run import ALL
from tests.unit.detect.world import World

RULES = """
notifier "file" "log" { path = "HOME/hits.jsonl" }
notifier "webhook" "siem" {
  webhook_url = "URL"
  secret      = "a-very-secret-key"
  timeout_seconds = 0.5
}
notifier "slack" "unset" { webhook_url = env("NOT_SET_ANYWHERE") }
detection "failed" {
  table  = "app_log"
  where  = "event = 'failed'"
  notify = [notifier.file.log, notifier.webhook.siem]
}
detection "large" {
  table  = "app_log"
  where  = "size > 10"
  notify = [notifier.slack.unset]
}
"""


def test_every_alert_arrives_though_the_receiver_fails_hangs_redirects_and_dies(tmp_path: Path) -> None:
    with Receiver(500, "hang", "redirect", "die", 200) as receiver:
        world = World(tmp_path, RULES.replace("HOME", str(tmp_path)).replace("URL", receiver.url))
        world.begin()
        world.append(*({"event": "failed", "user": str(number)} for number in range(3)), {"size": 11})
        world.detect()
        home = world.open()
        first = deliver(home)
        assert (first.sent, len(first.waiting)) == (3, 4)  # the file has all; the server failed, the others wait
        records = {one["notifier"]: one for one in alert_records(waiting_alerts(home))}
        assert records["notifier.webhook.siem"]["error"] == "the server answered 500"
        assert "NOT_SET_ANYWHERE" in records["notifier.slack.unset"]["error"]
        for error in ("no answer within", "the server answered 302", "no valid answer"):
            deliver(home, retry=True)
            records = {one["notifier"]: one for one in alert_records(waiting_alerts(home))}
            assert error in records["notifier.webhook.siem"]["error"]
        deliver(home, retry=True)
        assert [one.notifier for one in waiting_alerts(home)] == ["notifier.slack.unset"]
    ids = {str(hit_id) for (hit_id,) in world.rows("SELECT tp_id FROM detection_hit WHERE detection = 'failed'")}
    assert {json.loads(body)["id"] for _, _, body in receiver.requests} == ids
    lines = (tmp_path / "hits.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["event"]["user"] for line in lines) == ["0", "1", "2"]
    texts = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"a-very-secret-key" not in texts
    assert b"TOKEN-IN-PATH" not in texts


@pytest.mark.slow
def test_hits_of_a_window_are_stored_and_not_sent(tmp_path: Path) -> None:
    world = World(tmp_path, RULES.replace("HOME", str(tmp_path)).replace("URL", "http://localhost:9/"))
    world.append({"event": "failed", "user": "a"})
    world.detect(window=ALL)
    assert world.hits() == [("failed", "a")]
    assert waiting_alerts(world.open()) == []


@pytest.mark.slow
def test_an_alert_whose_notifier_is_gone_waits_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, RULES.replace("HOME", str(tmp_path)).replace("URL", "http://localhost:9/"))
    world.begin()
    world.append({"event": "failed", "user": "a"})
    world.detect()
    world.configure("")
    (one, other) = deliver(world.open()).waiting
    assert {one.error, other.error} == {
        "notifier.file.log is not in the config",
        "notifier.webhook.siem is not in the config",
    }
