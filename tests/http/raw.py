"""A server that sends the bytes of a script, whatever they are: what no library for servers would send."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Script = Callable[[socket.socket, bytes], None]
"""Gets the connection and the request that came."""


class RawServer:
    """Plays one script to each connection, until the test ends."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.heads: list[bytes] = []
        self.ended = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self.ended.set()
        self._listener.close()

    def _serve(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._play, args=(connection,), daemon=True).start()

    def _play(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                if not (came := connection.recv(65536)):
                    return
                head += came
            self.heads.append(head)
            self._script(connection, head)

    def drip(self, connection: socket.socket, text: bytes, seconds: float) -> None:
        """Send the text again and again, a piece at a time."""
        while not self.ended.wait(seconds):
            connection.sendall(text)


@contextmanager
def scripted(script: Callable[[RawServer], Script]) -> Iterator[RawServer]:
    """A server of a script that knows it."""
    made = RawServer(lambda connection, head: script(made)(connection, head))
    try:
        yield made
    finally:
        made.close()


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer as it goes over the wire."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body
