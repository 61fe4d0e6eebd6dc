"""Detections on the events beside them."""

from __future__ import annotations

from pathlib import Path

from tests.unit.detect.world import World

RULES = r"""
detection "failed" {
  table        = "app_log"
  where        = "event = 'failed' AND size > 1"
  must_hit     = [{ event = "failed", SIZE = 2 },
    "{\"time\": \"2024-01-01T00:00:00Z\", \"event\": \"failed\", \"size\": 9}"]
  must_not_hit = [{ event = "failed", size = 1 }, { event = "failed" }]
}
detection "many" {
  table        = "app_log"
  where        = "event = 'failed'"
  group_by     = ["ip"]
  threshold    = 2
  within       = "10s"
  must_hit     = [[{ event = "failed", ip = "1" }, { event = "failed", ip = "1" }]]
  must_not_hit = [
    [{ event = "failed", ip = "1" }, { event = "failed", ip = "2" }],
    [{ event = "failed", ip = "1", tp_timestamp = "2024-01-01 00:00:00" },
     { event = "failed", ip = "1", tp_timestamp = "2024-01-01 00:01:00" }],
  ]
}
detection "wrong" {
  table        = "app_log"
  where        = "event = 'failed'"
  must_hit     = [{ event = "fine" }, "no json"]
  must_not_hit = [{ event = "failed" }]
}
"""


def test_events_hit_or_not_as_they_must(tmp_path: Path) -> None:
    detecting = World(tmp_path, RULES).open().detecting
    cases = {name: detecting.test(detecting.known[name]) for name in ("failed", "many", "wrong")}
    assert [case for name in ("failed", "many") for case in cases[name] if not case.is_passed] == []
    assert [len(cases[name]) for name in cases] == [4, 3, 3]
    assert [case.is_passed for case in cases["wrong"]] == [False, False, False]
    assert "not a log of app_log" in cases["wrong"][1].failure
    assert not (tmp_path / "data").exists()
