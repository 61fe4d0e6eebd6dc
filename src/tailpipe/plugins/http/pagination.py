"""From one page to the next: the variants of the block `pagination`."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tailpipe.plugin import (
    UsageError,
    Variant,
    next_link,
    option,
    pages_by_number,
    pages_by_offset,
    pages_by_token,
    pages_by_url,
)
from tailpipe.plugins.http.messages import Request
from tailpipe.plugins.http.records import Page, lookup, placed

Fetch = Callable[[Request], Page]


class Pagination(Variant):
    """One way from page to page."""

    @property
    def page_size(self) -> int | None:
        """How many records a full page has, if that is known."""
        return getattr(self, "size", None)

    @abstractmethod
    def pages(self, fetch: Fetch, first: Request, *, is_short_last: bool) -> Iterator[Page]:
        """The pages from the first one on; if `is_short_last`, a page that is not full is the last."""


class SinglePage(Pagination):
    """All records are in one response."""

    type = "none"

    def pages(self, fetch: Fetch, first: Request, *, is_short_last: bool) -> Iterator[Page]:  # noqa: ARG002
        """The one page."""
        yield fetch(first)


class LinkHeader(Pagination):
    """The header `Link` has the address of the next page."""

    type = "link_header"

    def pages(self, fetch: Fetch, first: Request, *, is_short_last: bool) -> Iterator[Page]:  # noqa: ARG002
        """The pages, up to the one without `rel="next"`."""
        return pages_by_url(lambda url: fetch(first._replace(url=url)), first.url, lambda page: next_link(page.headers))


class NextUrl(Pagination):
    """The body, or a header, has the address of the next page."""

    type = "next_url"
    path: str = option("Path of the address in the body.", default="")
    header: str = option("Header that has the address.", default="")

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.header):
            raise UsageError("next_url requires either path or header", hint="set one of them")

    def pages(self, fetch: Fetch, first: Request, *, is_short_last: bool) -> Iterator[Page]:  # noqa: ARG002
        """The pages, up to the one without an address."""
        return pages_by_url(lambda url: fetch(first._replace(url=url)), first.url, self._next)

    def _next(self, page: Page) -> str | None:
        found = page.headers.get(self.header) if self.header else lookup(page.body, self.path)
        return str(found) if found else None


class Cursor(Pagination):
    """The body has a token that is sent for the next page."""

    type = "cursor"
    path: str = option("Path of the token in the body.", default="")
    record: str = option("Path of the token in the last record of a page, instead.", default="")
    param: str = option("Parameter that takes the token.", default="")
    body: str = option("Path in the request body that takes the token, instead.", default="")
    has_more: str = option("Path of the value that is true if there is another page.", default="")
    alone: bool = option("Whether later requests have the token alone, without other parameters.", default=False)
    join: str = option("Separator of the parts of a token that is a list.", default=",")

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.record):
            raise UsageError("a cursor requires either path or record", hint="set where the token of the next page is")
        if bool(self.param) == bool(self.body):
            raise UsageError("a cursor requires either param or body", hint="set where the token is sent")

    def pages(self, fetch: Fetch, first: Request, *, is_short_last: bool) -> Iterator[Page]:  # noqa: ARG002
        """The pages, up to the one without a token."""

        def one(token: Any) -> Page:
            return fetch(first if token is None else self._request(first, token))

        return pages_by_token(one, self._token)

    def _token(self, page: Page) -> Any:
        """The token, or None; a body takes it as it came, a number as a number."""
        if self.has_more and not lookup(page.body, self.has_more):
            return None
        if self.record:
            found = lookup(page.records[-1], self.record) if page.records else None
        else:
            found = lookup(page.body, self.path)
        if found is None or found in ("", [], {}) or isinstance(found, bool):
            return None
        if self.body:
            return found
        return self.join.join(map(str, found)) if isinstance(found, list) else str(found)

    def _request(self, first: Request, token: Any) -> Request:
        if self.body:
            sent = {} if self.alone else json.loads(first.body or b"{}")
            return first._replace(body=json.dumps(placed(sent, self.body, token), ensure_ascii=False).encode())
        return with_params(first, {self.param: token}, alone=self.alone)


class Numbered(Pagination):
    """Pages have numbers."""

    type = "page"
    param: str = option("Parameter that takes the number.", default="page")
    start: int = option("Number of the first page.", default=1)
    size: int | None = option("How many records a full page has.", default=None)

    def pages(self, fetch: Fetch, first: Request, *, is_short_last: bool) -> Iterator[Page]:
        """The pages, up to one without records."""
        size = self.size if is_short_last else None
        return pages_by_number(
            lambda number: fetch(with_params(first, {self.param: str(number)})), _records, start=self.start, size=size
        )


class OffsetPages(Pagination):
    """Pages start at a record offset."""

    type = "offset"
    param: str = option("Parameter that takes the number of records to skip.", default="offset")
    size: int | None = option("How many records a full page has.", default=None)

    def pages(self, fetch: Fetch, first: Request, *, is_short_last: bool) -> Iterator[Page]:
        """The pages, up to one without records."""
        size = self.size if is_short_last else None
        return pages_by_offset(lambda offset: fetch(with_params(first, {self.param: str(offset)})), _records, size=size)


def with_params(request: Request, params: Mapping[str, str], *, alone: bool = False) -> Request:
    """The request with these parameters in place of those of the same name, or of all."""
    parts = urlsplit(request.url)
    kept = [] if alone else [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in params]
    return request._replace(url=parts._replace(query=urlencode([*kept, *params.items()], quote_via=quote)).geturl())


def _records(page: Page) -> Any:
    return page.records
