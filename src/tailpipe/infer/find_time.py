"""Find the time in lines of text: where it is, by which layout, and what comes before and after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from tailpipe.frozen import frozen
from tailpipe.infer.time_layouts import LAYOUTS, TimeLayout
from tailpipe.infer.times import Basis, TimeSpelling, moment_of, spelling_of_texts

_REACH = 240
"""How far from the start of a line a time may be."""
_MANY = 400
_PER_LINE = 4
_SOME = 0.3
_FEW = 0.04
"""The part of the lines that must begin with a time, if the others may belong to the events before them."""
_HEADER_LINES = 12
_MOST = 0.9
_ZONE_STEP = 15 * 60
_RANKS = {"instant": 3, "local": 2, "no year": 1, "no date": 0}


@frozen
class LineTime:
    """The time of lines: its layouts, how they are read, and for each line where its time is, if it has one."""

    layouts: tuple[TimeLayout, ...]
    spelling: TimeSpelling
    spans: tuple[tuple[int, int] | None, ...]


@frozen
class _Candidate:
    """A layout at a place: how many words are before it, or at which of its matches in a line."""

    layout: TimeLayout
    place: int
    hits: dict[int, tuple[int, int, str]]
    """For each line that has it: start, end and text."""

    def share(self, lines: int) -> float:
        return len(self.hits) / max(1, lines)


def find_time(lines: Sequence[str], basis: Basis, layouts: Sequence[TimeLayout] = LAYOUTS) -> LineTime | None:
    """The time that most lines have at one place, by one or more of the layouts; None if there is none."""
    heads = [line[:_REACH] for line in lines[:_MANY]]
    events = [number for number, head in enumerate(heads) if not head[:1].isspace()] or list(range(len(heads)))
    candidates = _candidates(heads, events, layouts)
    best = _best(candidates, events, basis)
    if best is None:
        return None
    chosen = [best, *_others(best, candidates, events)]
    texts = [text for one in chosen for _, _, text in one.hits.values()]
    spelling = spelling_of_texts(texts, [one.layout for one in chosen], basis)
    if spelling is None:
        return None
    return LineTime(tuple(one.layout for one in chosen), spelling, tuple(_spans(lines, chosen)))


def _candidates(heads: Sequence[str], events: Sequence[int], layouts: Sequence[TimeLayout]) -> list[_Candidate]:
    found: dict[tuple[TimeLayout, int], dict[int, tuple[int, int, str]]] = defaultdict(dict)
    for layout in layouts:
        for number in events:
            head = heads[number]
            for nth, match in enumerate(layout.strict.finditer(head)):
                if nth == _PER_LINE:
                    break
                words = len(head[: match.start()].split())
                hit = (match.start(), match.end(), match[0])
                found[layout, words].setdefault(number, hit)
                found[layout, -1 - nth].setdefault(number, hit)
    return [_Candidate(layout, place, hits) for (layout, place), hits in found.items()]


def _best(candidates: Sequence[_Candidate], events: Sequence[int], basis: Basis) -> _Candidate | None:
    possible = [one for one in candidates if _is_possible(one, events, basis)]
    if not possible:
        return None
    best = max(possible, key=lambda one: _rank(one, events, basis))
    better = [one for one in possible if _explains(one, best, basis)]
    return max(better, key=lambda one: _rank(one, events, basis), default=best)


def _is_possible(one: _Candidate, events: Sequence[int], basis: Basis) -> bool:
    share = one.share(len(events))
    begins = [number for number, (start, _, _) in one.hits.items() if start <= 2]
    is_begin = len(begins) >= 2 and len(begins) == len(one.hits) and begins[0] <= _HEADER_LINES
    if share < (_FEW if is_begin else _SOME):
        return False
    texts = {text for _, _, text in one.hits.values()}
    if one.layout.needs_name or one.layout.template == "epoch_s":
        moments = [moment_of(one.layout, text, basis) for text in texts]
        is_timely = all(moment and moment.year >= 2000 and moment <= basis.latest for moment in moments)
        return share >= _MOST and is_timely and (len(texts) > 1 or len(events) < 3)
    if one.layout.kind == "no date":
        return one.place in (0, 1, -1) and all(start <= 40 for start, _, _ in one.hits.values())
    return True


def _rank(one: _Candidate, events: Sequence[int], basis: Basis) -> tuple[float, ...]:
    """The best has the most lines, values that change, the fewest words before it, and the most parts."""
    share = one.share(len(events))
    texts = [text for _, _, text in one.hits.values()]
    is_constant = len(set(texts)) == 1 and len(texts) > 3
    first = sum(start for start, _, _ in one.hits.values()) / max(1, len(one.hits))
    length = sum(map(len, texts)) / max(1, len(texts))
    is_dated = one.layout.kind != "no date"
    level = 3 if share >= 0.97 else 2 if share >= _MOST else 1 if share >= _SOME else 0
    closeness = _nearness(one, texts, basis)
    return is_dated, not is_constant, level, -round(first / 3), length, *closeness, share, one.place >= 0


def _nearness(one: _Candidate, texts: Sequence[str], basis: Basis) -> tuple[bool, float]:
    """Whether all texts are times that are not later than the log, and how close the last is to its end."""
    moments = [moment_of(one.layout, text, basis) for text in texts[:50]]
    known = [moment for moment in moments if moment]
    if not known:
        return one.layout.kind == "no date", 0.0
    is_valid = len(known) == len(moments) and max(known) <= basis.latest
    return is_valid, -(abs((basis.latest - max(known)).days) + (max(known) - min(known)).days)


def _explains(one: _Candidate, best: _Candidate, basis: Basis) -> bool:
    """Whether a candidate is the same moment as the best one, and more certain: with a year, or with a zone."""
    if _RANKS[one.layout.kind] <= _RANKS[best.layout.kind] or best.layout.kind == "no date":
        return False
    common = [number for number in best.hits if number in one.hits]
    if len(common) < 0.97 * len(best.hits):
        return False
    gaps = set()
    for number in common[:100]:
        mine, other = (moment_of(each.layout, each.hits[number][2], basis) for each in (one, best))
        if mine is None or other is None:
            return False
        gaps.add(_gap(mine, other, is_year_known=best.layout.kind != "no year"))
    return len({round(gap / _ZONE_STEP) for gap in gaps}) <= 2 and all(
        abs(gap) <= 14 * 3600 and abs(gap - _ZONE_STEP * round(gap / _ZONE_STEP)) <= 2 for gap in gaps
    )


def _gap(mine: datetime, other: datetime, *, is_year_known: bool) -> float:
    if not is_year_known:
        try:
            other = other.replace(year=mine.year)
        except ValueError:
            return float("inf")
    return (other - mine).total_seconds()


def _others(best: _Candidate, candidates: Sequence[_Candidate], events: Sequence[int]) -> list[_Candidate]:
    """Layouts of the lines that do not have the best one, at the same place."""
    missing = [number for number in events if number not in best.hits]
    found: list[_Candidate] = []
    while len(missing) >= 2 and len(found) < 3:
        same = [one for one in candidates if one.place == best.place and one.layout.kind != "no date"]
        counts = [(sum(number in one.hits for number in missing), one) for one in same if one is not best]
        most, one = max(counts, key=lambda pair: pair[0], default=(0, best))
        if most < max(2, 0.2 * len(missing)):
            break
        found.append(_Candidate(one.layout, one.place, {n: hit for n, hit in one.hits.items() if n in missing}))
        missing = [number for number in missing if number not in one.hits]
    return found


def _spans(lines: Sequence[str], chosen: Sequence[_Candidate]) -> list[tuple[int, int] | None]:
    spans: list[tuple[int, int] | None] = []
    for number, line in enumerate(lines):
        span: tuple[int, int] | None = None
        for one in chosen:
            if number < _MANY:
                hit = one.hits.get(number)
                span = None if hit is None else hit[:2]
            elif not line[:1].isspace():
                span = _at(line[:_REACH], one)
            if span is not None:
                break
        spans.append(span)
    return spans


def _at(head: str, one: _Candidate) -> tuple[int, int] | None:
    for nth, match in enumerate(one.layout.strict.finditer(head)):
        if one.place in (-1 - nth, len(head[: match.start()].split())):
            return match.span()
    return None
