"""What the HTTP servers of buckets in tests share: they parse requests, record them, and run on a free port."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request as the server saw it; the names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    raw_path: str
    """As it was sent, with percent signs."""

    @property
    def is_list(self) -> bool:
        return "list-type" in self.query or self.query.get("comp") == "list"

    @property
    def prefix(self) -> str:
        """What a listing asks for."""
        return self.query.get("prefix", "")


class BucketServer(ABC):
    """Remembers all requests while it runs."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""

    @abstractmethod
    def handle(self, handler: BaseHTTPRequestHandler, asked: Asked, body: bytes) -> None:
        """Answer a request."""

    @property
    def lists(self) -> list[Asked]:
        return [one for one in self.asked if one.is_list]

    @property
    def gets(self) -> list[Asked]:
        return [one for one in self.asked if one.method == "GET" and not one.is_list]

    @contextmanager
    def running(self) -> Iterator[Self]:
        """The server, on a free port."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"bucket_server": self}))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    bucket_server: BucketServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, unquote(parts.path), query, headers, parts.path)
        self.bucket_server.asked.append(asked)
        body = self.rfile.read(int(headers.get("content-length") or 0))
        self.bucket_server.handle(self, asked, body)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815
