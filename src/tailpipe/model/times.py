"""How a log writes its times, as the option `time_format` of a column says it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailpipe.errors import UsageError
from tailpipe.model.nearest import did_you_mean

ISO = "iso"
EPOCHS = {"epoch_s": 1, "epoch_ms": 1_000, "epoch_us": 1_000_000, "epoch_ns": 1_000_000_000}
"""Units since 1970, and how many of them a second has."""
NAMED = ("dotnet_date", "dotnet_ticks", "tai64n")
"""Times that no directives can write: `/Date(1795081270123)/`, ticks of .NET, labels of daemontools."""
_YEARS = re.compile(r"(?<!%)(?:%%)*%-?[YyGcxs]")
_MONTHS = re.compile(r"(?<!%)(?:%%)*%-?[mbBj]")
_DIRECTIVE = re.compile(r"%(?:-[dHIjmMSy]|[aAbBcdfgGHIjmMnpSuUVwWxXyYzZ%])?", re.DOTALL)


def listed_formats(given: str | Sequence[str] | None) -> Sequence[str]:
    """The formats that are tried in order; without one it is ISO 8601."""
    return (ISO,) if given is None else (given,) if isinstance(given, str) else given


def check_time_formats(given: str | Sequence[str]) -> None:
    """Refuse a format that is not a time format, or that has an unknown directive."""
    formats = listed_formats(given)
    if not formats:
        raise UsageError("expected a time format")
    for form in formats:
        if form == ISO or form in EPOCHS or form in NAMED:
            continue
        if "%" not in form:
            known = [ISO, *EPOCHS, *NAMED]
            otherwise = f"write a format such as %Y-%m-%d %H:%M:%S, or one of: {', '.join(known)}"
            raise UsageError(f'"{form}" is not a time format', hint=did_you_mean(form, known, otherwise))
        for match in _DIRECTIVE.finditer(form):
            if match[0] == "%":
                written = form[match.start() : match.start() + 2]
                hint = "see the formats of strptime in the docs of DuckDB: %Y %m %d %H %M %S %f %z %b %p and others"
                raise UsageError(f'there is no "{written}" in a time format', hint=hint)


def lacks_year(form: str) -> bool:
    """Whether times of a format have a month and no year."""
    return _MONTHS.search(form) is not None and _YEARS.search(form) is None
