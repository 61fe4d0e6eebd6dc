"""Pages of an API, one after the other: by token, page number, offset, next address, or `Link` header.

A service that leads in a circle, or that ignores the parameter and gives the same page for ever, is an error: a
collection must not run for ever, nor take events twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from tailpipe.errors import TailpipeError

__all__ = ["next_link", "pages_by_number", "pages_by_offset", "pages_by_token", "pages_by_url"]

T = TypeVar("T")

MAX_PAGES = 1_000_000
_PORTS = {"http": 80, "https": 443}
_LINK = re.compile(r"""<([^<>]*)>((?:\s*;\s*[\w*!#$&+.^`|~-]+\s*(?:=\s*(?:"[^"]*"|[^\s",;]*))?)*)""")
_REL = re.compile(r"""\brel\s*=\s*(?:"([^"]*)"|([^\s",;]+))""", re.IGNORECASE)


def pages_by_token(
    fetch: Callable[[Any], T], next_token: Callable[[T], Any], *, first: Any = None, max_pages: int = MAX_PAGES
) -> Iterator[T]:
    """The answers of `fetch(token)`, first with the token `first`, until `next_token(answer)` is empty.

    An answer without events may still have a token. A token is anything: text, number, or a list or map of these.
    """
    seen, token = _Seen("token"), first
    for _ in range(max_pages):
        answer = fetch(token)
        yield answer
        token = next_token(answer)
        if token is None or token == "" or token == {} or token == []:
            return
        seen.add(token)
    raise _too_many(max_pages)


def pages_by_url(
    fetch: Callable[[str], T], url: str, next_url: Callable[[T], str | None], *, max_pages: int = MAX_PAGES
) -> Iterator[T]:
    """The answers of `fetch(url)`, until `next_url(answer)` is empty; it may be relative to the page before.

    An address on another server is refused: it would be sent the token of this one.
    """
    seen, origin = _Seen("address"), _origin(url)
    seen.add(url)
    for _ in range(max_pages):
        answer = fetch(url)
        yield answer
        found = next_url(answer)
        if not found:
            return
        try:
            url = urljoin(url, found)
            there = _origin(url)
        except ValueError as error:
            raise TailpipeError(f"the next page has no valid address: {error}") from None
        if there != origin:
            raise TailpipeError(f"the next page is on another server: {urlsplit(url).hostname}, not {origin[1]}")
        seen.add(url)
    raise _too_many(max_pages)


def pages_by_number(
    fetch: Callable[[int], T],
    items: Callable[[T], Sequence[Any]],
    *,
    start: int = 1,
    size: int | None = None,
    max_pages: int = MAX_PAGES,
) -> Iterator[T]:
    """The answers of `fetch(number)`, until one has no items, or fewer than `size`."""
    return _numbered(fetch, items, lambda number, _: number + 1, start, size, max_pages)


def pages_by_offset(
    fetch: Callable[[int], T],
    items: Callable[[T], Sequence[Any]],
    *,
    size: int | None = None,
    max_pages: int = MAX_PAGES,
) -> Iterator[T]:
    """The answers of `fetch(offset)`; the offset grows by as many items as came. Ends as `pages_by_number` does."""
    return _numbered(fetch, items, lambda offset, count: offset + count, 0, size, max_pages)


def next_link(headers: Mapping[str, Any] | Iterable[str]) -> str | None:
    """The address that `Link` headers call `next`; `headers` are all headers, or the values of the `Link` headers."""
    if isinstance(headers, Mapping) or hasattr(headers, "items"):
        # The headers of urllib may hold several of one name, and give them all as items.
        values = [str(value) for name, value in headers.items() if str(name).lower() == "link"]
    else:
        values = [headers] if isinstance(headers, str) else list(headers)
    for address, parameters in _LINK.findall(", ".join(values)):
        relation = _REL.search(parameters)
        if relation is not None and "next" in (relation[1] or relation[2] or "").lower().split():
            return str(address)
    return None


def _numbered(
    fetch: Callable[[int], T],
    items: Callable[[T], Sequence[Any]],
    following: Callable[[int, int], int],
    place: int,
    size: int | None,
    max_pages: int,
) -> Iterator[T]:
    before = b""
    for _ in range(max_pages):
        answer = fetch(place)
        found = items(answer)
        if not found:
            return
        digest = _digest(found)
        if digest == before:
            hint = "check whether the service ignores the page number"
            raise TailpipeError(f"page {place} is equal to the page before", hint=hint)
        before = digest
        yield answer
        if size is not None and len(found) < size:
            return
        place = following(place, len(found))
    raise _too_many(max_pages)


class _Seen:
    """What led to a page before; kept as digests, because a token may be long."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._digests: set[bytes] = set()

    def add(self, value: Any) -> None:
        digest = _digest(value)
        if digest in self._digests:
            raise TailpipeError(f"pagination loop: the {self._what} of the next page was used before")
        self._digests.add(digest)


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(repr(value).encode("utf-8", "replace"), digest_size=16).digest()


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme.lower())


def _too_many(pages: int) -> TailpipeError:
    return TailpipeError(f"the service returned more than {pages:,} pages", hint="request a shorter time range")
