"""The headers of every answer: no code of other sites, no inline code, no copies in caches."""

from __future__ import annotations

import secrets

from tailpipe.frozen import frozen
from tailpipe.http_guard.guard import App, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:;"
    " connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


@frozen
class SafeHeaders:
    """Adds headers to the answers of an application, which finds the nonce of a page in `scope["nonce"]`."""

    app: App

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        nonce = secrets.token_urlsafe(16)
        scope["nonce"] = nonce
        policy = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                named = {name.lower() for name, _ in given}
                message = {**message, "headers": [*given, *(one for one in _HEADERS if one[0] not in named), policy]}
            await send(message)

        await self.app(scope, receive, sending)
