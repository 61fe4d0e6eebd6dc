"""One workspace and one server for the tests that change neither."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.detect.world import World
from tests.unit.serve.support import Client, serving

CONFIG = """
detection "admin" {
  table    = "app_log"
  where    = "user = 'admin'"
  severity = "high"
  title    = "An admin"
}
query "by_user" {
  title = "Events by user"
  sql   = "SELECT user, count(*) AS n FROM app_log WHERE size >= $least GROUP BY ALL ORDER BY ALL"
  param "least" {
    type    = "integer"
    default = 0
  }
}
dashboard "shop" {
  title = "The shop"
  panel "users" {
    query = "by_user"
    kind  = "bar"
    width = 12
  }
  panel "large" {
    title  = "Large ones"
    query  = "by_user"
    params = { least = 200 }
  }
}
schema "large" {
  where = "size >= 200"
}
"""
NAMES = ("alice", "bob", "admin", None)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Three days of events, each a file, and the hits of a detection."""
    made = World(tmp_path_factory.mktemp("explorer") / "home", CONFIG)
    made.begin()
    for number, day in enumerate(("2024-01-08", "2024-01-09", "2024-01-10")):
        made.append(
            *(
                {
                    "at": 3600 * hour + number,
                    "user": NAMES[hour % 4],
                    "event": "Log In" if hour % 2 else "log out",
                    "ip": f"10.0.{number}.{hour}",
                    "size": 100 * number + hour,
                    "tp_source_ip": f"10.0.{number}.{hour}",
                    "tp_usernames": [NAMES[hour % 4]] if NAMES[hour % 4] else None,
                }
                for hour in range(24)
            ),
            day=day,
        )
    made.detect()
    return made


@pytest.fixture(scope="session")
def client(world: World) -> Iterator[Client]:
    """A server over it."""
    with serving(world.open()) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory for a workspace of a test's own."""
    return tmp_path / "home"
