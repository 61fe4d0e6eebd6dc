"""A server on loopback that answers as an API would, and goes wrong on demand."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request as the server saw it; the names of headers are in small letters."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes
    target: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))


@dataclass(frozen=True)
class Reply:
    """What the server sends; `headers` may have several of one name."""

    body: Any = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    cut: int | None = None
    """The connection ends after so many bytes of the body."""
    pause: float = 0.0
    """Seconds in the middle of the body."""
    has_length: bool = True

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def refusal(status: int, body: Any = b"", **headers: str) -> Reply:
    """A reply that is no success; `_` in the name of a header is `-`."""
    return Reply(body, status, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def zipped(reply: Reply) -> Reply:
    return Reply(gzip.compress(reply.data), reply.status, (*reply.headers, ("Content-Encoding", "gzip")))


@dataclass
class Server:
    """Answers by `answer`; replies in `faults` come first, one for each request."""

    url: str = ""
    answer: Callable[[Asked], Reply] = lambda _: Reply([])
    faults: list[Reply | None] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    watch: Callable[[list[tuple[str, str]]], None] = lambda _: None
    """Sees the headers of a request as they came."""
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def params(self, name: str) -> list[str]:
        return [one.params.get(name, "") for one in self.asked]

    def reply(self, asked: Asked) -> Reply:
        with self.lock:
            self.asked.append(asked)
            fault = self.faults.pop(0) if self.faults else None
        return fault or self.answer(asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    world: Server

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        params = dict(parse_qsl(parts.query, keep_blank_values=True))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.world.watch(self.headers.items())
        with self.world.lock:
            self.world.at_once += 1
            self.world.most_at_once = max(self.world.most_at_once, self.world.at_once)
        try:
            asked = Asked(self.command, unquote(parts.path), params, headers, body, self.path)
            self._send(self.world.reply(asked))
        finally:
            with self.world.lock:
                self.world.at_once -= 1

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _send(self, reply: Reply) -> None:
        self.send_response_only(reply.status)
        data = reply.data
        names = {name.lower() for name, _ in reply.headers}
        if reply.has_length:
            self.send_header("Content-Length", str(len(data)))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        if "content-type" not in names:
            self.send_header("Content-Type", "application/json")
        if "date" not in names:
            self.send_header("Date", self.date_time_string())
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        half = len(data) // 2 if reply.pause else 0
        self.wfile.write(data[:half])
        self.wfile.flush()
        time.sleep(reply.pause)
        self.wfile.write(data[half : reply.cut])
        self.wfile.flush()
        if reply.cut is not None:
            self.close_connection = True
            if reply.has_length:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up, or that does not trust the certificate, is no error of the test."""


@contextmanager
def served(context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Server]:
    """A server on a port of its own, by TLS if there is a context."""
    world = Server()
    listener = _Listener((host, 0), type("Handler", (_Handler,), {"world": world}))
    if context is not None:
        listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    world.url = f"{'https' if context else 'http'}://{host}:{listener.server_port}"
    try:
        yield world
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


@dataclass
class Events:
    """The events of an API, in pages; `style` is how it leads from one to the next."""

    server: Server
    events: list[dict[str, Any]] = field(default_factory=list)
    size: int = 2
    style: str = "link"
    includes_end: bool = False

    def __post_init__(self) -> None:
        self.server.answer = self.answer

    def say(self, day: str, *names: str, at: str = "10:00:00") -> None:
        self.events += [{"id": f"{day}/{name}", "time": f"{day}T{at}Z", "actor": name} for name in names]

    def answer(self, asked: Asked) -> Reply:
        given: Mapping[str, Any] = {**(asked.json if asked.body else {}), **asked.params}
        found = [one for one in self.events if self._is_in(one["time"], given)]
        place = int(given.get("after") or 0)
        if self.style == "page":
            place = (int(given.get("page", 1)) - 1) * self.size
        elif self.style == "offset":
            place = int(given.get("offset", 0))
        chosen = found[place : place + self.size]
        more = place + self.size if place + self.size < len(found) else None
        return self._reply(asked, chosen, more)

    def _is_in(self, moment: str, given: Mapping[str, Any]) -> bool:
        since, until = str(given.get("since", "")), str(given.get("until", "9999"))
        return since <= moment < until or (self.includes_end and moment == until)

    def _reply(self, asked: Asked, chosen: list[dict[str, Any]], more: int | None) -> Reply:
        following = f"{quote(asked.path)}?{urlencode({**asked.params, 'after': str(more)}, quote_via=quote)}"
        if self.style == "link":
            links: tuple[tuple[str, str], ...] = (("Link", f'<{self.server.url}{asked.target}>; rel="self"'),)
            if more is not None:
                links += (("Link", f'<{self.server.url}{following}>; rel="next"'),)
            return Reply(chosen, headers=links)
        if self.style == "next_url":
            return Reply({"value": chosen, "@odata.nextLink": self.server.url + following if more else None})
        if self.style == "cursor":
            return Reply({"data": {"items": chosen}, "cursor": str(more) if more else "", "has_more": more is not None})
        return Reply({"items": chosen})
