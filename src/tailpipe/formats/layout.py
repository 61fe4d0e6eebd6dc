"""Recognises a pattern that is really delimited: cells with a blank between them, some in quotes or brackets.

`(\\S+) \\[([^\\]]+)\\] "([^"]*)"` is such a pattern. What makes it so:

- each quote of the pattern is always there, so in a line that holds exactly as many, each stands where the
  pattern says; likewise each bracket, in a stretch between quotes that holds as many as the pattern does;
- no bare cell can match a blank, so in what is left the blanks, too, are where the pattern says.

Then the ends of all cells are the same in every way the pattern could match, and the line matches if each
cell matches its part of the pattern. Reading such lines as CSV gives what the pattern would give.
"""

from __future__ import annotations

from typing import Literal

from tailpipe.formats.pattern import Atom, Group, Node, Pattern, Repeat, Sequence, walk
from tailpipe.frozen import frozen

__all__ = ["Cell", "Layout", "recognise"]

Kind = Literal["bare", "quote", "bracket"]
_MARKS: dict[Kind, str] = {"bare": "", "quote": '""', "bracket": "[]"}
_OTHERS = "\x7f\x80ÿĀ߿￿\U0010ffff"
"""For the characters beyond ASCII; no set that `_is_simple` lets pass tells them apart."""


@frozen
class Cell:
    """One cell: how it is marked off, and what the pattern says of the text in it."""

    kind: Kind
    body: Sequence
    may_be_empty: bool
    """Holds for a text that the pattern leaves free; other cells are compared with the pattern."""
    is_free: bool
    """Whether the pattern matches any text that can be in the cell, except perhaps none."""

    @property
    def field(self) -> str:
        """The field that is the whole cell, or nothing."""
        match self.body.items:
            case (Group(body, name),) if not any(_is_field(node) for node in walk(body)):
                return name
        return ""

    @property
    def literal(self) -> str | None:
        """The text of a cell that is always the same."""
        characters = [_character(item) for item in self.body.items]
        return "".join(characters) if all(characters) else None


@frozen
class Layout:
    """The cells of a delimited pattern."""

    cells: tuple[Cell, ...]
    is_open: bool
    """Whether the pattern may end before the last cell does."""

    @property
    def marks(self) -> bytes:
        """The quotes and brackets of a line, in order."""
        return "".join(_MARKS[cell.kind] for cell in self.cells).encode()


def recognise(pattern: Pattern) -> Layout | None:
    """The layout that the pattern amounts to, or None if it is more than that or there is any doubt."""
    if any(isinstance(node, Group) and node.flags for node in walk(pattern.root)):
        return None
    items = _flat(pattern.root)
    if items and _is_edge(items[0], "^", r"\A"):
        del items[0]
    is_anchored = bool(items) and _is_edge(items[-1], "$", r"\z")
    if is_anchored:
        del items[-1]
    parts = _parts(items)
    if parts is None or len(parts) < 2 or any(_has_edge(body) for _, body in parts):
        return None
    if any(kind == "bare" and _can_match(body, " ") for kind, body in parts):
        return None
    cells = tuple(_cell(kind, body) for kind, body in parts)
    is_open = cells[-1].kind == "bare" and not is_anchored and not _takes_all(cells[-1])
    if is_open and any(isinstance(node, Repeat) and node.is_lazy for node in walk(cells[-1].body)):
        return None  # it would end before the cell does, nearly always
    return Layout(cells, is_open)


def _flat(node: Node) -> list[Node]:
    """The items of a sequence, with plain groups dissolved."""
    match node:
        case Sequence(items):
            return [inner for item in items for inner in _flat(item)]
        case Group(Sequence() as body, name="", flags=""):
            return _flat(body)
    return [node]


def _parts(items: list[Node]) -> list[tuple[Kind, Sequence]] | None:
    """The items of each cell; None if quotes, brackets and blanks do not stand as they must."""
    parts: list[tuple[Kind, Sequence]] = []
    rest = list(items)
    while True:
        kind: Kind = "bare"
        if rest and (mark := _character(rest[0])) in ('"', "["):
            kind, closing = ("quote", '"') if mark == '"' else ("bracket", "]")
            end = next((place for place in range(1, len(rest)) if _character(rest[place]) == closing), 0)
            if not end:
                return None
            body, rest = rest[1:end], rest[end + 1 :]
            if rest and not _is_blank(rest[0]):
                return None
        else:
            end = next((place for place, item in enumerate(rest) if _is_blank(item)), len(rest))
            body, rest = rest[:end], rest[end:]
            if any(_character(item) in ('"', "[", "]") for item in body) or not body:
                return None
        parts.append((kind, Sequence(tuple(body))))
        if not rest:
            return parts
        del rest[0]


def _cell(kind: Kind, body: Sequence) -> Cell:
    foreign = {"bare": '" ', "quote": '"', "bracket": '"[]'}[kind]
    possible = [character for character in map(chr, range(32, 127)) if character not in foreign]
    inner: Node = body
    match body.items:
        case (Group(Sequence((only,)), name),) if name:
            inner = only
        case (only,):
            inner = only
    match inner:
        case Repeat(Atom() as atom, low, None) if low < 2 and _is_simple(atom):
            if all(atom.matches(character) for character in [*possible, *_OTHERS]):
                return Cell(kind, body, may_be_empty=low == 0, is_free=True)
    return Cell(kind, body, may_be_empty=True, is_free=False)


def _takes_all(cell: Cell) -> bool:
    """Whether it goes on as long as it can, so that it takes the whole cell if it fits the whole cell."""
    match cell.body.items:
        case (Group(Sequence((Repeat(Atom(), high=None) as repeat,))),):
            return not repeat.is_lazy
        case (Repeat(Atom(), high=None) as repeat,):
            return not repeat.is_lazy
    return cell.literal is not None


def _is_simple(atom: Atom) -> bool:
    """Whether all characters beyond ASCII are the same to it."""
    if not atom.text.isascii() or "[:" in atom.text:
        return False
    escapes = [atom.text[place + 1] for place, character in enumerate(atom.text[:-1]) if character == "\\"]
    return all(not escape.isalnum() or escape in "dDsSwW" for escape in escapes)


def _is_field(node: Node) -> bool:
    return isinstance(node, Group) and bool(node.name)


def _is_edge(node: Node, *texts: str) -> bool:
    return isinstance(node, Atom) and node.kind == "edge" and node.text in texts


def _has_edge(node: Node) -> bool:
    return any(isinstance(inner, Atom) and inner.kind == "edge" for inner in walk(node))


def _can_match(node: Node, character: str) -> bool:
    return any(isinstance(inner, Atom) and inner.matches(character) for inner in walk(node))


def _character(node: Node) -> str:
    """The one character that an item stands for, or nothing."""
    if not isinstance(node, Atom) or node.kind != "character":
        return ""
    if len(node.text) == 1:
        return node.text
    return node.text[1] if len(node.text) == 2 and not node.text[1].isalnum() else ""


def _is_blank(node: Node) -> bool:
    """Whether it matches one blank at least and nothing else, in a line without other white space."""
    match node:
        case Repeat(item, 1, None):
            return _is_blank(item)
        case Atom("set", r"\s"):
            return True
    return _character(node) == " "
