"""A real server on loopback that takes alerts, and fails, hangs, redirects and dies as it is told."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


class Receiver:
    """Answers each request with the next of `script`, the last one again and again.

    A number is a status. `hang` never answers, `drip` sends a header byte by byte, `die` closes the connection in the
    middle of an answer, `large` answers without end, `redirect` names another place of this server.
    """

    def __init__(self, *script: int | str) -> None:
        self.script = list(script)
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.over = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), body))
                receiver.answer(self)

            def do_GET(self) -> None:
                receiver.requests.append((self.path, dict(self.headers), b""))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        raw = handler.connection
        if step == "hang":
            self.over.wait(60)
        elif step == "drip":
            while not self.over.wait(0.05):
                try:
                    raw.sendall(b"H")
                except OSError:
                    return
        elif step == "die":
            raw.sendall(b"HTTP/1.1 20")
            raw.shutdown(socket.SHUT_RDWR)
        elif step == "large":
            raw.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 10_000)
        elif step == "redirect":
            handler.send_response(302)
            handler.send_header("Location", f"http://127.0.0.1:{self.port}/elsewhere")
            handler.end_headers()
        elif str(step).startswith(("busy", "after")):
            handler.send_response(429)
            handler.send_header("Retry-After", "1800" if step == "busy" else str(step).removeprefix("after "))
            handler.end_headers()
        else:
            handler.send_response(int(step))
            handler.end_headers()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook/TOKEN-IN-PATH"

    def __enter__(self) -> Receiver:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
