"""Streamable HTTP on loopback: only with the token, for the right host, and for no page of a browser."""

from __future__ import annotations

import hmac
import secrets
import socket
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from tailpipe.errors import UsageError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["HOST", "PATH", "Guard", "guarded_app", "listening", "new_token", "serve"]

HOST = "127.0.0.1"
PATH = "/mcp"
_SHORTEST = 16
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


class Guard:
    """Refuses requests of other hosts and origins, and those without the token, before anything else sees them."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the server answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope) if scope["type"] == "http" else (403, b"only HTTP is served")
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, text = refusal
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
        headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    def _refusal(self, scope: Scope) -> tuple[int, bytes] | None:
        said: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            said.setdefault(name.lower(), []).append(value)
        hosts, tokens = said.get(b"host", []), said.get(b"authorization", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, b"wrong host"
        if b"origin" in said or said.get(b"sec-fetch-site", [b"none"]) != [b"none"]:
            return 403, b"browsers are not served"
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._expected):
            return 401, b"the token is missing or wrong"
        return None


def guarded_app(server: MCPServer, token: str, port: int) -> ASGIApp:
    """The server as an application behind its guard."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_LARGEST_REQUEST,
        max_sessions=_SESSIONS,
        transport_security=TransportSecuritySettings(allowed_hosts=[f"{HOST}:{port}", f"localhost:{port}"]),
    )
    return Guard(app, token, port)


def listening(port: int) -> socket.socket:
    """A socket on loopback; port 0 is any that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise UsageError(
            f"cannot listen on {HOST}:{port}: {error.strerror}", hint="choose another with --port"
        ) from None
    return found


def serve(server: MCPServer, token: str, bound: socket.socket) -> None:
    """Serve until the process receives a signal to end."""
    app = guarded_app(server, token, bound.getsockname()[1])
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=5
    )
    uvicorn.Server(config).run(sockets=[bound])
