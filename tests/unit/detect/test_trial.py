"""Detections on the events beside them."""

from __future__ import annotations

from pathlib import Path

from tailpipe.operations.detect import try_detection
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
detection "then" {
  table    = "app_log"
  where    = "ip IS NOT NULL"
  steps    = ["event = 'failed'", "event = 'login'", "event = 'export' AND size > 9"]
  group_by = ["ip"]
  within   = "10s"
  must_hit = [
    [{ event = "failed", ip = "1" }, { event = "login", ip = "1" }, { event = "fine", ip = "1" },
     { event = "export", ip = "1", size = 10 }],
    [{ event = "export", ip = "1", size = 10, tp_timestamp = "2024-01-01 00:00:00" },
     { event = "login", ip = "1", tp_timestamp = "2024-01-01 00:00:00" },
     { event = "failed", ip = "1", tp_timestamp = "2024-01-01 00:00:00" }],
  ]
  must_not_hit = [
    [{ event = "login", ip = "1" }, { event = "failed", ip = "1" }, { event = "export", ip = "1", size = 10 }],
    [{ event = "failed", ip = "1" }, { event = "login", ip = "2" }, { event = "export", ip = "1", size = 10 }],
    [{ event = "failed", ip = "1", tp_timestamp = "2024-01-01 00:00:00" },
     { event = "login", ip = "1", tp_timestamp = "2024-01-01 00:00:06" },
     { event = "export", ip = "1", size = 10, tp_timestamp = "2024-01-01 00:00:11" }],
    [{ event = "failed" }, { event = "login" }, { event = "export", size = 10 }],
  ]
}
detection "any_order" {
  table        = "app_log"
  steps        = ["event = 'failed'", "event = 'login'"]
  ordered      = false
  within       = "10s"
  must_hit     = [[{ event = "login" }, { event = "failed" }]]
  must_not_hit = [[{ event = "login" }, { event = "login" }]]
}
detection "wrong" {
  table        = "app_log"
  where        = "event = 'failed'"
  must_hit     = [{ event = "fine" }, "no json"]
  must_not_hit = [{ event = "failed" }]
}
"""


def test_events_hit_or_not_as_they_must(tmp_path: Path) -> None:
    home = World(tmp_path, RULES).open()
    good = ("failed", "many", "then", "any_order")
    cases = {name: try_detection(home, home.detections.known[name]) for name in (*good, "wrong")}
    assert [case for name in good for case in cases[name] if not case.is_passed] == []
    assert [len(cases[name]) for name in cases] == [4, 3, 6, 2, 3]
    assert [case.is_passed for case in cases["wrong"]] == [False, False, False]
    assert "not a log of app_log" in cases["wrong"][1].failure
    assert not (tmp_path / "data").exists()
