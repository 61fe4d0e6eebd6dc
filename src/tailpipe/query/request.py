"""A request to query: which data a session shows, within which limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.query.narrowing import Narrowing
from tailpipe.stores.version import NOW, Version

if TYPE_CHECKING:  # most files are on this disk
    from tailpipe.stores.fetch import Fetched, Limits


@frozen
class Query:
    """What the statements of a session see, and what they may do."""

    narrowing: Narrowing = Narrowing()
    version: Version = NOW
    is_unsafe: bool = False
    """Whether statements may write, read any file and load extensions."""
    has_copies: bool = True
    """Whether materialized schemas are read from their copies, not from the files that they are copies of."""
    hides_places: bool = False
    """Whether statements that show paths of this machine are refused."""
    timeout_seconds: float | None = None
    """A statement that takes longer fails with `TimeLimitError`."""
    limits: Limits | None = None
    """What a statement may fetch from stores."""
    on_fetch: Callable[[Fetched], None] = lambda _: None
    """Called with the progress of each fetch."""
