"""What workers do for assistants: each call opens the workspace, so that a changed config counts, and reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.mcp_server.limits import Limits
from tailpipe.mcp_server.work import Stop, done
from tailpipe.operations.query import Query, open_session
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.session import Session
from tailpipe.workers.places import Places
from tailpipe.workers.worker import Call

Open = Callable[[], "Home"]


@frozen
class ToolContext:
    """What a tool works with."""

    home: Home
    stop: Stop
    limits: Limits

    @contextmanager
    def session(self, narrowing: Narrowing | None = None) -> Iterator[Session]:
        """A session for queries whose statements end with the call."""
        with (
            open_session(self.home, Query(narrowing or Narrowing(), hides_places=True)) as session,
            self.stop.ending(session.interrupt),
        ):
            yield session


Work = Callable[..., "dict[str, Any] | str"]
"""A function of a module: it gets an `ToolContext` and the arguments of the tool."""


@frozen
class Reading:
    """A call of a tool or resource that reads."""

    work: Work
    arguments: tuple[Any, ...]
    limits: Limits
    statement: str = ""
    notice: str | None = None

    def __call__(self, open_home: Open, call: Call, /) -> bytes:
        """The answer: text as it is, and other data as JSON."""
        stop = Stop(self.limits.seconds)
        with call.interrupting(stop.cancel):
            found, error = done(partial(self._answer, open_home), stop)
        if error is not None:
            raise error
        if isinstance(found, str):
            return found.encode()
        notice = {} if self.notice is None else {"notice": self.notice}
        text = json.dumps({**notice, **(found or {})}, ensure_ascii=False, default=str)
        return text.encode("utf-8", "replace")

    def _answer(self, open_home: Open, stop: Stop) -> dict[str, Any] | str:
        home = open_home()
        settings = home.settings
        places = Places.hiding((settings.location, settings.data_dir, home.environment.home))
        try:
            return self.work(ToolContext(home, stop, self.limits), *self.arguments)
        except TailpipeError as error:
            raise TailpipeError(places.shown(error_text(error))) from error


def prepared(open_home: Open) -> Open:
    """What calls share: how to open the workspace, and the plugins, which are loaded here for all of them."""
    with suppress(TailpipeError):  # what is wrong is the answer of each call
        open_home()
    return open_home


def error_text(error: TailpipeError) -> str:
    """An error in one text, with places and what to do next."""
    hint = f"; {error.hint}" if error.hint else ""
    places = [note for note in getattr(error, "__notes__", ()) if not note.startswith("  = ")]
    return "\n".join([f"{error.message}{hint}", *places])
