"""The outcome of pushing a partition to its store."""

from __future__ import annotations

from datetime import datetime

from tailpipe.frozen import frozen


@frozen
class PushReport:
    """What went up, what left this disk, and what is committed here and not in the store, since when and why."""

    partition: str
    store: str
    version: int = 0
    commits: int = 0
    files: int = 0
    bytes: int = 0
    requests: int = 0
    pulled_commits: int = 0
    """Commits of other hosts that were fetched."""
    offloaded_files: int = 0
    """Files that are only in the store now."""
    freed_files: int = 0
    freed_bytes: int = 0
    unpushed_commits: int = 0
    """Commits that only this disk has."""
    unpushed_since: datetime | None = None
    """When the oldest of them was committed."""
    conflicts: tuple[str, ...] = ()
    """What other hosts had taken before it was pushed."""
    omitted_columns: tuple[str, ...] = ()
    """Columns that other engines do not get since now, with the reasons."""
    to_republish: str = ""
    """The store and table, if an earlier version published it: its times are right in UTC only."""
    publish_error: str = ""
    """Why other engines do not see the newest version; the next push tries again."""
    error: str = ""
    locked: str = ""

    @property
    def failure(self) -> str:
        """Why the store, or the table that other engines see, lacks what is committed here; empty if nothing failed."""
        return self.error or self.locked or self.publish_error
