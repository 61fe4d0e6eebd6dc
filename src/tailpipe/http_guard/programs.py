"""The policy for a server of programs: a bearer token with each request, and no web pages."""

from __future__ import annotations

import hmac
from dataclasses import field
from typing import ClassVar

from tailpipe.frozen import frozen
from tailpipe.http_guard.guard import Head, RefusedError, Reply


@frozen
class ProgramAccess:
    """Access under these hosts, for programs that send the token."""

    hosts: frozenset[str]
    token: str = field(repr=False)
    page_scheme: ClassVar[str] = ""
    hint: ClassVar[str] = ""

    def admit(self, head: Head) -> Reply | None:
        """Admit what has the token in its header."""
        given, expected = head.all("authorization"), f"Bearer {self.token}"
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), expected.encode()):
            raise RefusedError(401, "the token is missing or wrong")
        return None


def text_refusal(failure: RefusedError) -> Reply:
    """A refusal as plain text."""
    headers = [("content-type", "text/plain")]
    if failure.status == 401:
        headers.append(("www-authenticate", "Bearer"))
    return Reply(failure.status, tuple(headers), failure.message.encode())
