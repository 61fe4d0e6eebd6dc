"""The policy for a server of pages: a token in its address, which a browser exchanges for a cookie."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import field
from http.cookies import CookieError, SimpleCookie
from typing import ClassVar
from urllib.parse import parse_qsl

from tailpipe.frozen import frozen
from tailpipe.http_guard.guard import Head, RefusedError, Reply

_METHODS = ("GET", "HEAD", "POST")


@frozen
class BrowserAccess:
    """Access under these hosts, for browsers that have used the token; `is_secure` says that connections use TLS."""

    hosts: frozenset[str]
    token: str = field(repr=False)
    port: int
    is_secure: bool = False
    codes: set[str] = field(default_factory=set, compare=False, repr=False)
    """Tokens that work once, for browsers: others on this machine may see how a program was started."""
    hint: ClassVar[str] = "open the address that tailpipe serve has printed"

    @classmethod
    def to(cls, hosts: Iterable[str], port: int, *, is_secure: bool = False, token: str | None = None) -> BrowserAccess:
        """Access under names of this machine, with a new token."""
        names = {f"{host}:{port}" for host in hosts}
        if port == (443 if is_secure else 80):
            names |= set(hosts)
        return cls(frozenset(name.lower() for name in names), token or secrets.token_urlsafe(24), port, is_secure)

    @property
    def page_scheme(self) -> str:
        """The scheme of the pages."""
        return "https" if self.is_secure else "http"

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

    def admit(self, head: Head) -> Reply | None:
        """Admit what has the cookie; the token is exchanged for it. Posts must be JSON, which no form can send."""
        if head.method not in _METHODS:
            raise RefusedError(405, f"the method {head.method[:20]} is not used here")
        kind = head.first("content-type").partition(";")[0].strip().lower()
        if head.method == "POST" and kind != "application/json":
            raise RefusedError(415, "the content type must be application/json")
        if (token := _token(head)) is not None:
            if not self.is_token(token):
                raise RefusedError(403, "wrong token", hint=self.hint)
            return Reply(303, (("location", "/"), ("set-cookie", self.set_cookie)))
        if not self.is_session("; ".join(head.all("cookie"))):
            raise RefusedError(401, "not logged in", hint=self.hint)
        return None

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


def _token(head: Head) -> str | None:
    """The token in the address of a page."""
    if head.method != "GET" or head.path != "/":
        return None
    try:
        given = parse_qsl(head.query, max_num_fields=50)
    except ValueError:
        return None
    return next((value for name, value in given if name == "token"), None)
