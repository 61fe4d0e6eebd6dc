"""The walk through a bucket: a layout and a window become the prefixes to list, and no others.

A layout is cut at its slashes into segments. A segment that is always the same goes into the prefix; another
is looked up, by a listing that stops at the next slash, and what cannot match or lies outside the window is
not entered. Parts that may be missing make variants, which are walked together. All of it is pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tailpipe.formats.grok import compile_grok
from tailpipe.formats.pattern import Atom, Choice, Group, Node, Pattern, Repeat, walk
from tailpipe.formats.pattern import Sequence as Row
from tailpipe.plugin import Window
from tailpipe.plugin.linear import Regex, compile_linear

_PARTS = ("year", "month", "day")
_MANY_VARIANTS = 64
_MANY_HEADS = 400
_MANY_DAYS = 15
"""From so many days of a month on, one listing of the month is cheaper than one for each day."""
_MANY_FOLDERS = 10_000
_SLASH = Atom("character", "/", "/")


class Dates:
    """The days of a window, as the parts of a path name them."""

    def __init__(self, window: Window) -> None:
        self.days = [{"year": day.year, "month": day.month, "day": day.day} for day in window.days()]
        self._known: dict[tuple[tuple[str, int], ...], bool] = {}

    def holds(self, parts: Mapping[str, int]) -> bool:
        """Whether some day of the window has all of these parts."""
        key = tuple(sorted(parts.items()))
        if key not in self._known:
            self._known[key] = not key or any(all(day[name] == value for name, value in key) for day in self.days)
        return self._known[key]


@dataclass(frozen=True)
class Segment:
    """What a layout says between two slashes; the last one may reach over further slashes."""

    nodes: tuple[Node, ...]
    is_last: bool = False

    @cached_property
    def regex(self) -> Regex:
        """What a name must match as a whole."""
        return compile_linear(f"(?s:{Pattern(Row(self.nodes)).named()})")

    @cached_property
    def literal(self) -> str:
        """How its names begin, as far as it is always the same."""
        texts = [_character(node) for node in _flat(self.nodes)]
        return "".join(texts[: texts.index("")] if "" in texts else texts)

    @cached_property
    def is_constant(self) -> bool:
        """Whether there is but one name."""
        return all(_character(node) for node in _flat(self.nodes))

    @cached_property
    def is_dated(self) -> bool:
        """Whether it has a part of a date."""
        return any(_part(inner) for node in self.nodes for inner in walk(node))

    @cached_property
    def is_deep(self) -> bool:
        """Whether it can match a slash."""
        return any(isinstance(inner, Atom) and inner.matches("/") for node in self.nodes for inner in walk(node))

    def heads(self, parts: Mapping[str, int], dates: Dates) -> list[str]:
        """How names of the window's days begin, up to the first thing that can be anything."""
        nodes = list(_flat(self.nodes))
        while nodes and not _character(nodes[-1]) and _part(nodes[-1]) is None:
            nodes.pop()
        dated = [_part(node) for node in nodes]
        if not any(dated):
            return [self.literal]
        heads: set[str] = set()
        for day in dates.days:
            if all(day[name] == value for name, value in parts.items()):
                if not (texts := _texts(nodes, day)):  # a month by its name
                    return [self.literal]
                heads |= texts
            if len(heads) > _MANY_HEADS:
                return [self.literal]
        return _shortest(heads)


@dataclass(frozen=True)
class Request:
    """One listing to make: below a prefix all keys, or those and the folders up to the next slash."""

    prefix: str
    is_deep: bool
    spot: Spot
    heads: tuple[str, ...] = ()
    """How all keys begin that are wanted, in their order, of a listing that reaches over the dates below a folder."""
    names_folders: bool = False
    """Whether it can only find folders, and those are not of days."""


@dataclass(frozen=True)
class Spot:
    """A place on the walk: the path so far, and for each variant that still fits, where in it we are."""

    path: str = ""
    depth: int = 0
    alive: tuple[tuple[int, int, tuple[tuple[str, int], ...]], ...] = ()


@dataclass(frozen=True)
class Walk:
    """A layout ready to be walked, and perhaps a glob that the first folders must match too."""

    variants: tuple[tuple[Segment, ...], ...]
    dates: Dates
    glob: tuple[Regex, ...] = field(default=())
    can_seek: bool = True
    """Whether a listing may begin after any key."""
    _heads: dict[object, tuple[str, ...]] = field(default_factory=dict, compare=False)
    _reached: dict[object, bool] = field(default_factory=dict, compare=False)

    def begin(self) -> Spot:
        """Where it starts."""
        return Spot(alive=tuple((number, 0, ()) for number in range(len(self.variants))))

    def requests(self, spot: Spot) -> Iterator[Request]:
        """What to list at a spot."""
        nexts = [(self.variants[number][place], dict(parts)) for number, place, parts in spot.alive]
        if spot.depth >= len(self.glob) and all(one.is_constant and not one.is_last for one, _ in nexts):
            for name in sorted({one.literal for one, _ in nexts}):
                yield from self.requests(self.enter(spot, name)) if self.enter(spot, name).alive else ()
            return
        if dated := self.heads(spot):
            yield Request(spot.path, True, spot, tuple(spot.path + head for head in dated))
            return
        last = [(one, parts) for one, parts in nexts if one.is_last]
        if last and (len(last) < len(nexts) or spot.depth < len(self.glob)):
            is_deep = any(one.is_deep for one, _ in last) and spot.depth >= len(self.glob)
            yield Request(spot.path, is_deep, spot)
        elif last:
            heads = _shortest({head for one, parts in last for head in one.heads(parts, self.dates)})
            is_deep = any(one.is_deep for one, _ in last)
            yield from (Request(spot.path + head, is_deep, spot) for head in heads)
        else:
            is_above = not any(one.is_dated for one, _ in nexts) and spot.depth >= len(self.glob)
            yield Request(spot.path + _common([one.literal for one, _ in nexts]), False, spot, names_folders=is_above)

    def heads(self, spot: Spot) -> tuple[str, ...]:
        """How the rest of all wanted keys begins if it begins with their dates; empty if that is not so.

        Where a listing may begin after any key, one request then reads the days of the window, whatever folders they
        are in. Elsewhere it pays only for the larger part of a month.
        """
        if spot.depth < len(self.glob) or spot.alive in self._heads:
            return self._heads.get(spot.alive, ())
        found: tuple[str, ...] = ()
        nodes = [_dated_rest(self.variants[number][place:]) for number, place, _ in spot.alive]
        if nodes and all(nodes) and (self.can_seek or not any(_has_slash(one) for one in nodes)):
            days = [
                (rest, day)
                for rest, (_, _, parts) in zip(nodes, spot.alive, strict=True)
                for day in self.dates.days
                if all(day[name] == value for name, value in parts)
            ]
            texts = [_texts(rest, day) for rest, day in days]
            if all(texts) and (self.can_seek or len(days) >= _MANY_DAYS):
                found = tuple(_shortest({text for some in texts for text in some}))
        self._heads[spot.alive] = found
        return found

    def reaches(self, spot: Spot, folder: str) -> bool:
        """Whether the walk would come to a folder, whose path begins at a spot behind the glob."""
        known = (spot.alive, folder)
        if known not in self._reached:
            if len(self._reached) >= _MANY_FOLDERS:
                self._reached.clear()
            for name in folder.split("/"):
                if all(self.variants[number][place].is_last for number, place, _ in spot.alive):
                    break
                spot = self.enter(spot, name)
            self._reached[known] = bool(spot.alive)
        return self._reached[known]

    def enter(self, spot: Spot, name: str) -> Spot:
        """The spot in a folder; nothing is alive if no key of the window can be in it."""
        if spot.depth < len(self.glob) and not self.glob[spot.depth].fullmatch(name):
            return Spot()
        alive = []
        for number, place, parts in spot.alive:
            segment = self.variants[number][place]
            if segment.is_last:
                if segment.is_deep:  # on the way to the end of the glob
                    alive.append((number, place, parts))
                continue
            match = segment.regex.fullmatch(name)
            if match is None:
                continue
            known = {**dict(parts), **_numbers(match.groupdict())}
            if self.dates.holds(known):
                alive.append((number, place + 1, tuple(sorted(known.items()))))
        return replace(spot, path=f"{spot.path}{name}/", depth=spot.depth + 1, alive=tuple(alive))


def segments(layout: str | None, patterns: Mapping[str, str] | None = None) -> tuple[tuple[Segment, ...], ...]:
    """The variants of a layout; without one, or with one that cannot be cut, a single one that fits all."""
    anything = ((Segment((Repeat(Atom("any", ".", "."), 0, None, "*"),), is_last=True),),)
    if layout is None:
        return anything
    found = _variants(compile_grok(layout, patterns).root)
    return tuple(map(_cut, found)) if found is not None else anything


def below(variants: Sequence[tuple[Segment, ...]], folder: str) -> tuple[tuple[Segment, ...], ...]:
    """The variants for paths below a folder: they may describe the path from there on, or the whole key."""
    names = folder.split("/")[:-1]
    rest = [
        variant[len(names) :]
        for variant in variants
        if 0 < len(names) < len(variant)
        and all(segment.regex.fullmatch(name) for segment, name in zip(variant, names, strict=False))
    ]
    return (*variants, *rest)


def glob_parts(glob: str) -> tuple[Regex, ...]:
    """What each folder of a glob must match; what follows `**` may be anything."""
    parts = []
    for part in glob.split("/"):
        if part == "**":
            break
        parts.append(compile_linear(f"(?s:{_glob(part)})"))
    return tuple(parts)


def _glob(part: str) -> str:
    pieces = {"*": "[^/]*", "?": "[^/]"}
    return "".join(pieces.get(character, re.escape(character)) for character in part)


def _cut(variant: Sequence[tuple[Node, ...]]) -> tuple[Segment, ...]:
    """The segments up to the first that can reach over slashes on purpose, as `%{GREEDYDATA}` does."""
    found = []
    for place, nodes in enumerate(variant):
        is_greedy = any(isinstance(inner, Repeat) and _takes_all(inner) for node in nodes for inner in walk(node))
        is_last = place == len(variant) - 1 or is_greedy
        found.append(Segment(nodes, is_last))
        if is_last:
            break
    return tuple(found)


def _takes_all(repeat: Repeat) -> bool:
    return repeat.high is None and not repeat.is_lazy and isinstance(repeat.item, Atom) and repeat.item.kind == "any"


def _variants(node: Node) -> list[list[tuple[Node, ...]]] | None:
    """The ways to cut a pattern at its slashes; None if there are too many, or no end of them."""
    if isinstance(node, Atom) and node.python in ("/", r"\/"):
        return [[(), ()]]
    if not any(isinstance(inner, Atom) and inner.python in ("/", r"\/") for inner in walk(node)):
        return [[(node,)]]
    match node:
        case Row(items):
            return _joined(items)
        case Choice(options):
            return _all(options)
        case Group(body, flags=""):
            return _variants(body)
        case Repeat(item, 0, 1):
            inside = _variants(item)
            return None if inside is None else [[()], *inside]
    return None


def _all(options: Iterable[Node]) -> list[list[tuple[Node, ...]]] | None:
    found = []
    for option in options:
        inside = _variants(option)
        if inside is None:
            return None
        found += inside
    return found


def _joined(items: Iterable[Node]) -> list[list[tuple[Node, ...]]] | None:
    found: list[list[tuple[Node, ...]]] = [[()]]
    for item in items:
        inside = _variants(item)
        if inside is None or len(found) * len(inside) > _MANY_VARIANTS:
            return None
        found = [[*one[:-1], one[-1] + more[0], *more[1:]] for one in found for more in inside]
    return found


def _flat(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes with plain groups dissolved."""
    for node in nodes:
        match node:
            case Row(items):
                yield from _flat(items)
            case Group(body, name="", flags=""):
                yield from _flat([body])
            case Atom(kind="edge"):
                pass
            case _:
                yield node


def _character(node: Node) -> str:
    """The one character that a node matches, or nothing."""
    if not isinstance(node, Atom) or node.kind != "character":
        return ""
    return node.python if len(node.python) == 1 else re.sub(r"\A\\(\W)\Z", r"\1", node.python)[-1:]


def _part(node: Node) -> str | None:
    return node.name if isinstance(node, Group) and node.name in _PARTS else None


def _texts(nodes: Iterable[Node], day: Mapping[str, int]) -> set[str]:
    """How a name of that day begins, in each way that its numbers may be written."""
    found = {""}
    for node in nodes:
        part = _part(node)
        if part is None:
            if not (character := _character(node)):
                break
            found = {text + character for text in found}
            continue
        value = day[part]
        ways = {f"{value:02d}", str(value)}
        regex = compile_linear(Pattern(node).named())
        found = {text + way for text in found for way in ways if regex.fullmatch(way)}
    return found


def _dated_rest(rest: Sequence[Segment]) -> tuple[Node, ...]:
    """The rest of a layout up to its last date; nothing if no date begins it.

    A folder behind the dates that always has the same name is worth a listing of its own.
    """
    nodes: list[Node] = []
    reached = -1
    for place, segment in enumerate(rest):
        flat = list(_flat(segment.nodes))
        end = next((n for n, node in enumerate(flat) if not (_character(node) or _part(node))), len(flat))
        nodes += [_SLASH, *flat[:end]] if place else flat[:end]
        reached = place if any(map(_part, flat[:end])) else reached
        if end < len(flat):
            break
    if reached < 0 or any(one.is_constant and not one.is_last for one in rest[reached + 1 :]):
        return ()
    while _part(nodes[-1]) is None:
        nodes.pop()
    return tuple(nodes)


def _has_slash(nodes: Iterable[Node]) -> bool:
    return any(_character(node) == "/" for node in nodes)


def _common(texts: Sequence[str]) -> str:
    """How all of the texts begin."""
    first, last = min(texts), max(texts)
    return first[: next((place for place, one in enumerate(first) if one != last[place]), len(first))]


def _shortest(prefixes: Iterable[str]) -> list[str]:
    """The prefixes without those that begin with another one, so that no key is listed twice."""
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


def _numbers(groups: Mapping[str, str | None]) -> dict[str, int]:
    return {name: int(text) for name in _PARTS if (text := groups.get(name)) and text.isdecimal()}
