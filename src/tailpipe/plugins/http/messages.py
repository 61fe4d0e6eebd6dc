"""Requests and answers of HTTP, and the errors between them."""

from __future__ import annotations

from collections.abc import Mapping
from email.message import Message
from typing import NamedTuple
from urllib.parse import urlsplit

from tailpipe.plugin import without_secrets

_EXCERPT = 200
_PORTS = {"http": 80, "https": 443}


class Request(NamedTuple):
    """What is sent; how to log in is added when it is sent, and is in no request that is kept."""

    method: str
    url: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Answer(NamedTuple):
    """What came back; `is_delimited` says whether the server has marked where its body ends."""

    status: int
    reason: str
    headers: Message
    body: bytes
    is_delimited: bool


class CutError(ConnectionError):
    """A body that ended too early: the same request may succeed a little later."""


class RefusedError(Exception):
    """An answer that is no success; `code` and `headers` say whether another attempt is worth it."""

    def __init__(self, answer: Answer, headers: Mapping[str, str]) -> None:
        super().__init__(answer.status)
        self.answer = answer
        self.code = answer.status
        self.headers = headers


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: to no other does a secret travel."""
    parts = urlsplit(url)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme.lower())


def shown(url: str) -> str:
    """An address for messages: without its parameters, which may hold a secret."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return without_secrets(f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}")


def excerpt(body: bytes) -> str:
    """The beginning of a body on one line, without secrets: a server may repeat what it was sent."""
    text = " ".join(without_secrets(body.decode("utf-8", "replace")).split())
    plain = "".join(character if character.isprintable() else "?" for character in text)
    return plain if len(plain) <= _EXCERPT else plain[:_EXCERPT] + "…"
