"""Configs over a server of the test, and workspaces that they are collected into."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.unit.collect.support import World

NOW = datetime(2024, 3, 10, 12, tzinfo=UTC)
TABLE = """
table "audit" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "id"           { type = "varchar" }
  column "actor"        { type = "varchar" }
}
"""
SOURCE = """
    path   = "/logs"
    params = { since = "{from}", until = "{to}" }
    key    = ["id"]
    time   = "time"
"""


@dataclass
class FakeTime:
    """A clock that goes on while somebody sleeps, and beside that as the real one."""

    slept: list[float] = field(default_factory=list)
    ahead: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.slept.append(seconds)
            self.ahead += seconds

    def clock(self) -> float:
        return time.time() + self.ahead


def config(url: str, source: str = SOURCE, connection: str = "", table: str = TABLE) -> str:
    """A partition `audit.x` whose one source asks the server."""
    return f"""{table}
connection "http" "api" {{
  base_url = "{url}"
{connection}
}}
partition "audit" "x" {{
  source "http" {{
    connection = connection.http.api
{source}
  }}
}}
"""


def world(root: Path, text: str, now: datetime = NOW) -> World:
    return World(root, text, now)


def actors(made: World) -> list[str]:
    """Who did something, one name for each row."""
    return sorted(map(str, made.rows("actor", "audit.x")))
