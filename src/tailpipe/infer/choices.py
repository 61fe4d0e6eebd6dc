"""Choices: what a user says about a log, instead of what would be guessed."""

from __future__ import annotations

import re
from functools import cached_property

from tailpipe.errors import UsageError
from tailpipe.formats.pattern_reader import parse_pattern
from tailpipe.frozen import frozen
from tailpipe.infer.time_layouts import Kind, TimeLayout
from tailpipe.model.times import EPOCHS, ISO, NAMED, check_time_formats, lacks_year

_CLASSES = {
    "%Y": r"\d{4}",
    "%b": r"[A-Za-z]{3}",
    "%B": r"[A-Za-z]+",
    "%a": r"[A-Za-z]{3}",
    "%A": r"[A-Za-z]+",
    "%p": r"[AaPp][Mm]",
    "%z": r"[+-]\d\d:?\d\d",
    "%Z": r"[A-Za-z/_]+",
    "%f": r"\d{1,6}",
    "%n": r"\d{1,9}",
    "%g": r"\d{1,3}",
    "%j": r"\d{3}",
}
_PARTS = re.compile(r"%-?[A-Za-z]|.", re.DOTALL)


@frozen
class Choices:
    """A table, a format, how times are written or which field holds them, and what begins an event; None: guess."""

    table: str | None = None
    format: str | None = None
    time: str | None = None
    multiline: str | None = None

    def check(self) -> None:
        """Refuse what cannot be used, before any file is read."""
        if self.time is not None and self.time_format is not None:
            check_time_formats(self.time)
        if self.table is not None and (self.format is not None or self.multiline is not None):
            raise UsageError("--table cannot be combined with --format or --multiline")
        if self.multiline is not None:
            parse_pattern(self.multiline)

    @property
    def time_format(self) -> str | None:
        """The format of times, if that was given; a name without directives is a field."""
        is_format = self.time is not None and ("%" in self.time or self.time in (ISO, *EPOCHS, *NAMED))
        return self.time if is_format else None

    @property
    def time_field(self) -> str | None:
        """The field of times, if that was given."""
        return self.time if self.time_format is None else None

    @cached_property
    def layout(self) -> TimeLayout | None:
        """The layout of the given time format."""
        form = self.time_format
        if form is None or "%" not in form:
            return None
        parts = (
            _CLASSES.get(part, r"[ \d]?\d" if part.startswith("%") else re.escape(part))
            for part in _PARTS.findall(form)
        )
        kind: Kind = "no year" if lacks_year(form) else "instant" if "%z" in form or "%Z" in form else "local"
        return TimeLayout(form, kind, "", "", pattern="".join(parts))
