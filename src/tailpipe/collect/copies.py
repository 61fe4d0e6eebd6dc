"""Copies: while a rotation compresses a log, or copies it before it is cut, the log and its copy both exist.

Only files are compared that may be such a copy: compressed ones that are new, and either written to within the last
minute or of the same time as a plain file next to them, as gzip leaves them; and plain ones that are new, written to
within the last minute and named after a file next to them. Their contents then decide. A plain copy waits for a minute
at most: until then the log is cut, or the copy is there to stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import DAMAGED, Span, spans_of

if TYPE_CHECKING:
    from tailpipe.collect.identity import Prints
    from tailpipe.collect.item import Fate, WorkItem

_IDLE = timedelta(minutes=1)
_AHEAD = timedelta(days=1)
"""A time that is further ahead of the clock says nothing about when the file was written."""
_MOST = 16
"""How many plain files with the same head are compared to the end, the newest of them."""

_SEPARATOR = re.compile(r"[._~-]")

Place = tuple[str, date | None]


def find_copies(
    strangers: Iterable[WorkItem],
    listed: Iterable[WorkItem],
    prints: Prints,
    want: Callable[[WorkItem, Iterable[Span]], bool],
    now: datetime,
) -> dict[str, Fate]:
    """The strangers that are, or may be, copies of plain files that are listed next to them, by URI.

    `want` requests those of the prints that are not known, and says whether there are any.
    """
    copies: dict[str, Fate] = {}
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
    copies: dict[str, Fate],
) -> None:
    """Let files wait whose content is the beginning of the log after which they are named."""
    by_name = {(one.source, one.artifact.uri): one for one in listed if _is_plain(one)}
    for one in fresh:
        uri, size = one.artifact.uri, one.artifact.size or 0
        # The names that a rotation may have made this one of: `app.log` of `app.log.1`, `app.log-2024` and `app.1.log`.
        directory, slash, last = uri.rpartition("/")
        extension = last[last.rfind(".") :] if "." in last else ""
        starts = [last[: match.start()] for match in _SEPARATOR.finditer(last) if match.start()]
        for name in {f"{directory}{slash}{start}{end}" for start in starts for end in ("", extension)} - {uri}:
            other = by_name.get((one.source, name))
            if other is None or (other.artifact.size or 0) < size or other.artifact.day not in (one.artifact.day, None):
                continue
            for span in spans_of(size):
                if want(one, (span,)) | want(other, (span,)):
                    copies[uri] = "unfinished"
                    break
                if prints[uri, span] != prints[other.artifact.uri, span]:
                    break
            else:
                copies[uri] = "unfinished"


def _compare(
    one: WorkItem,
    originals: Sequence[WorkItem],
    prints: Prints,
    want: Callable[[WorkItem, Iterable[Span]], bool],
    copies: dict[str, Fate],
    *,
    is_fresh: bool,
) -> None:
    uri = one.artifact.uri
    heads = {spans_of(other.artifact.size or 0)[0] for other in originals}
    is_open = want(one, heads)
    for other in originals:
        is_open |= want(other, spans_of(other.artifact.size or 0)[:1])
    if (uri, DAMAGED) in prints:
        if is_fresh:  # it may still be written: the next run decides
            copies[uri] = "unfinished"
        return
    if is_open or any(prints[_head(other)] is None for other in originals):
        copies[uri] = "unfinished"  # to be compared, or what it may be a copy of is gone since it was listed
        return
    alike = [other for other in originals if prints[uri, _head(other)[1]] == prints[_head(other)]]
    alike.sort(key=lambda other: -other.artifact.modified.timestamp() if other.artifact.modified else 0.0)
    for other in alike[:_MOST]:
        size = other.artifact.size or 0
        tail, end = spans_of(size)[1], (size, size + 1)
        if want(one, (tail, end)) | want(other, (tail,)):
            copies[uri] = "unfinished"
        elif prints[uri, tail] == prints[other.artifact.uri, tail] and prints[uri, tail] and prints[uri, end] is None:
            copies[uri] = "copied"


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
