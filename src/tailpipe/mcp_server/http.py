"""Streamable HTTP on loopback: only with the token, for the right host, and for no page of a browser."""

from __future__ import annotations

import secrets
import socket

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from tailpipe.errors import UsageError
from tailpipe.http_guard.guard import App, Guard
from tailpipe.http_guard.programs import ProgramAccess, text_refusal
from tailpipe.http_guard.sockets import listen_on

HOST = "127.0.0.1"
PATH = "/mcp"
_SHORTEST = 16
_LARGEST_HEAD = 65_536
_LARGEST_REQUEST = 1_000_000
_SESSIONS = 100


def new_token(given: str | None) -> str:
    """The token that callers have to know: the one that is given, or a random one."""
    if given is None:
        return secrets.token_urlsafe(32)
    if len(given) < _SHORTEST or not given.isascii() or not given.isprintable() or " " in given:
        hint = "such as: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
        raise UsageError(f"TAILPIPE_MCP_TOKEN must be at least {_SHORTEST} ASCII characters without spaces", hint=hint)
    return given


def guarded_app(server: MCPServer, token: str, port: int) -> App:
    """The server as an application behind its guard."""
    access = ProgramAccess(frozenset(f"{name}:{port}" for name in (HOST, "localhost")), token)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_LARGEST_REQUEST,
        max_sessions=_SESSIONS,
        transport_security=TransportSecuritySettings(allowed_hosts=sorted(access.hosts)),
    )
    return Guard(app, access, text_refusal, _LARGEST_HEAD)


def listening(port: int) -> socket.socket:
    """A socket on loopback; port 0 is any that is free."""
    try:
        return listen_on(HOST, port)
    except OSError as error:
        reason = error.strerror
        raise UsageError(f"cannot listen on {HOST}:{port}: {reason}", hint="choose another with --port") from None


def serve(server: MCPServer, token: str, bound: socket.socket) -> None:
    """Serve until the process receives a signal to end."""
    app = guarded_app(server, token, bound.getsockname()[1])
    config = uvicorn.Config(
        app,
        http="h11",  # others read headers of any size
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[bound])
