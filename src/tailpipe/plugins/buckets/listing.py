"""List keys of a bucket: page by page, several prefixes at a time, with as few requests as will do.

Above the dates, folders are looked up one by one, or remembered. Below, one listing begins after the day before the
window and ends behind it; where most of a page's keys are not wanted, it begins again at the next wanted day. A long
one is cut at its days, so that several are read at a time.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace

from tailpipe.plugin import TailpipeError
from tailpipe.plugin.listing import ListingRun, listing_run
from tailpipe.plugins.buckets.bucket import Bucket, Key, Page
from tailpipe.plugins.buckets.crew import Crew
from tailpipe.plugins.buckets.memory import MANY, Memory
from tailpipe.plugins.buckets.walk import Request, Spot, Walk

_REQUESTS = 24
"""The number of pages that are requested at the same time."""
_LONG = 8
"""A listing with so many pages to come is cut into several."""
_PIECE = 4
"""After so many pages it is cut, and about so many a piece has."""
_PROGRESS_SECONDS = 0.2


@dataclass(frozen=True)
class _Listing:
    """A listing under way: where its next page begins, and what its pages have given."""

    request: Request
    neighbours: int = 0
    """How many folders are in the folder above."""
    after: str = ""
    token: str | None = None
    tokens: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()


def list_keys(bucket: Bucket, base: str, walk: Walk) -> Iterator[Key]:
    """The keys on a walk, whose paths begin below `base`. No more pages are held than are requested at a time."""
    return _Lister(bucket, base, walk, listing_run()).keys()


@dataclass
class _Lister:
    bucket: Bucket
    base: str
    walk: Walk
    run: ListingRun
    waiting: deque[_Listing] = field(default_factory=deque)
    requests: int = 0
    folders: int = 0
    _shown: float = field(default_factory=time.monotonic)

    def keys(self) -> Iterator[Key]:
        memory = Memory(self.run, self.bucket.identity)
        crew: Crew[Page] = Crew(_REQUESTS, "tailpipe-list")
        running: dict[Future[Page], _Listing] = {}
        is_whole = False
        try:
            self._enter(self.walk.begin(), 0)
            while self.waiting or running:
                while self.waiting and len(running) < _REQUESTS:
                    listing = self.waiting.pop()
                    if not self._recalled(listing, memory):
                        running[self._requested(crew, listing)] = listing
                if not running:
                    continue
                done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in done:
                    listing = running.pop(future)
                    yield from self._taken(listing, future.result(), memory)
                self._report()
            is_whole = True
            self.run.progress(self.requests, self.folders)
        finally:
            crew.close()
            memory.save(is_whole=is_whole)

    def _requested(self, crew: Crew[Page], listing: _Listing) -> Future[Page]:
        self.requests += 1
        one = listing.request
        return crew.submit(
            self.bucket.page, self.base + one.prefix, is_deep=one.is_deep, after=listing.after, token=listing.token
        )

    def _enter(self, spot: Spot, neighbours: int) -> None:
        """List what is at a spot."""
        for request in self.walk.requests(spot):
            after = self._before(request.heads[0]) if request.heads and self.bucket.can_seek else ""
            self.waiting.append(_Listing(request, neighbours, after))

    def _before(self, head: str) -> str:
        """A key right before all that begin with a text: what is between them, no layout names."""
        last = chr(ord(head[-1]) - 1)
        return self.base + (f"{head[:-1]}{last}~" if "!" <= last <= "~" else head[:-1])

    def _recalled(self, listing: _Listing, memory: Memory) -> bool:
        """Enter the folders that are remembered, if they are."""
        request = listing.request
        if not request.names_folders or listing.neighbours < MANY or listing.token is not None:
            return False
        names = memory.recall(self.base + request.prefix)
        if names is None:
            return False
        self._enter_folders(request.spot, names)
        return True

    def _enter_folders(self, spot: Spot, names: tuple[str, ...]) -> None:
        spots = [inner for name in names if (inner := self.walk.enter(spot, name)).alive]
        self.folders += len(spots)
        for inner in spots:
            self._enter(inner, len(spots))

    def _taken(self, listing: _Listing, page: Page, memory: Memory) -> Iterator[Key]:
        """The keys of a page; what follows from it waits."""
        request = listing.request
        if page.next is not None and (page.next == listing.token or page.next in listing.tokens):
            raise TailpipeError(
                f'cannot list "{self.bucket.address}{self.base}{request.prefix}": the pages repeat',
                hint="the server does not follow the protocol: check the endpoint of the connection",
            )
        if request.heads:
            yield from self._within(request, page)
            self._go_on(listing, page)
            return
        yield from page.keys
        start = len(self.base) + len(request.spot.path)
        names = tuple(folder[start:-1] for folder in page.folders if folder.startswith(self.base + request.spot.path))
        self._enter_folders(request.spot, names)
        if page.next is not None:
            self._continue(replace(listing, folders=listing.folders + names), page.next)
        elif request.names_folders and listing.neighbours >= MANY:
            memory.keep(self.base + request.prefix, listing.folders + names)

    def _continue(self, listing: _Listing, token: str) -> None:
        self.waiting.append(replace(listing, token=token, tokens=listing.tokens | {token}))

    def _within(self, request: Request, page: Page) -> Iterator[Key]:
        """The keys of the window that the walk would have come to."""
        folder, is_wanted = "", True
        for key in page.keys:
            path = key.name[len(self.base) :]
            if not _begins(request.heads, path):
                continue
            above, _, _ = path.rpartition("/")
            if above != folder:
                folder, below = above, above[len(request.spot.path) :]
                is_wanted = not below or self.walk.reaches(request.spot, below)
            if is_wanted:
                yield key

    def _go_on(self, listing: _Listing, page: Page) -> None:
        """What is left of a listing over dates: its next page, the next day that is wanted, or several pieces."""
        if page.next is None:
            return
        heads, last = listing.request.heads, page.keys[-1].name[len(self.base) :] if page.keys else ""
        if not self.bucket.can_seek or not last or (listing.after and self.base + last <= listing.after):
            self._continue(listing, page.next)  # or the server does not begin where it was told to
            return
        place = bisect_right(heads, last)
        is_inside = place > 0 and last.startswith(heads[place - 1])
        rest = heads[place:]
        if is_inside:
            seen = max(1, place - bisect_right(heads, page.keys[0].name[len(self.base) :]) + 1)
            if len(listing.tokens) >= _PIECE and len(rest) / seen >= _LONG:
                for piece in _pieces(heads[place - 1], rest, _PIECE * seen):
                    self._seek(listing, piece)
                rest = ()
            request = replace(listing.request, heads=(heads[place - 1], *rest))
            self._continue(replace(listing, request=request), page.next)
        elif rest:
            self._seek(listing, rest)

    def _seek(self, listing: _Listing, heads: tuple[str, ...]) -> None:
        request = replace(listing.request, heads=heads)
        self.waiting.append(_Listing(request, listing.neighbours, self._before(heads[0])))

    def _report(self) -> None:
        if (now := time.monotonic()) - self._shown >= _PROGRESS_SECONDS:
            self._shown = now
            self.run.progress(self.requests, self.folders)


def _pieces(head: str, heads: tuple[str, ...], size: int) -> Iterator[tuple[str, ...]]:
    """Some heads at a time; those that are written in another way than the one seen so far are probably not used."""
    alike = [one for one in heads if len(one) == len(head)]
    others = tuple(one for one in heads if len(one) != len(head))
    for start in range(0, len(alike), size):
        yield tuple(alike[start : start + size])
    if others:
        yield others


def _begins(heads: tuple[str, ...], path: str) -> bool:
    """Whether a path begins with one of the heads, none of which begins with another."""
    place = bisect_right(heads, path)
    return place > 0 and path.startswith(heads[place - 1])
