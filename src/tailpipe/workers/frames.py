"""Messages between processes on a socket: a kind, a length, and bytes."""

from __future__ import annotations

import socket
import struct

REQUEST, INTERRUPT, PART, END, FAILURE, CANCELLED = b"R", b"I", b"P", b"E", b"F", b"C"

_HEAD = struct.Struct("!cQ")


def send(channel: socket.socket, kind: bytes, data: bytes = b"") -> None:
    """Send one message; `OSError` if the other process has ended."""
    channel.sendall(_HEAD.pack(kind, len(data)))
    if data:
        channel.sendall(data)


def receive(channel: socket.socket) -> tuple[bytes, bytes]:
    """The next message; `EOFError` if the other process has ended."""
    kind, length = _HEAD.unpack(_exactly(channel, _HEAD.size))
    return kind, _exactly(channel, length)


def _exactly(channel: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        try:
            part = channel.recv(min(length - len(data), 1 << 20))
        except ConnectionError:
            part = b""
        if not part:
            raise EOFError
        data += part
    return bytes(data)
