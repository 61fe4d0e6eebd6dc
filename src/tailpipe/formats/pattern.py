"""Regular expressions as trees.

The tree tells what a pattern can match, so that a field that took no part and an empty one differ,
and a layout that is really delimited is recognised. It also gives the same pattern as text for RE2, which
is what DuckDB uses, with groups by number or by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from tailpipe.frozen import frozen


@frozen
class Atom:
    """What matches one character or a place between two."""

    kind: Literal["character", "set", "any", "edge", "boundary"]
    text: str
    python: str

    def matches(self, character: str) -> bool:
        """Whether it can match the character."""
        if self.kind in ("edge", "boundary"):
            return False
        return re.fullmatch(self.python, character, re.ASCII) is not None


@frozen
class Sequence:
    """One after the other."""

    items: tuple[Node, ...]


@frozen
class Choice:
    """One or the other, the first that fits."""

    options: tuple[Sequence, ...]


@frozen
class Group:
    """Something in brackets; a field if it has a name."""

    body: Node
    name: str = ""
    flags: str = ""


@frozen
class Repeat:
    """Something that may be there several times, or not."""

    item: Node
    low: int
    high: int | None
    text: str

    @property
    def is_lazy(self) -> bool:
        """Whether fewer are preferred."""
        return len(self.text) > 1 and self.text.endswith("?")


Node = Atom | Sequence | Choice | Group | Repeat


@frozen
class Pattern:
    """A pattern that was read: its tree, and what follows from it."""

    root: Node

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the groups, in the order in which RE2 numbers them; a name may be there twice."""
        return tuple(node.name for node in walk(self.root) if isinstance(node, Group) and node.name)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names, each once."""
        return tuple(dict.fromkeys(self.names))

    def re2(self) -> str:
        """The text for RE2; only groups with a name are captured, and by number."""
        return re2(self.root)

    def named(self) -> str:
        """The text for RE2 with the groups under their names; no name may be there twice."""
        return re2(self.root, is_named=True)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text."""
    yield node
    for child in children(node):
        yield from walk(child)


def least(node: Node) -> int:
    """The length of the shortest text that it matches."""
    match node:
        case Atom(kind="edge" | "boundary"):
            return 0
        case Atom():
            return 1
        case Sequence(items):
            return sum(least(item) for item in items)
        case Choice(options):
            return min(least(option) for option in options)
        case Group(body):
            return least(body)
        case Repeat(item, low):
            return low * least(item)


def re2(node: Node, *, is_named: bool = False) -> str:
    """The text of a node for RE2, with named groups captured and no others."""
    match node:
        case Atom():
            return node.text
        case Sequence(items):
            return "".join(re2(item, is_named=is_named) for item in items)
        case Choice(options):
            return "|".join(re2(option, is_named=is_named) for option in options)
        case Group(body, name, flags):
            opening = f"(?{flags}:" if not name else f"(?P<{name}>" if is_named else "("
            return opening + re2(body, is_named=is_named) + ")"
        case Repeat(item, text=text):
            return re2(item, is_named=is_named) + text


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below."""
    match node:
        case Sequence(items):
            return items
        case Choice(options):
            return options
        case Group(body):
            return (body,)
        case Repeat(item):
            return (item,)
    return ()
