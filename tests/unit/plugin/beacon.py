"""The example plugin for an HTTP API, and a server on loopback that answers as its service would."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tailpipe.plugin import Registry, Retry

EXAMPLE = Path(__file__).parents[3] / "examples" / "plugin-http" / "tailpipe_beacon.py"
TOKEN = "t0ken-of-beacon"
CONFIG = f"""
connection "beacon" "main" {{
  url   = "URL"
  token = "{TOKEN}"
}}
partition "beacon_event" "main" {{
  source "beacon_audit" {{ connection = connection.beacon.main }}
}}
"""


@dataclass
class Service:
    """The events of the service by day, two to a page, and how it answers before it gives them."""

    url: str = ""
    days: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Path and authorization of each request."""
    next_token: Callable[[int], str | None] | None = None

    def say(self, day: str, *names: str) -> None:
        for name in names:
            event = {"id": f"{day}/{name}", "time": f"{day}T10:00:00+00:00", "text": f"{name}: login"}
            self.days.setdefault(day, []).append(event)

    def answer(self, query: dict[str, list[str]]) -> dict[str, Any]:
        start = int(query.get("after", ["0"])[0])
        events = self.days.get(query["day"][0], [])
        more = str(start + 2) if start + 2 < len(events) else None
        if self.next_token is not None:
            more = self.next_token(start)
        return {"events": events[start : start + 2], "next": more}


@contextmanager
def served() -> Iterator[Service]:
    """The service, on a port of its own."""
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.append((self.path, self.headers.get("Authorization", "")))
            status, headers = service.refusals.pop(0) if service.refusals else (200, {})
            body = json.dumps(service.answer(parse_qs(urlsplit(self.path).query)) if status == 200 else {}).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def load(monkeypatch: pytest.MonkeyPatch, slept: list[float], tmp_path: Path) -> ModuleType:
    """The example as a module, that notes its pauses and does not sleep."""
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    module = importlib.import_module("tailpipe_beacon")
    monkeypatch.setattr(module, "RETRY", Retry(sleep=slept.append, chance=lambda low, _: low))
    return module


def registry_with(module: ModuleType) -> Registry:
    """The built-in plugins and the example."""
    return Registry([*Registry.installed().plugins.values(), module.plugin])
