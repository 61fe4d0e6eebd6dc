"""A server that speaks CloudWatch Logs, and log groups on it."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.unit.collect.support import World

NOW = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)  # far from midnight: time passes in tests
TODAY = NOW.replace(hour=0, minute=0, second=0)

CONFIG = """
connection "aws" "test" {
  access_key   = "AKIATEST"
  secret_key   = "very-secret"
  region       = "eu-central-1"
  endpoint_url = "URL"
}
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "_event_time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "aws_cloudwatch_log_group" {
    log_group_name = "GROUP"
    connection     = connection.aws.test
    MORE
  }
}
"""


def at(days: int, clock: str = "10:00:00.000") -> datetime:
    """A time so many days ago."""
    return datetime.fromisoformat(f"{(TODAY - timedelta(days=days)).date()}T{clock}+00:00")


@dataclass
class Group:
    """A log group on the server, and a workspace that collects it."""

    url: str
    root: Path
    name: str = field(default_factory=lambda: f"/app/{uuid.uuid4().hex}")
    more: str = ""
    config: str = CONFIG

    def __post_init__(self) -> None:
        self.client: Any = boto3.client(
            "logs", "eu-central-1", endpoint_url=self.url, aws_access_key_id="a", aws_secret_access_key="b"
        )
        self.client.create_log_group(logGroupName=self.name)
        self.streams: set[str] = set()
        self.is_collected = False
        self.world = World(self.root, now=NOW)

    def another(self, name: str) -> Group:
        """A further group on the same server."""
        return Group(self.url, self.root, name)

    def source(self, names: str) -> None:
        """Collect the groups of these names, as config writes them."""
        self.config = CONFIG.replace('"GROUP"', names)

    def put(self, stream: str, *events: tuple[datetime, str]) -> None:
        """Events with their texts as messages."""
        if stream not in self.streams:
            self.streams.add(stream)
            self.client.create_log_stream(logGroupName=self.name, logStreamName=stream)
        events_ = [{"timestamp": round(when.timestamp() * 1000), "message": text} for when, text in sorted(events)]
        answer = self.client.put_log_events(logGroupName=self.name, logStreamName=stream, logEvents=events_)
        assert "rejectedLogEventsInfo" not in answer

    def say(self, stream: str, days: int, *messages: str, clock: str = "10:00:00.000") -> None:
        """Messages that say something, all in one millisecond."""
        self.put(stream, *((at(days, clock), json.dumps({"message": text})) for text in messages))

    def collect(self, start: str | None = None, end: str | None = None, **options: Any) -> Any:
        """Collect the partition; the first time the last days only, because each day is a question."""
        start = start or (None if self.is_collected else "T-2d")
        self.is_collected = True
        text = self.config.replace("URL", self.url).replace("GROUP", self.name)
        self.world.text = text.replace("MORE", self.more)
        return self.world.collect(start, end, **options)


@pytest.fixture
def group(moto: str, tmp_path: Path) -> Group:
    return Group(moto, tmp_path)


@pytest.fixture
def answering() -> Iterator[Any]:
    """Start a server that always answers with an error."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    servers: list[ThreadingHTTPServer] = []

    def start(status: int, code: str, text: str = "") -> tuple[str, list[str]]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked.append(self.headers.get("X-Amz-Target", ""))
                self.rfile.read(int(self.headers["Content-Length"]))
                body = json.dumps({"__type": code, "message": text}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("x-amzn-errortype", code)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
