"""A proxy between us and an S3 server: it counts what is asked for, and goes wrong on demand."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request as the proxy saw it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def is_list(self) -> bool:
        return self.query.get("list-type") == "2"

    @property
    def prefix(self) -> str:
        """What a listing asks for."""
        return self.query.get("prefix", "")


@dataclass(frozen=True)
class Answer:
    """What the proxy says itself."""

    status: int
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cut:
    """The server's answer, but the connection ends after so many bytes of the body.

    If it is reset, the last of these bytes may not arrive either.
    """

    after: int
    is_reset: bool = True


@dataclass(frozen=True)
class Slow:
    """The server's answer, with a pause in mid-body."""

    seconds: float


@dataclass(frozen=True)
class Lost:
    """The server does what is asked, but the connection is reset before its answer."""


Fault = Answer | Cut | Slow | Lost | None


class Proxy:
    """Remembers all requests; `fault` says what goes wrong with each."""

    def __init__(self, upstream: str) -> None:
        self.asked: list[Asked] = []
        self.fault: Callable[[Asked], Fault] = lambda _: None
        self.upstream = urlsplit(upstream)
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def lists(self) -> list[Asked]:
        return [one for one in self.asked if one.is_list]

    @property
    def gets(self) -> list[Asked]:
        return [one for one in self.asked if one.method == "GET" and not one.is_list]

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def log_message(self, *_: Any) -> None:
        pass

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        asked = Asked(self.command, unquote(parts.path), query, {k.lower(): v for k, v in self.headers.items()})
        self.proxy.asked.append(asked)
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.fault(asked)
        if isinstance(fault, Answer):
            body = f"<Error><Code>{fault.code}</Code><Message>by the proxy</Message></Error>".encode()
            self._send(fault.status, {"Content-Type": "application/xml", **fault.headers}, body, None)
            return
        # The signature covers the host, so the server must see the one that was signed.
        connection = http.client.HTTPConnection(self.proxy.upstream.hostname or "", self.proxy.upstream.port)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(sent or None)
            answer = connection.getresponse()
            body = answer.read()
            if isinstance(fault, Lost):
                self._reset()
                return
            skipped = ("transfer-encoding", "connection", "content-length")
            headers = {k: v for k, v in answer.getheaders() if k.lower() not in skipped}
            if self.command == "HEAD":
                headers["Content-Length"] = answer.getheader("content-length") or "0"
            self._send(answer.status, headers, body, fault)
        finally:
            connection.close()

    def _send(self, status: int, headers: dict[str, str], body: bytes, fault: Fault) -> None:
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if isinstance(fault, Cut):
            self.wfile.write(body[: fault.after])
            self.wfile.flush()
            self.close_connection = True
            if fault.is_reset:
                self._reset()
            return
        half = len(body) // 2 if isinstance(fault, Slow) else 0
        self.wfile.write(body[:half])
        if isinstance(fault, Slow):
            self.wfile.flush()
            time.sleep(fault.seconds)
        self.wfile.write(body[half:])

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
