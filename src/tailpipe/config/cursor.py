"""A cursor over a config file's text: the small steps that the parser is made of."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from tailpipe.config.syntax import Span
from tailpipe.config.text import Problem

T = TypeVar("T")

_BLANK = re.compile(r"(?:[ \t\r\f\v]+|//[^\n]*|#[^\n]*|/\*(?s:.*?)\*/)*")
_BLANK_AND_NEWLINES = re.compile(r"(?:[ \t\r\f\v\n]+|//[^\n]*|#[^\n]*|/\*(?s:.*?)\*/)*")
_WORD = re.compile(r"[^\W\d][\w-]*")
_RUN = re.compile(r"[\w.-]+|.", re.DOTALL)
_BLANK_STARTS = frozenset(" \t\r\f\v\n/#")
_DEPTH_LIMIT = 64


class Cursor:
    """Where the parser is in the text, how deep, and whether newlines mean anything there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.brackets: list[str] = []
        """Those that are open; between them newlines are blanks."""

    @property
    def at_end(self) -> bool:
        """Whether all text is read."""
        return self.position >= len(self.text)

    def peek(self) -> str:
        """The next character, or nothing at the end."""
        return self.text[self.position : self.position + 1]

    def skip(self, *, newlines: bool = False) -> None:
        """Pass over blanks and comments; newlines too where they mean nothing."""
        if self.peek() not in _BLANK_STARTS:
            return
        blank = _BLANK_AND_NEWLINES if newlines or self.brackets else _BLANK
        match = blank.match(self.text, self.position)
        self.position = match.end() if match else self.position
        if self.text.startswith("/*", self.position):
            start, self.position = self.position, len(self.text)
            raise Problem("the comment is not closed", (start, start + 2), 'add "*/"')

    def word(self) -> str | None:
        """A word at the cursor, if there is one."""
        match = _WORD.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match[0]

    def expect(self, character: str, otherwise: str, opening: int) -> None:
        """Pass over the character, or say what is wrong, and where it began if that is not near."""
        self.skip()
        if self.peek() != character:
            note = self.beginning("it", opening)
            raise Problem(otherwise, self.here(), f'expected "{character}"', note)
        self.position += 1

    def beginning(self, what: str, opening: int) -> tuple[str, Span] | None:
        """A note that says where something began, if that is on another line."""
        if "\n" not in self.text[opening : self.position]:
            return None
        return f"{what} begins here", (opening, opening + 1)

    def inside(self, read: Callable[[], T], opening: str = "(") -> T:
        """Read something between brackets, where newlines are blanks."""
        self.brackets.append(opening)
        self.skip()
        value = read()
        self.skip()
        self.brackets.pop()
        return value

    def deeper(self) -> Cursor:
        """One level of nesting, for `with`; too many are refused before Python's own stack ends."""
        if self.depth >= _DEPTH_LIMIT:
            raise Problem(f"nested deeper than {_DEPTH_LIMIT} levels", self.here())
        self.depth += 1
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.depth -= 1

    def here(self) -> Span:
        """The span of the word or character at the cursor."""
        match = _RUN.match(self.text, self.position)
        if match is None or match[0] == "\n":
            return (self.position, self.position + 1)
        return match.span()

    def shown_here(self) -> str:
        """The word or character at the cursor, for a message."""
        start, end = self.here()
        word = self.text[start:end][:40]
        return {'"': "a quote", "`": "a backtick", "": "the end"}.get(word, f'"{word}"')
