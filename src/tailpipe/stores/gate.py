"""The gate: serves ranges of stored files to the DuckDB of this process, over loopback, without giving it credentials.

DuckDB asks `http://127.0.0.1:<port>/<token>/<number>`. The token is 256 random bits of this session; the number stands
for one file of its snapshot. Nothing of a request reaches the store but the two ends of a range: the key is the
catalog's. Everything else is answered by a refusal that says nothing. Where the system tells whose a connection is
(Linux), other processes are refused even with the token.
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tailpipe.errors import TailpipeError

Read = Callable[[int, int], bytes]
"""The bytes of a file from a place on, so many of them."""

_PIECE = 16 * 1024 * 1024
"""A longer range is several requests to the store, so that a few MB of it are in memory at once."""
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")
_SECONDS = 60.0
"""How long a connection may stay idle."""


class Gate:
    """A range server for some files; `prefix` is what their addresses begin with. Close it."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._files: dict[str, tuple[int, Read]] = {}
        self._numbers: dict[str, str] = {}
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.failure: TailpipeError | None = None
        """Why the store could not be read: DuckDB sees a status alone. Whoever reports it clears it."""
        self.sent = 0
        """How many bytes were served."""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.gate = self
        threading.Thread(target=self._server.serve_forever, args=(0.2,), name="gate", daemon=True).start()

    @property
    def prefix(self) -> str:
        """What the address of every file begins with."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{self._token}/"

    def serve(self, name: str, size: int, read: Read) -> str:
        """Serve a file from now on; the address of it. The same name has the same address."""
        with self._lock:
            if name not in self._numbers:
                number = str(len(self._numbers))
                self._numbers[name] = number
                self._files[number] = size, read
            return self.prefix + self._numbers[name]

    def cut(self) -> None:
        """End what is being served: an engine that waits for the store is to stop."""
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Serve nothing any more."""
        self._server.shutdown()
        self._server.server_close()
        self.cut()

    def find(self, target: str) -> tuple[int, Read] | None:
        """The file of a request: its whole target must be an address that was given out, byte for byte."""
        token, _, number = target.removeprefix("/").partition("/")
        is_ours = target.startswith("/") and hmac.compare_digest(token.encode(), self._token.encode())
        return self._files.get(number) if is_ours else None

    def holding(self, connection: socket.socket, *, is_open: bool) -> None:
        """Remember a connection while it is open."""
        with self._lock:
            (self._open.add if is_open else self._open.discard)(connection)


def is_own(client: int, server: int, proc: Path = Path("/proc/self")) -> bool:
    """Whether a connection over loopback between two ports was opened by this process; true if unknown."""
    wanted = [f"0100007F:{client:04X}", f"0100007F:{server:04X}"]
    try:
        lines = (proc / "net/tcp").read_text().splitlines()[1:]
        sockets = [parts[9] for line in lines if (parts := line.split())[1:3] == wanted]
        if not sockets:
            return not lines
        held = {str(one.readlink()) for one in (proc / "fd").iterdir() if one.is_symlink()}
    except (OSError, IndexError):
        return not proc.exists()
    return f"socket:[{sockets[0]}]" in held


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    gate: Gate

    def handle_error(self, *_: Any) -> None:
        """Say nothing: a connection that was cut is no news, and standard error is for people."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "tailpipe"
    sys_version = ""
    timeout = _SECONDS
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._is_own = is_own(self.client_address[1], self.server.server_address[1])
        self.server.gate.holding(self.connection, is_open=True)

    def finish(self) -> None:
        self.server.gate.holding(self.connection, is_open=False)
        with suppress(OSError):
            super().finish()

    def do_HEAD(self) -> None:
        """Answer from what the catalog knows, without a request."""
        if (found := self._found()) is not None:
            self._begin(200, found[0])

    def do_GET(self) -> None:
        """Answer one range."""
        if (found := self._found()) is None:
            return
        size, read = found
        match = _RANGE.fullmatch(self.headers.get("Range", ""))
        if match is None:  # none, several, a suffix, or no range at all: DuckDB asks for none of these
            self._refuse(400)
            return
        first = int(match[1])
        last = min(int(match[2]) if match[2] else size - 1, size - 1)
        if first > last:
            self._refuse(416)
            return
        self._send(size, first, last, read)

    def _send(self, size: int, first: int, last: int, read: Read) -> None:
        gate, begun = self.server.gate, False
        for start in range(first, last + 1, _PIECE):
            length = min(_PIECE, last + 1 - start)
            try:
                data = read(start, length)
                if len(data) != length:
                    raise TailpipeError("an object in the store is shorter than it was", hint="run: tailpipe push")
            except (TailpipeError, OSError) as error:
                gate.failure = error if isinstance(error, TailpipeError) else TailpipeError(str(error))
                self.close_connection = True
                if not begun:
                    self._refuse(502)
                return
            if not begun:
                self._begin(206, last + 1 - first, f"bytes {first}-{last}/{size}")
                begun = True
            self.wfile.write(data)
            gate.sent += len(data)

    def _found(self) -> tuple[int, Read] | None:
        """The requested file, if this process requests it by our own address; a refusal otherwise."""
        host = "{}:{}".format(*self.server.server_address)
        found = self.server.gate.find(self.requestline.split()[1])  # `path` is not always as it was sent
        if found is None or not self._is_own or self.headers.get("Host") != host:
            self._refuse(404)
            return None
        return found

    def _begin(self, status: int, length: int, content_range: str = "") -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", str(length))
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{self.path.rpartition("/")[2]}"')
        self.send_header("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")  # files never change
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()

    def _refuse(self, status: int) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse without words, also methods that there are not."""
        with suppress(OSError):
            self._refuse(code)

    def log_message(self, *_: Any) -> None:
        """Log nothing: addresses hold the token."""
