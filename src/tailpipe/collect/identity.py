"""Artifact identity: what became of each artifact since it was last taken, decided from facts alone.

Names, sizes, times and etags settle most cases. Where they do not, the content does: `needs` names the
prints that are still wanted, the caller reads them, and so on until nothing is wanted; `decide` then
gives the fate of every artifact. The table of cases is in tests/golden/identity.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import takewhile

from tailpipe.collect.copies import Copies, find_copies
from tailpipe.collect.item import Fate, WorkItem
from tailpipe.frozen import frozen
from tailpipe.model.artifact import Artifact
from tailpipe.model.host import Host, place_of
from tailpipe.model.ledger import LedgerEntry, Span

Prints = Mapping[tuple[str, Span], str | None]
"""Prints of parts of an artifact's content, by URI and part; None if it ends before."""

NOBODY = ""
"""Stands in an entry for a source that there is no more: any other may go on with its content."""

NO_HOST = Host()

IDLE = timedelta(seconds=60)
"""A file that nobody has written to for so long is closed: its last line counts without a line end."""

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
    """The prints without which `decide` cannot decide, as far as can be told from those that are known.

    Call it until it wants nothing more; it is done after six rounds at most. First it requests the
    heads, which cost next to nothing, and for long prints only where the heads agree.
    """
    entries = _own(ledger, host)
    return _compare(_once(listed, entries), entries, prints, now).requests


def decide(
    listed: Sequence[WorkItem], ledger: Iterable[LedgerEntry], prints: Prints, *, now: datetime, host: Host = NO_HOST
) -> tuple[WorkItem, ...]:
    """The fate of every listed artifact, in the order of the listing.

    Each artifact gets an identity of its own, and each entry of the ledger goes on in one artifact at
    most: content alone never makes one artifact of two. An undated entry that a source does not list is
    taken to have vanished; so a source always lists its undated artifacts, and a day whole. Entries of other
    hosts than this one are none of ours, whatever their names and contents are.
    """
    entries = _own(ledger, host)
    once = _once(listed, entries)
    comparison = _compare(once, entries, prints, now)
    if comparison.requests:
        raise ValueError(f"prints are wanted: {comparison.requests}")
    newest: dict[str, int] = defaultdict(lambda: -1)
    for entry in entries:
        newest[entry.origin] = max(newest[entry.origin], entry.generation)
    here = _by_uri(entries)
    decided: list[WorkItem] = []
    seen: set[str] = set()
    for one in listed:
        uri = one.artifact.uri
        origin, kind = host.origin(uri, one.artifact.kind), one.artifact.kind
        is_closed = _is_closed(one.artifact, now)
        fresh = WorkItem(
            one.source, one.artifact, "new", origin, newest[origin] + 1, is_closed=is_closed, host=host.of(kind)
        )
        if uri in seen or uri not in once:
            decided.append(replace(fresh, fate="repeated", has_news=False))
        elif uri in comparison.copies.all:
            fate: Fate = "copied" if uri in comparison.copies.same else "unfinished"
            decided.append(replace(fresh, fate=fate, has_news=False))
        elif one.artifact.kind != "file":
            decided.append(_decide_whole(fresh, here.get(uri), now))
        else:
            decided.append(_decide_file(fresh, here.get(uri), comparison))
        seen.add(uri)
    return tuple(decided)


@dataclass
class _Comparison:
    """What the prints tell so far: files that still hold what they held, and where the rest may be."""

    same: dict[str, LedgerEntry] = field(default_factory=dict)
    blank: dict[str, LedgerEntry] = field(default_factory=dict)
    pairs: list[tuple[Artifact, LedgerEntry]] = field(default_factory=list)
    moved: dict[str, LedgerEntry] = field(default_factory=dict)
    gone: set[tuple[str, int]] = field(default_factory=set)
    copies: Copies = field(default_factory=Copies)
    wanted: dict[tuple[str, str], set[Span]] = field(default_factory=lambda: defaultdict(set))

    @property
    def requests(self) -> tuple[PrintRequest, ...]:
        return tuple(PrintRequest(source, uri, tuple(sorted(spans))) for (source, uri), spans in self.wanted.items())


def _compare(
    once: Mapping[str, WorkItem], entries: Sequence[LedgerEntry], prints: Prints, now: datetime
) -> _Comparison:
    result = _Comparison()
    here = _by_uri(entries)
    strangers, undecided = [], set()
    for one in once.values():
        uri, entry = one.artifact.uri, here.get(one.artifact.uri)
        if one.artifact.kind != "file":
            continue
        if entry is None or _is_other(one.artifact, entry):
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

    result.copies = find_copies(strangers, once.values(), prints, want, now)
    settled = {entry.identity for entry in result.same.values()} | undecided
    loose = _Loose(entry for entry in entries if entry.identity not in settled)
    for one in strangers:
        if one.artifact.size != 0 and one.artifact.uri not in result.copies.all:
            loose.look_for(one, prints, result)
    result.moved = _pair(result.pairs)
    result.gone = {entry.identity for entry in result.moved.values()}
    return result


class _Loose:
    """Entries whose content is not where it was, to be looked for by their heads."""

    def __init__(self, entries: Iterable[LedgerEntry]) -> None:
        self._by_place: dict[tuple[str, date | None], dict[Span, dict[str, list[LedgerEntry]]]] = {}
        for entry in entries:
            if entry.kind == "file" and entry.committed_ordinals:
                span, print_ = entry.probes[0]
                spans = self._by_place.setdefault((entry.source, entry.unit.day), {})
                spans.setdefault(span, {}).setdefault(print_, []).append(entry)

    def look_for(self, one: WorkItem, prints: Prints, result: _Comparison) -> None:
        """Add to `result` the entries that this artifact may go on with, or the prints that would tell.

        An artifact of a Day can only be one of the same Day, or one that was undated before: a rotation
        may add a date to a name, but never changes it.
        """
        uri = one.artifact.uri
        places = [(source, day) for source in (one.source, NOBODY) for day in {one.artifact.day, None}]
        for place in places:
            for span, heads in self._by_place.get(place, {}).items():
                if (uri, span) not in prints:
                    result.wanted[one.source, uri].add(span)
                    continue
                for entry in heads.get(prints[uri, span] or "", ()):
                    if wanted := _unknown(uri, entry, prints):
                        result.wanted[one.source, uri].add(wanted)
                    elif _starts_with(uri, entry, prints):
                        result.pairs.append((one.artifact, entry))


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


def _is_other(artifact: Artifact, entry: LedgerEntry) -> bool:
    return artifact.size == 0 and entry.committed_bytes > 0


def _unknown(uri: str, entry: LedgerEntry, prints: Prints) -> Span | None:
    """What the next print is over that would tell whether the artifact begins as the entry does."""
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
    """Whether what was listed is what the entry was committed of, as far as names, sizes, times and etags tell."""
    if found.etag is not None and entry.etag is not None:
        return found.etag == entry.etag
    return (found.size, found.modified) == (entry.size, entry.modified)


def _is_closed(artifact: Artifact, now: datetime) -> bool:
    return artifact.kind != "file" or artifact.modified is None or now - artifact.modified >= IDLE


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


def _own(ledger: Iterable[LedgerEntry], host: Host) -> tuple[LedgerEntry, ...]:
    return tuple(entry for entry in ledger if host.owns(entry.host))


def _by_uri(entries: Iterable[LedgerEntry]) -> dict[str, LedgerEntry]:
    return {entry.uri: entry for entry in sorted(entries, key=lambda entry: entry.as_of) if entry.uri is not None}
