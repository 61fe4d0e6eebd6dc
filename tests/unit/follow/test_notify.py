"""What systemd hears, over a real socket."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator

import pytest

from tailpipe.follow.notify import Notifier


@pytest.fixture
def systemd() -> Iterator[tuple[socket.socket, str]]:
    name = f"tailpipe-test-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name)
        listener.settimeout(5)
        yield listener, f"@{name}"


def test_it_says_that_it_is_ready_what_it_does_and_that_it_is_alive(systemd: tuple[socket.socket, str]) -> None:
    listener, address = systemd
    now = [100.0]
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "20000000"}, lambda: now[0])
    notifier.ready()
    assert listener.recv(999) == b"READY=1"
    notifier.status("following\n2 partitions " + "x" * 999)
    notifier.status("following\n2 partitions " + "x" * 999)
    said = listener.recv(999)
    assert said.startswith(b"STATUS=following 2 partitions x")
    assert len(said) < 300
    assert notifier.alive() == 10
    assert listener.recv(999) == b"WATCHDOG=1"
    now[0] += 4
    assert notifier.alive() == 6
    now[0] += 6
    assert notifier.alive() == 10
    assert listener.recv(999) == b"WATCHDOG=1"
    notifier.reloading()
    assert listener.recv(999).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
    notifier.stopping()
    assert listener.recv(999) == b"STOPPING=1"


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"NOTIFY_SOCKET": "relative"},
        {"NOTIFY_SOCKET": "/nowhere/at/all"},
        {"NOTIFY_SOCKET": "/" + "x" * 500},
        {"NOTIFY_SOCKET": "@gone", "WATCHDOG_USEC": "many"},
        {"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "1"},
    ],
)
def test_without_a_systemd_that_listens_nothing_happens(env: dict[str, str]) -> None:
    notifier = Notifier(env, pid=os.getpid())
    notifier.ready()
    notifier.status("x")
    assert notifier.alive() is None
