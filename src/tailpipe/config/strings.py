"""Text in a config file: quoted with `${…}` in it, raw in backticks, and heredocs."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from typing import cast

from tailpipe.config.cursor import Cursor
from tailpipe.config.syntax import Expression, Literal, Template
from tailpipe.config.text import Problem

_SIMPLE_TEXT = re.compile(r'"([^"\\$\n]*)"')
_PLAIN = re.compile(r'[^"\\$\n]+')
_REST = re.compile(r'(?:[^"\\\n]|\\.)*"?')
_PLAIN_HEREDOC = re.compile(r"[^$]+")
_HEREDOC = re.compile(r"<<(-?)([^\W\d]\w*)[ \t\r]*\n")
_HEREDOC_WORD = re.compile(r"<<-?[ \t]*\W?([^\W\d]\w*)")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_BLANKS = re.compile(r'"\\s[+*]?"')
_CODE = re.compile(r"u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")


class StringReader:
    """Reads the three kinds of text at the cursor; `expression` reads the content of `${…}`."""

    def __init__(self, cursor: Cursor, expression: Callable[[], Expression]) -> None:
        self.cursor = cursor
        self.expression = expression

    def quoted(self) -> Literal | Template:
        """`"…"`: escapes and `${…}` count, `%{` is plain text, and it ends on its line."""
        cursor = self.cursor
        start = cursor.position
        if simple := _SIMPLE_TEXT.match(cursor.text, start):
            cursor.position = simple.end()
            return Literal(simple[1], (start, cursor.position))
        opened = len(cursor.brackets)
        try:
            parts = self._quoted_parts(start)
        except Problem:
            self._leave(opened, _REST.match(cursor.text, start + 1))
            raise
        return _template(parts, start, cursor.position)

    def _quoted_parts(self, start: int) -> list[str | Expression]:
        cursor = self.cursor
        cursor.position += 1
        parts: list[str | Expression] = []
        while (following := cursor.peek()) != '"':
            if following in ("", "\n"):
                line = (start, max(start + 1, cursor.position))
                hint = 'end it with "; text of many lines is a heredoc'
                raise Problem("the text is not closed on its line", line, hint)
            if following == "\\":
                parts.append(self._escape())
            elif following == "$":
                parts.append(self._dollar())
            else:
                match = _PLAIN.match(cursor.text, cursor.position)
                assert match is not None  # noqa: S101 - the three other cases are handled above
                parts.append(match[0])
                cursor.position = match.end()
        cursor.position += 1
        return parts

    def _leave(self, opened: int, end: re.Match[str] | None) -> None:
        """After a mistake in a text, go behind it, so that what it holds is not taken for anything else."""
        del self.cursor.brackets[opened:]
        self.cursor.position = max(self.cursor.position, end.end() if end else 0)

    def raw(self) -> Literal:
        """`` `…` ``: every character means itself."""
        start = self.cursor.position
        end = self.cursor.text.find("`", start + 1)
        if end < 0:
            self.cursor.position = len(self.cursor.text)
            raise Problem("the raw text is not closed", (start, start + 1), "add a backtick")
        self.cursor.position = end + 1
        return Literal(self.cursor.text[start + 1 : end], (start, end + 1))

    def heredoc(self) -> Literal | Template:
        """`<<WORD` to a line that holds only WORD; `<<-WORD` takes the common indent away."""
        cursor = self.cursor
        start = cursor.position
        opening = _HEREDOC.match(cursor.text, start)
        if opening is None:
            # Go behind the heredoc, if its end can be found.
            word = _HEREDOC_WORD.match(cursor.text, start)
            if word and (last := _last_line(word[1]).search(cursor.text, word.end())):
                cursor.position = last.end()
            hint = "write the word without quotes, and nothing after it"
            raise Problem("a heredoc begins with <<WORD at the end of a line", (start, start + 2), hint)
        end = _last_line(opening[2]).search(cursor.text, opening.end())
        if end is None:
            cursor.position = len(cursor.text)
            hint = f'end it with a line that holds only "{opening[2]}"'
            raise Problem("the heredoc is not closed", (start, opening.end() - 1), hint)
        cursor.position = opening.end()
        opened = len(cursor.brackets)
        try:
            parts = self._heredoc_parts(end)
        except Problem:
            self._leave(opened, end)
            raise
        cursor.position = end.end()
        if opening[1]:
            parts = _without_indent(parts)
        return _template(parts, start, cursor.position)

    def _heredoc_parts(self, end: re.Match[str]) -> list[str | Expression]:
        cursor = self.cursor
        parts: list[str | Expression] = []
        while cursor.position < end.start():
            if cursor.peek() == "$":
                parts.append(self._dollar())
                continue
            match = _PLAIN_HEREDOC.match(cursor.text, cursor.position, end.start())
            assert match is not None  # noqa: S101 - there is a character before the end, and it is no $
            parts.append(match[0])
            cursor.position = match.end()
        if cursor.position != end.start():
            raise Problem("the value runs past the end of the heredoc", end.span(), "close it with }")
        return parts

    def _escape(self) -> str:
        cursor = self.cursor
        start = cursor.position
        letter = cursor.text[start + 1 : start + 2]
        if letter in _SIMPLE and letter:
            cursor.position += 2
            return _SIMPLE[letter]
        match = _CODE.match(cursor.text, start + 1)
        if match is None:
            hint = "for a backslash itself write \\\\, or the text in backticks"
            if _BLANKS.match(cursor.text, start - 1):
                hint = 'for any run of blanks write "\\\\s+"'
            raise Problem(f'"\\{letter.strip()}" is not an escape', (start, start + 2), hint)
        code = int(match[1] or match[2], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise Problem("no such character", (start, match.end()))
        cursor.position = match.end()
        return chr(code)

    def _dollar(self) -> str | Expression:
        cursor = self.cursor
        if cursor.text.startswith("$${", cursor.position):
            cursor.position += 3
            return "${"
        if not cursor.text.startswith("${", cursor.position):
            cursor.position += 1
            return "$"
        start = cursor.position
        cursor.position += 2
        with cursor.deeper():
            value = cursor.inside(self.expression, "{")
        cursor.expect("}", "the ${…} is not closed", start)
        return value


def _last_line(word: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{word}(?=[ \t\r]*$)", re.MULTILINE)


def _template(parts: list[str | Expression], start: int, end: int) -> Literal | Template:
    merged: list[str | Expression] = []
    for is_text, group in groupby(parts, key=lambda part: isinstance(part, str)):
        run = list(group)
        merged += ["".join(cast("list[str]", run))] if is_text else run
    if not merged:
        return Literal("", (start, end))
    if len(merged) == 1 and isinstance(merged[0], str):
        return Literal(merged[0], (start, end))
    return Template(merged, (start, end))


def _without_indent(parts: list[str | Expression]) -> list[str | Expression]:
    """Take the indent of the least indented line from every line."""
    shape = "".join(part if isinstance(part, str) else "x" for part in parts)
    indents = [len(line) - len(line.lstrip(" \t")) for line in shape.split("\n") if line.strip()]
    strip = re.compile(rf"(?m)^[ \t]{{0,{min(indents, default=0)}}}")
    result: list[str | Expression] = []
    at_line_start = True
    for part in parts:
        if isinstance(part, str):
            head, newline, tail = ("", "", part) if at_line_start else part.partition("\n")
            result.append(head + newline + strip.sub("", tail) if tail else head + newline)
        else:
            result.append(part)
        at_line_start = isinstance(part, str) and part.endswith("\n")
    return result
