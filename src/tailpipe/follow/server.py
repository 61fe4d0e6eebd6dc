"""The status server: `/healthz`, `/readyz` and `/metrics` over HTTP, by default for this machine only."""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tailpipe import __version__
from tailpipe.errors import UsageError
from tailpipe.follow.status import State

_SECONDS = 5.0
"""How long a client may take to send its request, and to take the answer."""
_AT_ONCE = 8
_PLAIN = "text/plain; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json; charset=utf-8"


def parse_address(text: str) -> tuple[str, int]:
    """The host and port of `127.0.0.1:9464`, `[::1]:9464` or `:9464`, which is of this machine too."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    try:
        number = int(port)
        ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
        if not colon or not 0 <= number <= 65535 or not port.isascii():
            raise ValueError(port)
    except ValueError:
        hint = "write an address and a port: 127.0.0.1:9464"
        raise UsageError(f'"{text}" is not an address', hint=hint) from None
    return ("127.0.0.1" if host == "localhost" else host), number


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], answer: Callable[[str], tuple[int, str, str]]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.answer = answer
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)  # more than a few at once are no monitoring
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: a client that disconnects is not an event."""

    def server_bind(self) -> None:
        # Not that of HTTPServer, which asks the name service who we are.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "tailpipe"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a question."""
        self._answer(has_body=True)

    def do_HEAD(self) -> None:
        """Answer it without the page."""
        self._answer(has_body=False)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a client that polls every few seconds is not an event."""

    def _answer(self, *, has_body: bool) -> None:
        if not self._is_for_us():
            status, kind, text = HTTPStatus.MISDIRECTED_REQUEST, _PLAIN, "the Host header is not this server\n"
        else:
            status, kind, text = self.server.answer(self.path.partition("?")[0])  # type: ignore[assignment]
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if has_body:
            self.wfile.write(body)

    def _is_for_us(self) -> bool:
        """Whether the client named an address: a page of the web that leads here by a name of its own does not."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1:
            return False
        name = hosts[0].strip()
        name = name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.partition(":")[0]
        if name == "localhost":
            return True
        try:
            requested = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        own = ipaddress.ip_address(str(self.server.server_address[0]))
        return requested.is_loopback if own.is_loopback else True


class StatusServer:
    """Answers in threads of its own until it is closed."""

    def __init__(
        self,
        address: tuple[str, int],
        state: Callable[[], State],
        metrics: Callable[[], str],
        poll_seconds: float = 0.5,
    ) -> None:
        self._state = state
        self._metrics = metrics
        try:
            self._server = _Server(address, self.answer)
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            host, port = address
            raise UsageError(
                f"cannot listen on {host}:{port}: {reason}", hint="choose another --status-address"
            ) from problem
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": poll_seconds},
            name="tailpipe-status",
            daemon=True,
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = str(self._server.server_address[0]), self._server.server_port
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def answer(self, path: str) -> tuple[int, str, str]:
        """Status, type and text of a page."""
        state = self._state()
        if path == "/metrics":
            return HTTPStatus.OK, _METRICS, self._metrics()
        if path == "/healthz":
            code = HTTPStatus.SERVICE_UNAVAILABLE if state.problems else HTTPStatus.OK
            return code, _JSON, _page("failing" if state.problems else "ok", state)
        if path == "/readyz":
            is_ready = state.is_ready and not state.is_stopping
            word = "stopping" if state.is_stopping else "ready" if is_ready else "starting"
            return (HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE), _JSON, _page(word, state)
        return HTTPStatus.NOT_FOUND, _PLAIN, "not found; see /healthz, /readyz and /metrics\n"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _page(word: str, state: State) -> str:
    return json.dumps({"status": word, "version": __version__, "problems": state.problems}, ensure_ascii=False) + "\n"
