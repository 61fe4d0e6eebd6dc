"""The work item: one artifact on its way from the listing to the commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tailpipe.frozen import frozen
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.ledger import LedgerEntry

Fate = (
    Literal["new", "unchanged", "grown", "replaced", "truncated"]
    | Literal["rotated", "requested_again", "repeated", "copied", "unfinished"]
)
"""How an artifact has changed since it was last taken."""

Cause = Literal["overwritten", "lost dates", "other dates", "replaced", "new", "requested again", "grown"]
"""Why an artifact is read; the first of them that holds for any of its artifacts names the unit."""


@frozen
class WorkItem:
    """An artifact that a source has listed, and what each step has added to it.

    The listing gives `source` and `artifact`. `identity.decide` adds the fate, the identity (`origin` and
    `generation`), the ledger's `entry` of the content or of the object that this one replaces, the offsets at which
    reading continues, its `host`, and whether it `has_news`, that is, may have more to read. `planning.plan_units`
    adds the cause of reading it. If it `is_reread`, from its beginning, its earlier rows go in the same commit. The
    rows of an undated artifact are cut to `dates`; None takes it whole. An artifact that continues has taken, in the
    end, these dates and those that it had taken before.
    """

    source: str
    artifact: Artifact
    fate: Fate = "new"
    origin: str = ""
    generation: int = 0
    entry: LedgerEntry | None = None
    offset_bytes: int = 0
    offset_rows: int = 0
    has_news: bool = True
    is_closed: bool = True
    cause: Cause = "new"
    is_reread: bool = False
    dates: DaySet | None = None
    host: str | None = None

    @property
    def identity(self) -> tuple[str, int]:
        """The name by which the ledger distinguishes the artifacts of a partition."""
        return self.origin, self.generation

    def reread(self, cause: Cause, dates: DaySet | None) -> WorkItem:
        """The item, to be read from its beginning; its earlier rows go."""
        is_known = self.entry is not None
        return replace(self, cause=cause, dates=dates, offset_bytes=0, offset_rows=0, is_reread=is_known)

    def holding(self, dates: DaySet) -> WorkItem | None:
        """The item without rows of these dates that were not taken yet; None if nothing else is to be read.

        Rows that were taken before stay: an item that continues is cut to the dates that it lacked before.
        """
        entry, wanted = self.entry, EVERY_DAY if self.dates is None else self.dates
        waiting = wanted & (dates if entry is None else dates & entry.left_out)
        if not waiting:
            return self
        cut = replace(self, dates=wanted - waiting)
        if entry is None or self.cause != "other dates" or entry.left_out & (wanted - waiting):
            return cut
        if not self.has_news:
            return None
        offsets = (entry.committed_bytes, entry.committed_ordinals)
        return replace(cut, cause="grown", is_reread=False, offset_bytes=offsets[0], offset_rows=offsets[1])

    def noted(self) -> LedgerEntry | None:
        """The entry with the name and the facts of the listing, if these alone have changed."""
        if self.has_news or self.entry is None:
            return None
        found, known = self.artifact, self.entry
        facts = (self.source, found.uri, found.size, found.modified, found.etag)
        if facts == (known.source, known.uri, known.size, known.modified, known.etag):
            return None  # as for almost all of them, so no copy is made
        source, uri, size, modified, etag = facts
        return replace(known, source=source, uri=uri, size=size, modified=modified, etag=etag)
