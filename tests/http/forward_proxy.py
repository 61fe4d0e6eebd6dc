"""A forward proxy on loopback: it passes on requests and tunnels, and notes what it sees."""

from __future__ import annotations

import http.client
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class ForwardProxy:
    """What went through: method and target of each request, and how it logged in to the proxy."""

    url: str = ""
    seen: list[tuple[str, str]] = field(default_factory=list)
    logins: list[str | None] = field(default_factory=list)
    login: str | None = None
    """What a client must send, if anything."""


class _Handler(BaseHTTPRequestHandler):
    proxy: ForwardProxy
    protocol_version = "HTTP/1.1"

    def _is_refused(self) -> bool:
        self.proxy.seen.append((self.command, self.path))
        self.proxy.logins.append(self.headers.get("Proxy-Authorization"))
        if self.proxy.login in (None, self.proxy.logins[-1]):
            return False
        self.send_error(407)
        return True

    def do_CONNECT(self) -> None:
        if self._is_refused():
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response_only(200)
            self.end_headers()
            ends = {self.connection: there, there: self.connection}
            while True:
                for one in select.select(list(ends), [], [], 10)[0]:
                    data = one.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    ends[one].sendall(data)

    def do_GET(self) -> None:
        if self._is_refused():
            return
        parts = urlsplit(self.path)
        there = http.client.HTTPConnection(parts.netloc)
        headers = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        there.request("GET", f"{parts.path}?{parts.query}", headers=headers)
        answer = there.getresponse()
        body = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        there.close()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def proxied() -> Iterator[ForwardProxy]:
    made = ForwardProxy()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": made}))
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
