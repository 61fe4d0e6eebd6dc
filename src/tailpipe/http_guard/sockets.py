"""Sockets that HTTP servers listen on."""

from __future__ import annotations

import socket


def listen_on(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on, or an `OSError`; port 0 is any that is free."""
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)
    except OSError:
        found.close()
        raise
    return found
