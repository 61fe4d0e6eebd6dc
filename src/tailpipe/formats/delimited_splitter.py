"""One line of delimited values, taken apart with care: the meaning of the format, for lines that are not plain."""

from __future__ import annotations

import re

from tailpipe.frozen import frozen

BLANKS = " \t\n\r\f\v"
"""The characters that `\\s` matches."""

_BLANK_RUN = re.compile(f"[{BLANKS}]+")


@frozen
class Splitter:
    """How values are separated. `delimiter` is empty for runs of blanks; `quote` and `escape` for none.

    A value is quoted if it begins with the quote; then it ends at the next quote that is not escaped,
    and a delimiter or the end of the line must follow. The escape makes a quote, or itself, part of the
    value; before any other character it is kept. A quote inside a value that did not begin with one
    is text. Blanks around a value are part of it, except where they are the delimiter.

    If it `is_loose`, a quote inside quotes ends the value only where a delimiter or the end of the line
    follows, and a value without quotes that holds one is refused: it would be the rest of another value.
    """

    delimiter: str
    quote: str
    escape: str
    is_loose: bool = False

    def split(self, line: str) -> list[str]:
        """The values of a line; a `ValueError` says why there are none."""
        if not self.delimiter:
            line = line.strip(BLANKS)
        values: list[str] = []
        place = 0
        while True:
            start, after = self._next_delimiter(line, place)
            if self.quote and line.startswith(self.quote, place):
                value, place = self._quoted(line, place + 1)
                start, after = self._next_delimiter(line, place)
                if start != place:
                    raise ValueError("text follows a closing quote")
            else:
                value = line[place:start]
                if self.is_loose and self.quote and self.quote in value:
                    raise ValueError("unexpected quote inside a value")
            values.append(value)
            if start == len(line) == after:
                return values
            place = after

    def _next_delimiter(self, line: str, place: int) -> tuple[int, int]:
        """Where the next delimiter begins and ends; the end of the line twice if there is none."""
        if self.delimiter:
            start = line.find(self.delimiter, place)
            return (start, start + len(self.delimiter)) if start >= 0 else (len(line), len(line))
        found = _BLANK_RUN.search(line, place)
        return found.span() if found else (len(line), len(line))

    def _quoted(self, line: str, place: int) -> tuple[str, int]:
        """The value from behind its opening quote, and the place behind its closing one."""
        text = ""
        while place < len(line):
            character = line[place]
            following = line[place + 1 : place + 2]
            if character == self.escape and following and following in (self.quote, self.escape):
                text += following
                place += 2
            elif character == self.quote and (
                not self.is_loose or place + 1 == len(line) or self._next_delimiter(line, place + 1)[0] == place + 1
            ):
                return text, place + 1
            else:
                text += character
                place += 1
        raise ValueError("a quote is not closed")
