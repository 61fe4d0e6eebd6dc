"""Regular expressions as DuckDB understands them (RE2), read into a tree before anything runs.

The tree tells what a pattern can match, so that a mistake is named in the config, a field that took no
part can be told from an empty one, and a layout that is really delimited is recognised. It also gives
the same pattern as text for RE2 and for Python's `re`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tailpipe.errors import UsageError

__all__ = ["Atom", "Choice", "Group", "Node", "Pattern", "Repeat", "Sequence", "parse_pattern"]

_REPEAT_LIMIT = 1000
_DEPTH_LIMIT = 200
_REPEAT = re.compile(r"(?:[*+?]|\{(\d{1,9})(,(\d{0,9}))?\})(\??)")
_NAMED = re.compile(r"\(\?P?<(\w+)>")
_FLAGGED = re.compile(r"\(\?([ims]*(?:-[ims]+)?)([:)])")
_POSIX = {
    "alnum": "A-Za-z0-9",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_REFUSED = {
    "(?=": "it looks ahead",
    "(?!": "it looks ahead",
    "(?<=": "it looks behind",
    "(?<!": "it looks behind",
    "(?>": "it has an atomic group",
    "(?P=": "it refers back to a group",
    "(?P>": "it calls a group",
    "(?(": "it asks whether a group took part",
    "(?#": "it holds a comment",
    "(?|": "it resets the numbers of groups",
}


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Sequence:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """One or the other, the first that fits."""

    options: tuple[Sequence, ...]


@dataclass(frozen=True)
class Group:
    """Something in brackets; a field if it has a name."""

    body: Node
    name: str = ""
    flags: str = ""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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

    def python(self) -> str:
        """The text for Python's `re`, to be compiled with `re.ASCII`."""
        return _python(self.root)


def parse_pattern(text: str) -> Pattern:
    """Read a pattern, or say why DuckDB could not use it."""
    if "\0" in text:
        raise UsageError("not a regular expression: it holds the character NUL", hint=r"write \x00")
    reader = _Reader(text)
    root = reader.choice(0)
    if reader.place < len(text):
        raise _wrong('a ")" closes nothing', reader.place)
    _check_repeats(root, 1)
    return Pattern(root)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text."""
    yield node
    for child in _children(node):
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


def re2(node: Node) -> str:
    """The text of a node for RE2, with named groups captured and no others."""
    match node:
        case Atom():
            return node.text
        case Sequence(items):
            return "".join(re2(item) for item in items)
        case Choice(options):
            return "|".join(re2(option) for option in options)
        case Group(body, name, flags):
            return ("(" if name else f"(?{flags}:") + re2(body) + ")"
        case Repeat(item, text=text):
            return re2(item) + text


def _python(node: Node) -> str:
    match node:
        case Atom():
            return node.python
        case Sequence(items):
            return "".join(_python(item) for item in items)
        case Choice(options):
            return "|".join(_python(option) for option in options)
        case Group(body, name, flags):
            return (f"(?P<{name}>" if name else f"(?{flags}:") + _python(body) + ")"
        case Repeat(item, text=text):
            return _python(item) + text


def _children(node: Node) -> tuple[Node, ...]:
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


def _check_repeats(node: Node, times: int) -> None:
    """RE2 writes repetitions out, so it limits how often something can be asked for."""
    if isinstance(node, Repeat):
        times *= max(1, node.low if node.high is None else node.high)
        if times > _REPEAT_LIMIT:
            raise UsageError(
                f"not a regular expression for DuckDB: {node.text} repeats more than {_REPEAT_LIMIT} times",
                hint="write + or * instead",
            )
    for child in _children(node):
        _check_repeats(child, times)


def _wrong(what: str, place: int) -> UsageError:
    return UsageError(f"not a regular expression: {what}, at character {place + 1}")


def _unsupported(what: str, place: int, hint: str = "") -> UsageError:
    return UsageError(
        f"{what}, at character {place + 1}, which DuckDB's regular expressions (RE2) cannot do",
        hint=hint or "say what may be there instead of what may not, such as [^ ]+",
    )


class _Reader:
    """Reads the text from left to right; `place` is where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def choice(self, depth: int) -> Node:
        """Up to the end of the group."""
        if depth > _DEPTH_LIMIT:
            raise UsageError("not a regular expression: it is nested too deep")
        options = [self._sequence(depth)]
        while self.text.startswith("|", self.place):
            self.place += 1
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, depth: int) -> Sequence:
        items: list[Node] = []
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            flags = _FLAGGED.match(self.text, self.place)
            if flags and flags[1] and flags[2] == ")":  # `(?i)` holds up to the end of the group
                self.place = flags.end()
                items.append(Group(self.choice(depth + 1), flags=flags[1]))
            else:
                items.append(self._repeated(self._item(depth)))
        return Sequence(tuple(items))

    def _repeated(self, item: Node) -> Node:
        found = _REPEAT.match(self.text, self.place)
        if not found:
            return item
        start, self.place = self.place, found.end()
        following = self.text[self.place : self.place + 1]
        if following == "+":
            raise _unsupported(f'"{found[0]}+" takes all it can and gives nothing back', start)
        if _REPEAT.match(self.text, self.place):
            raise _wrong(f'"{found[0]}{following}" repeats a repetition', start)
        if isinstance(item, Atom) and item.kind in ("edge", "boundary"):
            raise _wrong(f'"{item.text}" cannot be repeated', start)
        if found[1] is None:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[0][0]]
        else:
            low = int(found[1])
            high = low if found[2] is None else int(found[3]) if found[3] else None
        if high is not None and high < low:
            raise _wrong(f'"{found[0]}" asks for more than it allows', start)
        return Repeat(item, low, high, found[0])

    def _item(self, depth: int) -> Node:
        character = self.text[self.place]
        if character == "(":
            return self._group(depth)
        if character == "[":
            return self._set()
        if character == "\\":
            return self._escape()
        if _REPEAT.match(self.text, self.place):
            raise _wrong(f'"{character}" repeats nothing', self.place)
        self.place += 1
        if character == ".":
            return Atom("any", ".", ".")
        if character in "^$":
            return Atom("edge", character, r"\A" if character == "^" else r"\Z")
        return Atom("character", character, re.escape(character))

    def _group(self, depth: int) -> Node:
        start = self.place
        for opening, reason in _REFUSED.items():
            if self.text.startswith(opening, start):
                raise _unsupported(f'"{opening}": {reason}', start)
        named, flagged = _NAMED.match(self.text, start), _FLAGGED.match(self.text, start)
        if named:
            self.place = named.end()
        elif flagged:
            self.place = flagged.end()
        elif self.text.startswith("(?", start):
            raise _wrong(f'"{self.text[start : start + 4]}" begins no group', start)
        else:
            self.place += 1
        body = self.choice(depth + 1)
        if not self.text.startswith(")", self.place):
            raise _wrong('a "(" is not closed', start)
        self.place += 1
        return Group(body, named[1] if named else "", flagged[1] if flagged else "")

    def _set(self) -> Atom:
        start = self.place
        self.place += 2 if self.text.startswith("[^", start) else 1
        python = self.text[start : self.place]
        is_first = True
        while self.place < len(self.text) and (is_first or self.text[self.place] != "]"):
            python += self._member()
            is_first = False
        if self.place >= len(self.text):
            raise _wrong('a "[" is not closed', start)
        self.place += 1
        atom = Atom("set", self.text[start : self.place], python + "]")
        try:
            re.compile(atom.python)
        except re.error as error:
            raise _wrong(f'"{atom.text}": {error.msg}', start) from None
        return atom

    def _member(self) -> str:
        if self.text.startswith("[:", self.place):
            end = self.text.find(":]", self.place)
            name = self.text[self.place + 2 : end]
            if end > 0 and name.lstrip("^").isalpha():
                if name not in _POSIX:
                    raise _wrong(f'there is no class "[:{name}:]"', self.place)
                self.place = end + 2
                return _POSIX[name]
        if self.text[self.place] == "\\":
            atom = self._escape()
            if atom.kind in ("edge", "boundary"):
                raise _wrong(f'"{atom.text}" cannot stand in a set', self.place)
            return atom.python.strip("[]") if atom.text[1] in "pP" else atom.python
        if self.text.startswith("--", self.place):
            raise _wrong('"--" is unclear in a set', self.place)
        self.place += 1
        character = self.text[self.place - 1]
        is_range = character == "-" and self.text[self.place : self.place + 1] != "]"
        return character if is_range or character.isalnum() else "\\" + character

    def _escape(self) -> Atom:
        start = self.place
        character = self.text[start + 1 : start + 2]
        if not character:
            raise _wrong("it ends with a backslash", start)
        if character == "x":
            return self._coded(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})", 16)
        if character == "0":
            return self._coded(r"\\(0[0-7]{0,2})()", 8)
        if character in "pP":
            found = re.compile(r"\\[pP](?:\{\^?\w+\}|[A-Z])").match(self.text, start)
            if not found:
                raise _wrong(f'"\\{character}" names no class', start)
            self.place = found.end()
            return Atom("set", found[0], r"[\s\S]")  # more than it matches: Python knows no such classes
        self.place += 2
        text = "\\" + character
        if character in "dDsSwW":
            return Atom("set", text, text)
        if character in "Az":
            return Atom("edge", text, r"\A" if character == "A" else r"\Z")
        if character in "bB":
            return Atom("boundary", text, text)
        if character in "aftnrv" or (character.isascii() and not character.isalnum()):
            return Atom("character", text, text)
        if character.isdigit():
            raise _unsupported(f'"{text}" refers back to a group', start)
        raise (
            _wrong(f'"{text}" means nothing', start)
            if character != "Z"
            else _unsupported(r'"\Z"', start, r"write \z or $")
        )

    def _coded(self, form: str, base: int) -> Atom:
        found = re.compile(form).match(self.text, self.place)
        if not found:
            raise _wrong(f'"{self.text[self.place : self.place + 4]}" is no character', self.place)
        code = int(found[1] or found[2], base)
        if code > 0x10FFFF:
            raise _wrong(f'"{found[0]}" is no character', self.place)
        self.place = found.end()
        return Atom("character", found[0], f"\\U{code:08x}")
