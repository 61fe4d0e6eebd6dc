"""Artifact identity: how each artifact has changed since it was last taken, decided from facts alone.

Names, sizes, times and etags settle most cases. Where they do not, the content does: `needs` names the prints that are
missing, the caller reads them, and so on until none is missing; `decide` then gives the fate of every artifact. The
table of cases is in tests/golden/identity.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import takewhile

from tailpipe.collect.copies import find_copies
from tailpipe.collect.item import Fate, WorkItem
from tailpipe.frozen import frozen
from tailpipe.model.artifact import Artifact
from tailpipe.model.host import Host, place_of
from tailpipe.model.ledger import LedgerEntry, Span

Prints = Mapping[tuple[str, Span], str | None]
"""Prints of parts of an artifact's content, by URI and part; None if it ends before."""

NOBODY = ""
"""The source of entries whose source no longer exists: any other may continue their content."""

NO_HOST = Host()

IDLE = timedelta(seconds=60)
"""A file without a write for this long is closed: its last line counts without a line end."""

TICK = timedelta(seconds=2)
"""The coarsest clock of a file system: within it a second write may leave the time as it is."""


@frozen
class PrintRequest:
    """A request for the prints of parts of an artifact's decompressed bytes, all in one reading."""

    source: str
    uri: str
    spans: tuple[Span, ...]


def needs(
    listed: Sequence[WorkItem], ledger: Iterable[LedgerEntry], prints: Prints, *, now: datetime, host: Host = NO_HOST
) -> tuple[PrintRequest, ...]:
    """The prints without which `decide` cannot decide, as far as the known ones show.

    Call it until it requests nothing; it is done after six rounds at most. First it requests the heads, which cost next
    to nothing, and long prints only where the heads agree.
    """
    return _compare(listed, ledger, prints, now, host).requests


def decide(
    listed: Sequence[WorkItem], ledger: Iterable[LedgerEntry], prints: Prints, *, now: datetime, host: Host = NO_HOST
) -> tuple[WorkItem, ...]:
    """The fate of every listed artifact, in the order of the listing.

    Each artifact gets a separate identity, and each entry of the ledger continues in one artifact at most: content
    alone never makes one artifact of two. An undated entry that a source does not list is taken to have vanished; so a
    source always lists its undated artifacts, and all of a day. Entries of other hosts are ignored, whatever their
    names and contents are.
    """
    comparison = _compare(listed, ledger, prints, now, host)
    if comparison.requests:
        raise ValueError(f"prints are wanted: {comparison.requests}")
    newest: dict[str, int] = defaultdict(lambda: -1)
    for entry in comparison.entries:
        newest[entry.origin] = max(newest[entry.origin], entry.generation)
    decided: list[WorkItem] = []
    seen: set[str] = set()
    for one in listed:
        uri, kind, modified = one.artifact.uri, one.artifact.kind, one.artifact.modified
        known, origin = comparison.here.get(uri), host.origin(uri, kind)
        is_closed = kind != "file" or modified is None or now - modified >= IDLE
        fresh = WorkItem(
            one.source, one.artifact, "new", origin, newest[origin] + 1, is_closed=is_closed, host=host.of(kind)
        )
        if uri in seen or uri not in comparison.once:
            decided.append(replace(fresh, fate="repeated", has_news=False))
        elif uri in comparison.copies:
            decided.append(replace(fresh, fate=comparison.copies[uri], has_news=False))
        elif kind != "file":
            decided.append(_decide_whole(fresh, known, now))
        else:
            decided.append(_decide_file(fresh, known, comparison))
        seen.add(uri)
    return tuple(decided)


@dataclass
class _Comparison:
    """What the known prints show: files with the same content as before, and entries whose content has moved."""

    entries: Sequence[LedgerEntry]
    """Those of this host."""
    once: Mapping[str, WorkItem]
    """The listed artifacts by URI, each once."""
    here: Mapping[str, LedgerEntry]
    """The newest entry of each URI."""
    same: dict[str, LedgerEntry] = field(default_factory=dict)
    blank: dict[str, LedgerEntry] = field(default_factory=dict)
    moved: dict[str, LedgerEntry] = field(default_factory=dict)
    gone: set[tuple[str, int]] = field(default_factory=set)
    copies: Mapping[str, Fate] = field(default_factory=dict)
    wanted: dict[tuple[str, str], set[Span]] = field(default_factory=lambda: defaultdict(set))
    requests: tuple[PrintRequest, ...] = ()


def _compare(
    listed: Iterable[WorkItem], ledger: Iterable[LedgerEntry], prints: Prints, now: datetime, host: Host
) -> _Comparison:
    entries = tuple(entry for entry in ledger if host.owns(entry.host))
    here = {entry.uri: entry for entry in sorted(entries, key=lambda entry: entry.as_of) if entry.uri is not None}
    result = _Comparison(entries, _once(listed, entries), here)
    strangers, undecided = [], set()
    for one in result.once.values():
        uri, entry = one.artifact.uri, here.get(one.artifact.uri)
        if one.artifact.kind != "file":
            continue
        if entry is None or (one.artifact.size == 0 and entry.committed_bytes > 0):
            strangers.append(one)
        elif _is_untouched(one.artifact, entry):
            result.same[uri] = entry
        elif span := _unknown(uri, entry, prints):
            result.wanted[one.source, uri].add(span)
            undecided.add(entry.identity)
        elif not _starts_with(uri, entry, prints):
            strangers.append(one)
        elif entry.committed_ordinals:
            result.same[uri] = entry
        else:
            # Many contents begin with no row at all, or with the same header: look elsewhere first.
            result.blank[uri] = entry
            strangers.append(one)

    def want(one: WorkItem, spans: Iterable[Span]) -> bool:
        missing = {span for span in spans if (one.artifact.uri, span) not in prints}
        if missing:
            result.wanted[one.source, one.artifact.uri] |= missing
        return bool(missing)

    result.copies = find_copies(strangers, result.once.values(), prints, want, now)
    settled = {entry.identity for entry in result.same.values()} | undecided
    loose = [entry for entry in entries if entry.identity not in settled]
    moving = [one for one in strangers if one.artifact.size != 0 and one.artifact.uri not in result.copies]
    if loose and moving:
        result.moved = _pair(_continued(moving, loose, prints, result.wanted))
    result.gone = {entry.identity for entry in result.moved.values()}
    result.requests = tuple(
        PrintRequest(source, uri, tuple(sorted(spans))) for (source, uri), spans in result.wanted.items()
    )
    return result


def _continued(
    strangers: Iterable[WorkItem],
    loose: Iterable[LedgerEntry],
    prints: Prints,
    wanted: dict[tuple[str, str], set[Span]],
) -> list[tuple[Artifact, LedgerEntry]]:
    """The artifacts that may continue entries whose content has moved; `wanted` gets the prints that are missing.

    An artifact of a Day can only be one of the same Day, or one that was undated before: a rotation may add a date to a
    name, but never changes it.
    """
    by_place: dict[tuple[str, date | None], dict[Span, dict[str, list[LedgerEntry]]]] = {}
    for entry in loose:
        if entry.kind == "file" and entry.committed_ordinals:
            span, print_ = entry.probes[0]
            spans = by_place.setdefault((entry.source, entry.unit.day), {})
            spans.setdefault(span, {}).setdefault(print_, []).append(entry)
    pairs = []
    for one in strangers:
        uri = one.artifact.uri
        places = [(source, day) for source in (one.source, NOBODY) for day in {one.artifact.day, None}]
        for span, heads in ((span, heads) for place in places for span, heads in by_place.get(place, {}).items()):
            if (uri, span) not in prints:
                wanted[one.source, uri].add(span)
                continue
            for entry in heads.get(prints[uri, span] or "", ()):
                if missing := _unknown(uri, entry, prints):
                    wanted[one.source, uri].add(missing)
                elif _starts_with(uri, entry, prints):
                    pairs.append((one.artifact, entry))
    return pairs


def _pair(pairs: Iterable[tuple[Artifact, LedgerEntry]]) -> dict[str, LedgerEntry]:
    """Choose for each artifact one entry and for each entry one artifact, the best matches first."""

    def rank(pair: tuple[Artifact, LedgerEntry]) -> tuple[int, bool, int, str, tuple[str, int]]:
        found, entry = pair
        names = zip(found.uri, entry.uri or place_of(entry.origin, entry.host), strict=False)
        alike = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], names))
        other_time = found.modified != entry.modified
        return -entry.committed_bytes, other_time, -alike, found.uri, entry.identity

    chosen: dict[str, LedgerEntry] = {}
    used: set[tuple[str, int]] = set()
    for found, entry in sorted(pairs, key=rank):
        if found.uri not in chosen and entry.identity not in used:
            chosen[found.uri] = entry
            used.add(entry.identity)
    return chosen


def _decide_whole(fresh: WorkItem, known: LedgerEntry | None, now: datetime) -> WorkItem:
    if known is None:
        return fresh
    is_object = fresh.artifact.kind == "object"
    if is_object and not is_same(fresh.artifact, known):
        return replace(fresh, fate="replaced", entry=known)
    is_unchanged = is_object or known.as_of == now
    if known.as_of > now:  # the clock was ahead then, and it cannot have been later than now
        known = replace(known, as_of=now)
    if fresh.artifact.kind == "range" and not is_unchanged:
        return replace(_continue(fresh, known), fate="requested_again")
    return replace(
        fresh,
        origin=known.origin,
        generation=known.generation,
        entry=known,
        host=known.host,
        fate="unchanged" if is_unchanged else "requested_again",
        has_news=not is_unchanged,
    )


def _decide_file(fresh: WorkItem, known: LedgerEntry | None, comparison: _Comparison) -> WorkItem:
    uri = fresh.artifact.uri
    if uri in comparison.same:
        return _decide_same(fresh, comparison.same[uri])
    if uri in comparison.moved:
        return _decide_moved(fresh, comparison.moved[uri])
    if uri in comparison.blank:
        return _decide_same(fresh, comparison.blank[uri])
    if known is not None and known.identity not in comparison.gone:
        return replace(fresh, fate="truncated")
    return fresh


def _decide_same(fresh: WorkItem, entry: LedgerEntry) -> WorkItem:
    item = _continue(fresh, entry)
    size = fresh.artifact.size
    if _is_untouched(fresh.artifact, entry):
        has_news = entry.unread_bytes > 0 and fresh.is_closed
    else:
        has_news = entry.unread_bytes > 0 or size is None or size != entry.size
    return replace(item, fate="grown" if has_news else "unchanged", has_news=has_news)


def _decide_moved(fresh: WorkItem, entry: LedgerEntry) -> WorkItem:
    modified = fresh.artifact.modified
    is_read = modified is not None and modified == entry.modified and modified + TICK < entry.as_of
    return replace(_continue(fresh, entry), fate="rotated", has_news=not is_read or entry.unread_bytes > 0)


def _continue(fresh: WorkItem, entry: LedgerEntry) -> WorkItem:
    return replace(
        fresh,
        origin=entry.origin,
        generation=entry.generation,
        entry=entry,
        offset_bytes=entry.committed_bytes,
        offset_rows=entry.committed_ordinals,
        host=entry.host,
    )


def _is_untouched(artifact: Artifact, entry: LedgerEntry) -> bool:
    facts = (artifact.size, artifact.modified)
    return artifact.modified is not None and facts == (entry.size, entry.modified)


def _unknown(uri: str, entry: LedgerEntry, prints: Prints) -> Span | None:
    """The next part whose print would show whether the artifact begins like the entry; None if it is known."""
    for span, print_ in entry.probes:
        if (uri, span) not in prints:
            return span
        if prints[uri, span] != print_:
            return None
    return None


def _starts_with(uri: str, entry: LedgerEntry, prints: Prints) -> bool:
    # An entry without a print equals nothing, least of all a content that is too short to have one.
    return all(print_ and prints.get((uri, span)) == print_ for span, print_ in entry.probes)


def is_same(found: Artifact, entry: LedgerEntry) -> bool:
    """Whether a listed artifact is the one that the entry was committed from, by its size, time and etag."""
    if found.etag is not None and entry.etag is not None:
        return found.etag == entry.etag
    return (found.size, found.modified) == (entry.size, entry.modified)


def _once(listed: Iterable[WorkItem], entries: Sequence[LedgerEntry]) -> dict[str, WorkItem]:
    """Each artifact by its name; of the names of one file those that are known, or else the first."""
    once: dict[str, WorkItem] = {}
    links: dict[tuple[int, int], list[str]] = defaultdict(list)
    for one in listed:
        file = one.artifact.file
        if once.setdefault(one.artifact.uri, one) is one and file is not None and file.links > 1:
            links[file.device, file.number].append(one.artifact.uri)
    known = {entry.uri for entry in entries} if links else set()
    for names in links.values():
        kept = known.intersection(names) or {names[0]}
        for name in names:
            if name not in kept:
                del once[name]
    return once
