"""A config file's text, and how an offset in it becomes a place that a person can find."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.config.syntax import Span
from tailpipe.errors import Diagnostic, Note, Place

if TYPE_CHECKING:
    from tailpipe.config.masking import Masked
    from tailpipe.config.vocabulary import Vocabulary

EACH_NOTE = "in the block for each.key"


class Problem(Exception):  # noqa: N818 - it is the user's problem, not an error of ours
    """A problem at a span, on its way to becoming a diagnostic; `note` is a second span that explains it."""

    def __init__(self, message: str, span: Span, hint: str = "", note: tuple[str, Span] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.note = note


class Absent(Problem):
    """A value from outside the config is missing; `call` is the call that should give it, such as `env("NAME")`."""

    def __init__(self, message: str, span: Span, hint: str = "", *, call: str) -> None:
        super().__init__(message, span, hint)
        self.call = call


class ConfigText:
    """The text of one file under the name by which people know it."""

    def __init__(self, name: str, text: str, directory: Path | None = None) -> None:
        self.name = name
        self.text = text
        self.directory = directory
        """Directory that `file()` may read from."""
        self._vocabulary: Callable[[], Vocabulary | None] = lambda: None
        self._shown_lines: dict[int, str] = {}
        self._each: tuple[str, Span] | None = None

    def hide(self, vocabulary: Callable[[], Vocabulary]) -> None:
        """Mask all values except those of arguments that the vocabulary lists as plain; it is built on first use."""
        self._vocabulary = vocabulary
        self.__dict__.pop("_masked", None)
        self._shown_lines.clear()

    def in_each(self, key: str, span: Span) -> ConfigText:
        """The text for the block that `for_each` at the span makes for the key; its problems name the key."""
        own = copy(self)
        own._each = (key, span)
        return own

    @cached_property
    def _masked(self) -> Masked:
        from tailpipe.config.masking import mask  # late, because most configs have no problem to show

        return mask(self.text, self._vocabulary())

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def place(self, span: Span) -> Place:
        """Where the span is; the length stays on the first line, and secrets in the line are dots."""
        start = min(span[0], len(self.text))
        line = bisect_right(self._line_starts, start) - 1
        begin = self._line_starts[line]
        end = self.text.find("\n", begin)
        end = len(self.text) if end < 0 else end
        if line not in self._shown_lines:  # kept, as a line of a megabyte may have many problems
            self._shown_lines[line] = self._masked.text[begin:end].rstrip("\r")
        length = max(1, min(span[1], end) - start)
        return Place(self.name, line + 1, start - begin + 1, length, self._shown_lines[line])

    def diagnostic(self, problem: Problem, *notes: Note) -> Diagnostic:
        """The problem with its place in this file; no secret of the file is part of the message either."""
        place = self.place(problem.span)
        message, hint = self._masked.message(problem.message), self._masked.message(problem.hint)
        own = [Note(problem.note[0], self.place(problem.note[1]))] if problem.note else []
        if self._each is not None:
            key, span = self._each
            own.append(Note(self._masked.message(f'{EACH_NOTE} = "{key}"'), self.place(span)))
        return Diagnostic(message, place, hint, (*own, *notes))
