"""Listening: the socket, the server around the application, and how it ends."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.http_guard.guard import App
from tailpipe.http_guard.sockets import listen_on
from tailpipe.serve.limits import Limits
from tailpipe.serve.pool import Pool

PORT = 8347
"""The port that is tried first."""
_TRIED = 20


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int | None) -> socket.socket:
    """A socket that listens; without a port, the first free one from the usual one on."""
    wanted = range(PORT, PORT + _TRIED) if port is None else (port,)
    for number in wanted:
        try:
            return listen_on(host, number)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            if error.errno == errno.EADDRINUSE:
                hint = "choose another --port, or omit it to use a free one"
                raise UsageError(f"port {number} is in use", hint=hint) from error
            raise UsageError(f'cannot listen on "{host}" port {number}: {error.strerror or error}') from error
    raise TailpipeError(f"the ports {PORT} to {PORT + _TRIED - 1} are in use", hint="choose another with --port")


class _Protocol(H11Protocol):
    """A connection whose client must send its request in time."""

    patience_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:  # the headers of a request have come
            self._stop()
        elif self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        if self._stuck is not None:
            self._stuck.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client takes nothing more: it may do so for a while."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.patience_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._wait()  # what is not taken until then is dropped

    def _wait(self) -> None:
        self._stop()
        self._timer = self.loop.call_later(self.patience_seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Server(uvicorn.Server):
    """Serves until it is interrupted, and then ends at once."""

    def __init__(
        self, app: App, limits: Limits, pool: Pool, *, certificate: str | None = None, key: str | None = None
    ) -> None:
        self.pool = pool
        protocol = type("Protocol", (_Protocol,), {"patience_seconds": limits.patience_seconds})
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        tls: dict[str, Any] = {"ssl_certfile": certificate, "ssl_keyfile": key} if certificate else {}
        config = uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=limits.connections,
            timeout_keep_alive=int(limits.patience_seconds) or 1,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=limits.header_bytes,
            **tls,
        )
        super().__init__(config)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """End at once: statements are interrupted, connections cut."""
        self.should_exit = self.force_exit = True
        self.pool.cancel_all()
