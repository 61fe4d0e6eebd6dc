"""The guard in front of an HTTP server: it checks who sends a request before the application sees it.

A web page of any site can make the browser send requests to this machine, and a name that resolves to 127.0.0.1 (DNS
rebinding) makes them same-origin. So a request must use a name of this server, must not come from a foreign page, and
must have credentials. A `Policy` says which names, pages and credentials are accepted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_ONCE = ("host", "origin", "content-type")
_POLICY_VIOLATION = 1008


class RefusedError(TailpipeError):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: int, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


@frozen
class Head:
    """A request without its body."""

    method: str
    path: str
    query: str
    headers: Mapping[str, Sequence[str]]
    """All values of each header, by its name in lower case."""

    @classmethod
    def of(cls, scope: Scope) -> Head:
        """The head of a request as ASGI gives it."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        return cls(scope["method"], scope["path"], scope["query_string"].decode("latin-1"), headers)

    def all(self, name: str) -> Sequence[str]:
        """The values of a header."""
        return self.headers.get(name, ())

    def first(self, name: str) -> str:
        """The first value of a header, or an empty text."""
        return next(iter(self.all(name)), "")


@frozen
class Reply:
    """A whole answer."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Policy(Protocol):
    """Which requests a server answers."""

    @property
    def hosts(self) -> frozenset[str]:
        """The names of this server in lower case, with port where it belongs to them."""

    @property
    def page_scheme(self) -> str:
        """The scheme of the server's own pages, which may send requests; empty if no page may."""

    @property
    def hint(self) -> str:
        """What to do about a wrong host."""

    def admit(self, head: Head) -> Reply | None:
        """None if the credentials are right, a reply if they are exchanged for others, or a `RefusedError`."""


@frozen
class Guard:
    """Lets the application answer what the policy admits; `refuse` turns a refusal into a reply."""

    app: App
    policy: Policy
    refuse: Callable[[RefusedError], Reply]
    header_bytes: int
    """The largest head of a request; servers limit only one that comes in several parts."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        try:
            address = len(scope["path"]) + len(scope["query_string"])
            if (
                address + sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
                > self.header_bytes
            ):
                raise RefusedError(431, f"the headers are larger than {self.header_bytes:,} bytes")
            head = Head.of(scope)
            _check_sender(head, self.policy)
            reply = self.policy.admit(head)
        except RefusedError as failure:
            reply = self.refuse(failure)
            if failure.status == 400:  # where the next request begins is not certain
                reply = Reply(reply.status, (*reply.headers, ("connection", "close")), reply.body)
        if reply is None:
            await self.app(scope, receive, send)
            return
        given = (*reply.headers, ("content-length", str(len(reply.body))))
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})


def _check_sender(head: Head, policy: Policy) -> None:
    """Refuse what has two lengths, is sent to another host, or by a foreign page."""
    if head.all("content-length") and head.all("transfer-encoding"):
        raise RefusedError(400, "the request has two lengths")  # a proxy may take another than we do
    for name in _ONCE:
        if len(head.all(name)) > 1:
            raise RefusedError(400, f"the header {name} is repeated")
    host = head.first("host").lower()
    if host not in policy.hosts:
        raise RefusedError(421, "unknown host", hint=policy.hint)
    own_pages = {f"{policy.page_scheme}://{host}"} if policy.page_scheme else set()
    sites = ("none", "same-origin") if own_pages else ("none",)  # "none" is also the address bar of a browser
    is_foreign = any(origin.lower() not in own_pages for origin in head.all("origin"))
    if is_foreign or any(site not in sites for site in head.all("sec-fetch-site")):
        raise RefusedError(403, "requests of other sites are refused" if own_pages else "browsers are not served")
