"""Notify systemd that the service is ready, what it does, and that it is alive: `sd_notify`, over its socket."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

_LONGEST = 200


class Notifier:
    """Sends to the socket of `NOTIFY_SOCKET`; without one it does nothing. A send that fails is left out."""

    def __init__(self, env: Mapping[str, str], clock: Callable[[], float] = time.monotonic, pid: int = 0) -> None:
        self._address = _address(env.get("NOTIFY_SOCKET", ""))
        self._clock = clock
        self._interval = _watchdog_seconds(env, pid or os.getpid())
        self._last = float("-inf")
        self._status = ""

    def ready(self) -> None:
        """The service has begun."""
        self._send("READY=1")

    def reloading(self) -> None:
        """The config is read again; `ready` says that it was."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The service ends."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """What `systemctl status` shows; sent when it has changed."""
        line = " ".join(text.split())[:_LONGEST]
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def alive(self) -> float | None:
        """Notify the watchdog when it is time; the seconds until the next call, or None without a watchdog."""
        if self._interval is None:
            return None
        now = self._clock()
        if now - self._last >= self._interval:
            self._last = now
            self._send("WATCHDOG=1")
        return max(0.0, self._last + self._interval - now)

    def _send(self, text: str) -> None:
        if self._address is None:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)  # without a listener, or with a full queue, the loop goes on
            sender.sendto(text.encode(), self._address)


def _address(text: str) -> str | None:
    """A path, or a name that begins with `@`; None for what systemd never sets."""
    if text.startswith("@"):
        return "\0" + text[1:]
    return text if text.startswith("/") else None


def _watchdog_seconds(env: Mapping[str, str], pid: int) -> float | None:
    """Half the time after which systemd takes the service for dead; None if it does not watch this process."""
    text, owner = env.get("WATCHDOG_USEC", ""), env.get("WATCHDOG_PID", "")
    if not text.isdecimal() or not int(text) or (owner and owner != str(pid)):
        return None
    return int(text) / 2e6
