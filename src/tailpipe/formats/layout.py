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

Kind = Literal["bare", "quote", "bracket"]
_MARKS: dict[Kind, str] = {"bare": "", "quote": '""', "bracket": "[]"}
_STARTS = tuple(Atom("edge", text, r"\A") for text in ("^", r"\A"))
_ENDS = tuple(Atom("edge", text, r"\Z") for text in ("$", r"\z"))
_OTHERS = "\x7f\x80ÿĀ߿￿\U0010ffff"
"""For the characters beyond ASCII; a set that is `_is_simple` matches all of them or none."""


@frozen
class Cell:
    """One cell: how it is marked off, and what the pattern says of the text in it."""

    kind: Kind
    body: Sequence
    field: str
    """The field that is the whole cell, or nothing."""
    literal: str | None
    """The text of a cell that is always the same."""
    is_free: bool
    """Whether the pattern matches any text that can be in the cell, except perhaps none."""
    may_be_empty: bool
    """Holds for a free cell; others are compared with the pattern."""


@frozen
class Layout:
    """The cells of a delimited pattern."""

    cells: tuple[Cell, ...]
    is_open: bool
    """Whether the pattern may end before the last cell does."""
    marks: bytes
    """The quotes and brackets of a line, in order."""


def recognise(pattern: Pattern) -> Layout | None:
    """The layout that the pattern amounts to, or None if it is more than that or there is any doubt."""
    if any(isinstance(node, Group) and node.flags for node in walk(pattern.root)):
        return None
    items = _flat(pattern.root)
    if items and items[0] in _STARTS:
        del items[0]
    is_anchored = bool(items) and items[-1] in _ENDS
    if is_anchored:
        del items[-1]
    parts = _parts(items)
    if parts is None or len(parts) < 2:
        return None
    atoms = [(kind, node) for kind, body in parts for node in walk(body) if isinstance(node, Atom)]
    if any(atom.kind == "edge" or (kind == "bare" and atom.matches(" ")) for kind, atom in atoms):
        return None
    cells = tuple(_cell(kind, body) for kind, body in parts)
    is_open = cells[-1].kind == "bare" and not is_anchored and not _takes_all(cells[-1])
    if is_open and any(isinstance(node, Repeat) and node.is_lazy for node in walk(cells[-1].body)):
        return None  # it would end before the cell does, nearly always
    return Layout(cells, is_open, "".join(_MARKS[cell.kind] for cell in cells).encode())


def _flat(node: Node) -> list[Node]:
    """The items of a sequence, with plain groups dissolved."""
    match node:
        case Sequence(items):
            return [inner for item in items for inner in _flat(item)]
        case Group(Sequence() as body, name="", flags=""):
            return _flat(body)
    return [node]


def _parts(items: list[Node]) -> list[tuple[Kind, Sequence]] | None:
    """The items of each cell; None if quotes, brackets and blanks are not at the ends of cells."""
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
    characters = [_character(item) for item in body.items]
    literal = "".join(characters) if all(characters) else None
    field, inner = "", body.items[0] if len(body.items) == 1 else body
    if isinstance(inner, Group):
        if not any(isinstance(node, Group) and node.name for node in walk(inner.body)):
            field = inner.name
        match inner:
            case Group(Sequence((only,)), name) if name:
                inner = only
    match inner:
        case Repeat(Atom() as atom, low, None) if low < 2 and _is_simple(atom):
            if all(atom.matches(character) for character in [*possible, *_OTHERS]):
                return Cell(kind, body, field, literal, is_free=True, may_be_empty=low == 0)
    return Cell(kind, body, field, literal, is_free=False, may_be_empty=True)


def _takes_all(cell: Cell) -> bool:
    """Whether it goes on as long as it can, so that it takes the whole cell if it fits the whole cell."""
    match cell.body.items:
        case (Group(Sequence((Repeat(Atom(), high=None) as repeat,))) | (Repeat(Atom(), high=None) as repeat),):
            return not repeat.is_lazy
    return cell.literal is not None


def _is_simple(atom: Atom) -> bool:
    """Whether all characters beyond ASCII are the same to it."""
    if not atom.text.isascii() or "[:" in atom.text:
        return False
    escapes = [atom.text[place + 1] for place, character in enumerate(atom.text[:-1]) if character == "\\"]
    return all(not escape.isalnum() or escape in "dDsSwW" for escape in escapes)


def _character(node: Node) -> str:
    """The one character that an item matches, or nothing."""
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
