"""Copies: while a rotation compresses a log, or copies it before it is cut, the log and its copy are both there.

Only files are looked at that may be such a copy: compressed ones that are new, and either written to within the last
minute or of the same time as a plain file beside them, as gzip leaves them; and plain ones that are new, written to
within the last minute and named after a file beside them. Their contents then decide. A plain copy waits for a minute
at most: until then the log is cut, or the copy is there to stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import DAMAGED, Span, spans_of

if TYPE_CHECKING:
    from tailpipe.collect.identity import Prints
    from tailpipe.collect.item import WorkItem

_IDLE = timedelta(minutes=1)
_AHEAD = timedelta(days=1)
"""A time that is further ahead of the clock says nothing about when the file was written."""
_MOST = 16
"""So many plain files with the same head are compared to the end, the newest of them."""

_SEPARATOR = re.compile(r"[._~-]")

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
    strangers: Iterable[WorkItem],
    listed: Iterable[WorkItem],
    prints: Prints,
    want: Callable[[WorkItem, Iterable[Span]], bool],
    now: datetime,
) -> Copies:
    """Which strangers are copies of plain files that are listed beside them.

    `want` requests those of the prints that are not known, and says whether there are any.
    """
    copies = Copies()
    strangers = list(strangers)
    packed = [one for one in strangers if one.artifact.is_compressed]
    fresh = [one for one in strangers if _is_plain(one) and _is_fresh(one.artifact, now)]
    if not packed and not fresh:
        return copies
    listed = list(listed)
    _find_plain_copies(fresh, listed, prints, want, copies)
    plain: dict[Place, list[WorkItem]] = defaultdict(list)
    for one in listed:
        if _is_plain(one):
            plain[one.source, one.artifact.day].append(one)
    for one in packed:
        places = [(one.source, day) for day in {one.artifact.day, None}]
        is_fresh = _is_fresh(one.artifact, now)
        originals = [other for place in places for other in plain[place] if is_fresh or _is_of_same_time(one, other)]
        if originals:
            _compare(one, originals, prints, want, copies, is_fresh=is_fresh)
    return copies


def _find_plain_copies(
    fresh: Iterable[WorkItem],
    listed: Iterable[WorkItem],
    prints: Prints,
    want: Callable[[WorkItem, Iterable[Span]], bool],
    copies: Copies,
) -> None:
    """Let files wait that hold what the log after which they are named begins with."""
    by_name = {(one.source, one.artifact.uri): one for one in listed if _is_plain(one)}
    for one in fresh:
        uri, size = one.artifact.uri, one.artifact.size or 0
        for name in _names_before(uri):
            other = by_name.get((one.source, name))
            if other is None or (other.artifact.size or 0) < size or other.artifact.day not in (one.artifact.day, None):
                continue
            for span in spans_of(size):
                if want(one, (span,)) | want(other, (span,)):
                    copies.undecided.add(uri)
                    break
                if prints[uri, span] != prints[other.artifact.uri, span]:
                    break
            else:
                copies.unfinished.add(uri)


def _names_before(uri: str) -> set[str]:
    """The names that a rotation may have made this one of: `app.log` of `app.log.1`, `app.log-2024` and `app.1.log`."""
    directory, slash, name = uri.rpartition("/")
    extension = name[name.rfind(".") :] if "." in name else ""
    starts = [name[: match.start()] for match in _SEPARATOR.finditer(name) if match.start()]
    return {f"{directory}{slash}{start}{end}" for start in starts for end in ("", extension)} - {uri}


def _compare(
    one: WorkItem,
    originals: Sequence[WorkItem],
    prints: Prints,
    want: Callable[[WorkItem, Iterable[Span]], bool],
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


def _head(other: WorkItem) -> tuple[str, Span]:
    return other.artifact.uri, spans_of(other.artifact.size or 0)[0]


def _is_plain(one: WorkItem) -> bool:
    artifact = one.artifact
    is_packed = artifact.is_compressed or artifact.uri.lower().endswith(".tar")  # its members are shorter than it is
    return artifact.kind == "file" and not is_packed and bool(artifact.size)


def _is_fresh(artifact: Artifact, now: datetime) -> bool:
    return artifact.modified is not None and -_AHEAD < now - artifact.modified < _IDLE


def _is_of_same_time(one: WorkItem, other: WorkItem) -> bool:
    """Whether their times are the same to the second: not every program keeps its fractions."""
    times = one.artifact.modified, other.artifact.modified
    return times[0] is not None and times[1] is not None and int(times[0].timestamp()) == int(times[1].timestamp())
