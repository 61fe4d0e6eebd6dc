"""Compressed copies: while a rotation compresses a log, the log and its copy are both there, and are one.

Only files are looked at that may be such a copy: compressed ones that are new, and either written to within the last
minute or of the same time as a plain file beside them, as gzip leaves them. Their contents then decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import DAMAGED, Span, spans_of

if TYPE_CHECKING:
    from tailpipe.catalog.identity import Listed, Prints

__all__ = ["Copies", "find_copies"]

_IDLE = timedelta(minutes=1)
_AHEAD = timedelta(days=1)
"""A time that is further ahead of the clock says nothing about when the file was written."""
_MOST = 16
"""So many plain files with the same head are compared to the end, the newest of them."""

Place = tuple[str, date | None]


@dataclass
class Copies:
    """What is known so far: copies, files of which it cannot be told yet, and those still to be looked into."""

    same: set[str] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)
    undecided: set[str] = field(default_factory=set)

    @property
    def all(self) -> set[str]:
        """Every file that must not be taken for anything else."""
        return self.same | self.unfinished | self.undecided


def find_copies(
    strangers: Iterable[Listed],
    listed: Iterable[Listed],
    prints: Prints,
    want: Callable[[Listed, Iterable[Span]], bool],
    now: datetime,
) -> Copies:
    """Which strangers are compressed copies of plain files that are listed beside them.

    `want` asks for those of the prints that are not known, and says whether there are any.
    """
    copies = Copies()
    packed = [one for one in strangers if one.artifact.is_compressed]
    if not packed:
        return copies
    plain: dict[Place, list[Listed]] = defaultdict(list)
    for one in listed:
        if one.artifact.kind == "file" and not one.artifact.is_compressed and one.artifact.size:
            plain[one.source, one.artifact.day].append(one)
    for one in packed:
        places = [(one.source, day) for day in {one.artifact.day, None}]
        is_fresh = _is_fresh(one.artifact, now)
        originals = [other for place in places for other in plain[place] if is_fresh or _is_of_same_time(one, other)]
        if originals:
            _compare(one, originals, prints, want, copies, is_fresh=is_fresh)
    return copies


def _compare(
    one: Listed,
    originals: Sequence[Listed],
    prints: Prints,
    want: Callable[[Listed, Iterable[Span]], bool],
    copies: Copies,
    *,
    is_fresh: bool,
) -> None:
    uri = one.artifact.uri
    heads = {spans_of(other.artifact.size or 0)[0] for other in originals}
    is_open = want(one, heads)
    for other in originals:
        is_open |= want(other, spans_of(other.artifact.size or 0)[:1])
    if (uri, DAMAGED) in prints:
        # Nobody can tell what it is, or will be: if it is being written, the next run can.
        copies.unfinished |= {uri} if is_fresh else set()
        return
    if is_open:
        copies.undecided.add(uri)
        return
    if any(prints[_head(other)] is None for other in originals):
        copies.unfinished.add(uri)  # what it may be a copy of is gone since it was listed
        return
    alike = [other for other in originals if prints[uri, _head(other)[1]] == prints[_head(other)]]
    alike.sort(key=lambda other: -other.artifact.modified.timestamp() if other.artifact.modified else 0.0)
    for other in alike[:_MOST]:
        size = other.artifact.size or 0
        tail, end = spans_of(size)[1], (size, size + 1)
        if want(one, (tail, end)) | want(other, (tail,)):
            copies.undecided.add(uri)
        elif prints[uri, tail] is not None and prints[uri, tail] == prints[other.artifact.uri, tail]:
            copies.same |= {uri} if prints[uri, end] is None else set()


def _head(other: Listed) -> tuple[str, Span]:
    return other.artifact.uri, spans_of(other.artifact.size or 0)[0]


def _is_fresh(artifact: Artifact, now: datetime) -> bool:
    return artifact.modified is not None and -_AHEAD < now - artifact.modified < _IDLE


def _is_of_same_time(one: Listed, other: Listed) -> bool:
    """Whether their times are the same to the second: not every program keeps its fractions."""
    times = one.artifact.modified, other.artifact.modified
    return times[0] is not None and times[1] is not None and int(times[0].timestamp()) == int(times[1].timestamp())
