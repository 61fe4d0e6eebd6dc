"""A proxy between us and an S3 server: it counts what is asked for, and goes wrong on demand."""

from __future__ import annotations

import http.client
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.bucket_server import Asked, BucketServer


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


class Proxy(BucketServer):
    """Hands requests to the server behind it; `fault` says what goes wrong with each."""

    def __init__(self, upstream: str) -> None:
        super().__init__()
        self.fault: Callable[[Asked], Fault] = lambda _: None
        self.upstream = urlsplit(upstream)

    def handle(self, handler: BaseHTTPRequestHandler, asked: Asked, body: bytes) -> None:
        """Send what the server behind it says, or something else."""
        fault = self.fault(asked)
        if isinstance(fault, Answer):
            text = f"<Error><Code>{fault.code}</Code><Message>by the proxy</Message></Error>"
            _send(handler, fault.status, {"Content-Type": "application/xml", **fault.headers}, text.encode(), None)
            return
        # The signature covers the host, so the server must see the one that was signed.
        connection = http.client.HTTPConnection(self.upstream.hostname or "", self.upstream.port)
        try:
            connection.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
            for name, value in handler.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            content = answer.read()
            if isinstance(fault, Lost):
                _reset(handler)
                return
            skipped = ("transfer-encoding", "connection", "content-length")
            headers = {k: v for k, v in answer.getheaders() if k.lower() not in skipped}
            if asked.method == "HEAD":
                headers["Content-Length"] = answer.getheader("content-length") or "0"
            _send(handler, answer.status, headers, content, fault)
        finally:
            connection.close()


def _send(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes, fault: Fault) -> None:
    handler.send_response_only(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command == "HEAD":
        return
    if isinstance(fault, Cut):
        handler.wfile.write(body[: fault.after])
        handler.wfile.flush()
        handler.close_connection = True
        if fault.is_reset:
            _reset(handler)
        return
    half = len(body) // 2 if isinstance(fault, Slow) else 0
    handler.wfile.write(body[:half])
    if isinstance(fault, Slow):
        handler.wfile.flush()
        time.sleep(fault.seconds)
    handler.wfile.write(body[half:])


def _reset(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
