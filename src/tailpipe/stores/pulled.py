"""The outcome of pulling a partition from its store."""

from __future__ import annotations

from tailpipe.frozen import frozen


@frozen
class PullReport:
    """What is known here since, and what came to this disk."""

    partition: str
    store: str
    version: int = 0
    commits: int = 0
    """Commits of other hosts; in a preview, entries of the log."""
    files: int = 0
    """Files that came to this disk."""
    bytes: int = 0
    requests: int = 0
    conflicts: tuple[str, ...] = ()
    """What other hosts had taken before it was pushed from here."""
    error: str = ""
    locked: str = ""
