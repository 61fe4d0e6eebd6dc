"""The guard in front of the explorer: who may ask, and how; and the headers of every answer.

A page of another site must not read or change anything here, although it can make the browser send requests: so the
host, the origin and the token are checked, and nothing is answered without them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl

from tailpipe.frozen import frozen
from tailpipe.serve.pool import encoded
from tailpipe.serve.problems import Problems, RefusedError

__all__ = ["Access", "Guard"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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
_SITES = (b"same-origin", b"none")
"""Where a browser says that a request comes from: the page itself, or the address bar."""


@frozen
class Access:
    """Who may ask: under these hosts, with this token; `is_secure` says that the connection is encrypted."""

    hosts: frozenset[str]
    token: str
    port: int
    is_secure: bool = False
    codes: set[str] = field(default_factory=set, compare=False, repr=False)
    """Tokens that work once, for browsers: others on this machine may see how a program was started."""

    @classmethod
    def to(cls, hosts: Iterable[str], port: int, *, is_secure: bool = False, token: str | None = None) -> Access:
        """Access under names of this machine, with a new token."""
        names = {f"{host}:{port}" for host in hosts}
        if port == (443 if is_secure else 80):
            names |= set(hosts)
        return cls(frozenset(name.lower() for name in names), token or secrets.token_urlsafe(24), port, is_secure)

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers share cookies between the ports of a host."""
        return f"tailpipe_session_{self.port}"

    @property
    def session(self) -> str:
        """The value of the cookie, which does not give the token away."""
        return hashlib.sha256(b"tailpipe session " + self.token.encode()).hexdigest()

    @property
    def set_cookie(self) -> str:
        """The header that logs a browser in."""
        secure = "; Secure" if self.is_secure else ""
        return f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def is_token(self, given: str) -> bool:
        """Whether this is the token, or one that was not used yet."""
        text = given.encode("utf-8", "replace")
        for code in [one for one in self.codes if hmac.compare_digest(text, one.encode())]:
            self.codes.discard(code)
            return True
        return hmac.compare_digest(text, self.token.encode())

    def new_code(self) -> str:
        """A token that works once."""
        self.codes.add(code := secrets.token_urlsafe(24))
        return code

    def is_session(self, cookies: str) -> bool:
        """Whether the cookies of a request are those of a browser that was logged in."""
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.session.encode())


@frozen
class Guard:
    """Answers what may be answered, by the application behind it."""

    app: App
    access: Access
    problems: Problems

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope["nonce"] = nonce
        policy = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                named = {name.lower() for name, _ in given}
                message = {**message, "headers": [*given, *(one for one in _HEADERS if one[0] not in named), policy]}
            await send(message)

        try:
            location = self._checked(scope)
        except RefusedError as failure:
            status, body = self.problems.of(failure)
            await _answer(sending, status, [(b"content-type", b"application/json")], encoded(body))
            return
        if location is not None:
            headers = [(b"location", location.encode()), (b"set-cookie", self.access.set_cookie.encode())]
            await _answer(sending, 303, headers, b"")
            return
        await self.app(scope, receive, sending)

    def _checked(self, scope: Scope) -> str | None:
        """Refuse what may not be answered; where to go, if the token was given."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in (b"host", b"origin", b"content-type", b"cookie") and name in headers:
                if name != b"cookie":
                    raise RefusedError(400, f"the header {name.decode()} is repeated")
                value = headers[name] + b"; " + value
            headers[name] = value
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host not in self.access.hosts:
            raise RefusedError(421, "unknown host", hint="open the address that tailpipe serve has printed")
        scheme = "https" if self.access.is_secure else "http"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"{scheme}://{host}":
            raise RefusedError(403, "requests of other sites are refused")
        if headers.get(b"sec-fetch-site", b"none") not in _SITES:
            raise RefusedError(403, "requests of other sites are refused")
        method = scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            raise RefusedError(405, f"the method {method[:20]} is not used here")
        if method == "POST":
            kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise RefusedError(415, "the content type must be application/json")
        if (token := _token(scope)) is not None:
            if not self.access.is_token(token):
                raise RefusedError(403, "wrong token", hint="open the address that tailpipe serve has printed")
            return "/"
        if not self.access.is_session(headers.get(b"cookie", b"").decode("latin-1")):
            raise RefusedError(401, "not logged in", hint="open the address that tailpipe serve has printed")
        return None


def _token(scope: Scope) -> str | None:
    """The token in the address of a page."""
    if scope["method"] != "GET" or scope["path"] != "/":
        return None
    try:
        given = parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=50)
    except ValueError:
        return None
    return next((value for name, value in given if name == "token"), None)


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
