"""A config file's text, and how an offset in it becomes a place that a person can find."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import Path

from tailpipe.config.syntax import Span
from tailpipe.errors import Diagnostic, Place

__all__ = ["ConfigText", "Problem"]


class Problem(Exception):  # noqa: N818 - it is the user's problem, not an error of ours
    """A problem at a span, on its way to becoming a diagnostic."""

    def __init__(self, message: str, span: Span, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint


class ConfigText:
    """The text of one file under the name by which people know it."""

    def __init__(self, name: str, text: str, directory: Path | None = None) -> None:
        self.name = name
        self.text = text
        self.directory = directory
        """Directory that `file()` may read from."""

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def place(self, span: Span) -> Place:
        """Where the span is; the length stays on the first line."""
        start = min(span[0], len(self.text))
        line = bisect_right(self._line_starts, start) - 1
        begin = self._line_starts[line]
        end = self.text.find("\n", begin)
        end = len(self.text) if end < 0 else end
        length = max(1, min(span[1], end) - start)
        return Place(self.name, line + 1, start - begin + 1, length, self.text[begin:end].rstrip("\r"))

    def diagnostic(self, problem: Problem) -> Diagnostic:
        """The problem with its place in this file."""
        return Diagnostic(problem.message, self.place(problem.span), problem.hint)
