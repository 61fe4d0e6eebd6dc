"""What workers do for the explorer: each request is a value, and runs with the worker's own workspace and session."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tailpipe.config.environment import Environment
from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.operations.query import Query, open_session
from tailpipe.plugin.registry import Registry
from tailpipe.query.session import Session
from tailpipe.serve import dashboards, hits, rows, statements, status
from tailpipe.serve.body import Body
from tailpipe.serve.facets import top_values
from tailpipe.serve.histogram import histogram
from tailpipe.serve.limits import Limits, encoded
from tailpipe.serve.meta import meta
from tailpipe.workers.worker import Call

_HEAD = struct.Struct("!q")


class Opened:
    """What the requests of a worker share: a workspace with its config, and a session once one is needed."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._session: Session | None = None

    @contextmanager
    def session(self, call: Call, seconds: float) -> Iterator[Session]:
        """The session over what is committed now; its statements end when the call is cancelled."""
        if self._session is None:
            self._session = open_session(self.home, Query(hides_places=True))
        session = self._session
        with call.interrupting(session.interrupt):
            session.limit.seconds = seconds
            session.refresh()
            yield session


def open_home(environment: Environment) -> Opened:
    """The workspace, with its config read."""
    home = Home(environment, Registry.installed(str(environment.packs_dir)))
    _ = home.config, home.settings
    return Opened(home)


@frozen
class Task:
    """What a route gets."""

    session: Session
    home: Home
    body: Body
    limits: Limits
    is_read_only: bool


Work = Callable[[Task], dict[str, Any]]
# What is kept depends on the request and the newest commit alone.
KEPT: Mapping[str, Work] = {
    "GET meta": lambda t: meta(t.session, t.home, t.body, t.limits, is_read_only=t.is_read_only),
    "POST histogram": lambda t: histogram(t.session, t.body, status.missing_days(t.home)),
    "POST fields": lambda t: top_values(t.session, t.body),
    "POST rows": lambda t: rows.newest_rows(t.session, t.body, t.limits),
    "POST row": lambda t: rows.whole_row(t.session, t.body),
    "POST related": lambda t: rows.related(t.session, t.body),
}
FRESH: Mapping[str, Work] = {
    "POST panel": lambda t: statements.panel(t.session, t.home, t.body, t.limits),
    "GET saved": lambda t: dashboards.saved(t.home, t.body),
    "GET dashboards": lambda t: dashboards.dashboards(t.home, t.body),
    "GET status": lambda t: status.status(t.home, t.body),
    "GET coverage": lambda t: status.coverage(t.home, t.session, t.body),
    "GET runs": lambda t: status.runs(t.home, t.body),
    "GET rejected": lambda t: status.rejected(t.home, t.body, t.limits),
    "GET detections": lambda t: hits.detections(t.home, t.body),
    "GET hits": lambda t: hits.hits(t.session, t.home, t.body),
    "POST hits/ack": lambda t: hits.acknowledge(t.session, t.home, t.body, is_read_only=t.is_read_only),
}


@frozen
class Computed:
    """A whole answer, with the number of the commit that it is about; nothing but the number if that is known."""

    route: str
    body: Body
    limits: Limits
    begun: float
    """When the request came, on the clock that all processes share."""
    is_read_only: bool = False
    known: int | None = None
    """The commit of the cached answer."""
    statement = ""

    def __call__(self, opened: Opened, call: Call, /) -> bytes:
        """Make it."""
        with opened.session(call, self.limits.seconds) as session:
            head = _HEAD.pack(session.sequence)
            if self.known == session.sequence:
                return head
            work = KEPT.get(self.route) or FRESH[self.route]
            made = work(Task(session, opened.home, self.body, self.limits, self.is_read_only))
        made["ms"] = round((time.monotonic() - self.begun) * 1000)
        return head + encoded(made)

    @staticmethod
    def parsed(answer: bytes) -> tuple[int, bytes]:
        """The number of the commit and the answer, which is empty if it is known."""
        return _HEAD.unpack(answer[: _HEAD.size])[0], answer[_HEAD.size :]


@frozen
class Streamed:
    """The answer to a statement in parts: rows as lines of JSON, or all of them as a file in the format `output`."""

    chosen: statements.Statement
    limits: Limits
    limit: int = 0
    output: str = ""

    @property
    def statement(self) -> str:
        """Its SQL."""
        return self.chosen.sql

    def __call__(self, opened: Opened, call: Call, /) -> bytes:
        """Give it."""
        with opened.session(call, self.limits.export_seconds if self.output else self.limits.seconds) as session:
            if self.output:
                statements.export(session, self.chosen, self.output, self.limits, call.give)
            else:
                statements.stream(session, self.chosen, self.limit, self.limits, call.give)
        return b""
