"""Reads regular expressions as DuckDB understands them (RE2), so that a mistake is named before anything runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailpipe.formats.pattern import Atom, Choice, Group, Node, Pattern, Repeat, Sequence, children
from tailpipe.plugin import UsageError

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
    "(?=": "look-ahead",
    "(?!": "negative look-ahead",
    "(?<=": "look-behind",
    "(?<!": "negative look-behind",
    "(?>": "atomic group",
    "(?P=": "back-reference",
    "(?P>": "subroutine call",
    "(?(": "conditional group",
    "(?#": "comment",
    "(?|": "branch reset",
}


def parse_pattern(text: str) -> Pattern:
    """Read a pattern, or say why DuckDB could not use it."""
    if "\0" in text:
        raise UsageError("not a regular expression: it holds the character NUL", hint=r"write \x00")
    reader = _Reader(text)
    root = reader.choice(0)
    if reader.place < len(text):
        raise _wrong('a ")" has no matching "("', reader.place)
    nodes: list[tuple[Node, int]] = [(root, 1)]
    while nodes:  # RE2 writes repetitions out, so it limits how often a part may be repeated
        node, times = nodes.pop()
        if isinstance(node, Repeat):
            times *= max(1, node.low if node.high is None else node.high)
            if times > _REPEAT_LIMIT:
                raise UsageError(
                    f"not a regular expression for DuckDB: {node.text} repeats more than {_REPEAT_LIMIT} times",
                    hint="write + or * instead",
                )
        nodes += ((child, times) for child in reversed(children(node)))
    return Pattern(root)


def _wrong(what: str, place: int) -> UsageError:
    return UsageError(f"not a regular expression: {what}, at character {place + 1}")


def _unsupported(what: str, place: int, hint: str = "") -> UsageError:
    return UsageError(
        f"{what} at character {place + 1} is not supported in regular expressions (RE2)",
        hint=hint or "match the allowed characters instead, such as [^ ]+",
    )


@dataclass
class _Reader:
    """Reads the text from left to right; `place` is the next character."""

    text: str
    place: int = 0

    def choice(self, depth: int) -> Node:
        """Up to the end of the group."""
        if depth > _DEPTH_LIMIT:
            raise UsageError("not a regular expression: it is nested too deep")
        options: list[list[Node]] = [[]]
        while self.place < len(self.text) and self.text[self.place] != ")":
            flags = _FLAGGED.match(self.text, self.place)
            if self.text[self.place] == "|":
                self.place += 1
                options.append([])
            elif flags and flags[1] and flags[2] == ")":  # `(?i)` holds up to the end of the group
                self.place = flags.end()
                options[-1].append(Group(self.choice(depth + 1), flags=flags[1]))
            else:
                options[-1].append(self._repeated(self._item(depth)))
        sequences = tuple(Sequence(tuple(items)) for items in options)
        return sequences[0] if len(sequences) == 1 else Choice(sequences)

    def _repeated(self, item: Node) -> Node:
        found = _REPEAT.match(self.text, self.place)
        if not found:
            return item
        start, self.place = self.place, found.end()
        following = self.text[self.place : self.place + 1]
        if following == "+":
            raise _unsupported(f'possessive quantifier "{found[0]}+"', start)
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
                raise _unsupported(f'{reason} "{opening}"', start)
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
            raise _unsupported(f'back-reference "{text}"', start)
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
