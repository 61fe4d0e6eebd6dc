"""What a source may know of the run that lists it: the time, where it may keep notes, and who watches.

A source that needs many requests for a listing reports them, and may remember between runs what seldom changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from tailpipe.frozen import frozen

__all__ = ["ListingRun", "listing_run", "within_listing_run"]


@frozen
class ListingRun:
    """A run that lists sources."""

    now: datetime
    notes: Path | None = None
    """Directory for what sources remember between runs; None if nothing is to be remembered."""
    goes_on: bool = False
    """Whether the run goes on from the last one, and the next run will go on from this one.

    Then it lists some days again, and what comes to light a day later is not lost. A run for days that the user has
    named comes once: for it, nothing that was remembered counts.
    """
    progress: Callable[[int, int], None] = lambda _requests, _folders: None
    """Called now and then with the numbers of requests and folders so far."""


_CURRENT: ContextVar[ListingRun | None] = ContextVar("listing_run", default=None)


def listing_run() -> ListingRun:
    """The run that lists now; outside a run, one that remembers nothing."""
    return _CURRENT.get() or ListingRun(datetime.now(UTC))


@contextmanager
def within_listing_run(run: ListingRun) -> Iterator[None]:
    """List sources for a run."""
    token = _CURRENT.set(run)
    try:
        yield
    finally:
        _CURRENT.reset(token)
