"""Events of an HTTP API: each day is a range of time, requested page by page.

There is no cursor that could be lost: a range can be requested again at any time, and an event is known by its key.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal
from urllib.parse import quote, urlencode

from tailpipe.plugin import (
    Artifact,
    Event,
    Source,
    TailpipeError,
    UsageError,
    Window,
    did_you_mean,
    nested,
    option,
    without_secrets,
)
from tailpipe.plugins.checks import check_overlap
from tailpipe.plugins.http.client import Client
from tailpipe.plugins.http.connection import HttpConnection
from tailpipe.plugins.http.messages import Request, origin_of
from tailpipe.plugins.http.pagination import Cursor, LinkHeader, NextUrl, Numbered, OffsetPages, SinglePage
from tailpipe.plugins.http.ranges import TimeRange
from tailpipe.plugins.http.records import Page, key_of, lookup, moment_of, page_of, placed
from tailpipe.plugins.http.template import added_options, fill, placeholders

_TIMES = ("from", "to")
_LEAST = 8
"""A shorter part of an address is no secret: a password may be a word that an address has too."""


def _check_most(count: int) -> None:
    if count < 1:
        raise UsageError("max_records must be at least 1")


def _check_path(path: str) -> None:
    if path and not path.startswith("/"):
        raise UsageError(f'"{path}" does not begin with /', hint="the host is in base_url of the connection")
    if "?" in path or "#" in path:
        raise UsageError("a path has no parameters", hint="write params = { name = value }")


class HttpSource(Source):
    """Requests the events of each day from an HTTP API, page by page."""

    type = "http"
    yields_events = True
    needs: ClassVar[str] = ""
    """The smallest permission that a preset needs, for messages."""
    tables: ClassVar[tuple[str, ...]] = ()
    """The tables that take the events of a preset."""
    connection: HttpConnection = option("How to reach the service.")
    path: str = option("Path of the request, below `base_url`.", default="", check=_check_path)
    method: Literal["GET", "POST"] = option("Method of the request.", default="GET")
    params: Mapping[str, str] = option("Parameters; `{from}` and `{to}` are the ends of the time.", default={})
    headers: Mapping[str, str] = option("Additional headers.", default={})
    body: Mapping[str, Any] = option("Body of a POST, sent as JSON; texts may hold `{from}` and `{to}`.", default={})
    each: Mapping[str, Sequence[str]] = option(
        "Names and values, with one request per value; `{name}` is replaced by it.", default={}
    )
    window: TimeRange = nested("How time is requested.", block="window", default=TimeRange())
    response: Literal["auto", "json", "ndjson"] = option("What the body of an answer is.", default="auto")
    records: Sequence[str] | str = option(
        "Path of the list of records in the body, the body itself if empty; of several, the first that is there.",
        default="",
    )
    follow: str = option("Path of an address in each record, which has the events.", default="")
    key: Sequence[str] | str = option("Paths of what identifies a record; the whole record if not given.", default=())
    time: str = option("Path of the time of a record.", default="")
    pagination: LinkHeader | NextUrl | Cursor | Numbered | OffsetPages | SinglePage = nested(
        "How to get from page to page.", block="pagination", default=SinglePage()
    )
    stop_at: Literal["last", "empty", "short", "window"] = option(
        "Which page is the last: the service says so, it is empty, it is not full, or it is older than the time.",
        default="last",
    )
    max_records: int | None = option(
        "Most records that the service returns for a range. A range with that many fails, because there may be more.",
        default=None,
        check=_check_most,
    )
    overlap_days: int = option(
        "How many days are requested again, because events may come late.", default=2, check=check_overlap
    )

    def __post_init__(self) -> None:
        known = [*_TIMES, *self.each, *added_options(type(self), HttpSource)]
        for name in placeholders([self.path, self.params, self.headers]):
            if name not in known:
                raise UsageError(
                    f"{{{name}}} is not known", hint=did_you_mean(name, known, f"there are: {', '.join(known)}")
                )
        if "from" not in placeholders([self.path, self.params, self.body]) and self.stop_at != "window":
            hint = "put {from} and {to} into params, path or body"
            raise UsageError("every day would be requested by the same request", hint=hint)
        if self.stop_at == "window" and not self.time:
            raise UsageError('stop_at = "window" needs the time of a record', hint='set "time" to its path')
        if self.stop_at == "short" and self.pagination.page_size is None:
            raise UsageError('stop_at = "short" needs the size of a page', hint="set size of the pagination")
        if self.body and self.method != "POST":
            raise UsageError("only a POST has a body", hint='set method = "POST"')
        if isinstance(self.pagination, Cursor) and self.pagination.body:
            self._check_body(self.pagination)

    def _check_body(self, cursor: Cursor) -> None:
        """Refuse a body that has no place for the token."""
        if self.method != "POST":
            raise UsageError("the token would be sent in a body, which only a POST has", hint='set method = "POST"')
        if not cursor.alone:
            placed(self.body, cursor.body, "")

    # Listing: no request is sent

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """A range for each day of the window, or for each step of a day.

        Names hold nothing that only selects among events, and no secret.
        """
        now, places = _now(), [(self._uri(names), names) for names in self._combinations()]
        for day in window.days():
            for name, span in self.window.spans(day):
                forgotten = f"older than {self.window.max_age}, which is all that the service keeps"
                unavailable = forgotten if self.window.is_forgotten(span, now) else ""
                for place, names in places:
                    fields = {"tp_source_name": ", ".join(self._listed(names).values()) or self.connection.name}
                    uri = f"{place}#{name}"
                    yield Artifact(uri, day=day, kind="range", fields=fields, unavailable=unavailable, path=uri)

    def _combinations(self) -> Iterator[Mapping[str, str]]:
        """The values of `each`, and of the options that a preset adds, in all combinations."""
        chosen: dict[str, Sequence[str]] = {name: tuple(values) for name, values in self.each.items()}
        for name in added_options(type(self), HttpSource):
            value = getattr(self, name)
            chosen[name] = (value,) if isinstance(value, str) else tuple(value)
        for values in itertools.product(*chosen.values()):
            yield dict(zip(chosen, values, strict=True))

    def _listed(self, names: Mapping[str, str]) -> Mapping[str, str]:
        """Those of the names that have several values: the others are the same for all ranges."""
        return {name: value for name, value in names.items() if not isinstance(getattr(self, name, None), str)}

    def _uri(self, names: Mapping[str, str]) -> str:
        url = self.connection.resolved().base_url.rstrip("/") + fill(self.path, names, _quoted)
        others = {name: value for name, value in self._listed(names).items() if name not in placeholders(self.path)}
        uri = url + (f"?{urlencode(others, quote_via=quote)}" if others else "")
        if any(without_secrets(part) != part for part in re.split("[/?&=]", uri) if len(part) >= _LEAST):
            hint = "log in by a block auth of the connection"
            raise UsageError(f"the address of source {self.name} contains a secret, which would be stored", hint=hint)
        return uri

    # Reading

    def open(self, artifact: Artifact) -> Iterator[Event]:
        """The events of the range; a page at a time is held in memory."""
        place, _, name = artifact.uri.rpartition("#")
        span = self.window.requested(self.window.span(name), _now())
        if span is None:
            return
        names = next(names for names in self._combinations() if self._uri(names) == place)
        client = Client(self.connection, self.needs)
        count = 0
        try:
            for page in self._pages(client, self._request(span, names)):
                count += len(page.records)
                self._check_complete(artifact, count)
                for record in page.records:
                    moment = moment_of(lookup(record, self.time)) if self.time else None
                    if self.stop_at == "window" and moment is not None:
                        if moment < span.start:
                            return
                        if moment >= span.end:
                            continue
                    yield self._event(record, moment, place)
        finally:
            client.close()

    def _check_complete(self, artifact: Artifact, count: int) -> None:
        """Refuse a range that has as many records as the service gives: the others would be lost."""
        if self.max_records is not None and count >= self.max_records:
            hint = f"set a shorter step than {self.window.step} in a block window of the source"
            what = f"the service gives {self.max_records:,} records of a range at most, and there may be more"
            raise TailpipeError(f'cannot read "{artifact.uri}": {what}', hint=hint)

    def _pages(self, client: Client, first: Request) -> Iterator[Page]:
        def fetch(request: Request) -> Page:
            return client.send(
                request, lambda answer: page_of(answer, request.url, _paths(self.records), self.response)
            )

        for page in self.pagination.pages(fetch, first, is_short_last=self.stop_at == "short"):
            if self.follow:
                yield from (fetch(self._followed(first, record)) for record in page.records)
            else:
                yield page
            if self.stop_at == "empty" and not page.records:
                return

    def _followed(self, first: Request, record: Any) -> Request:
        url = str(lookup(record, self.follow) or "")
        try:
            there = origin_of(url)
        except ValueError as error:
            raise TailpipeError(f'"{self.follow}" of a record is not an address: {error}') from None
        if there != origin_of(first.url):
            raise UsageError(f'"{self.follow}" of a record is not an address on the same server: {there[1]}')
        return Request("GET", url, first.headers)

    def _request(self, span: Window, names: Mapping[str, str]) -> Request:
        """The request for the first page."""
        times = {"from": self.window.written(span.start), "to": self.window.written(span.end)}
        names = {**names, **times}
        url = self.connection.resolved().base_url.rstrip("/") + fill(self.path, names, _quoted)
        params = {name: fill(value, names) for name, value in self.params.items()}
        headers = {name: fill(value, names) for name, value in self.headers.items()}
        body = None
        if self.method == "POST":
            body = json.dumps(_filled(self.body, names, self.window.is_number), ensure_ascii=False).encode()
            headers = {"Content-Type": "application/json", **headers}
        return Request(self.method, url + (f"?{urlencode(params, quote_via=quote)}" if params else ""), headers, body)

    def _event(self, record: Any, moment: datetime | None, place: str) -> Event:
        key = key_of(record, _paths(self.key))
        if isinstance(record, Mapping):
            return Event(key, moment, None, record, place)
        text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
        return Event(key, moment, text, None, place)


def _paths(paths: Sequence[str] | str) -> Sequence[str]:
    return (paths,) if isinstance(paths, str) else paths


def _filled(value: Any, names: Mapping[str, str], is_number: bool) -> Any:
    """A body with its placeholders filled; a time that is the whole text is a number where times are numbers."""
    if isinstance(value, str):
        text = fill(value, names)
        return int(text) if is_number and value in ("{from}", "{to}") else text
    if isinstance(value, Mapping):
        return {key: _filled(item, names, is_number) for key, item in value.items()}
    return [_filled(item, names, is_number) for item in value] if isinstance(value, tuple | list) else value


def _quoted(value: str) -> str:
    return quote(value, safe="")


def _now() -> datetime:
    return datetime.now(UTC)
