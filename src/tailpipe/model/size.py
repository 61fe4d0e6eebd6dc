"""Sizes as people write and read them: `500MB`, `2.5 GB`, in powers of ten."""

from __future__ import annotations

import re

from tailpipe.errors import UsageError

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,3})?) ?([kmgt]?b)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """The bytes of a size such as `500MB` or `2 GB`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f'"{text}" is not a size', hint="write a number and a unit: 500MB, 2GB or 1TB")
    units = {name.lower(): count for name, count in _UNITS.items()}
    return round(float(match[1]) * units[match[2].lower()])


def shown_size(count: int, *, is_up: bool = False) -> str:
    """A size as people read it, `84.1 MB`; rounded up and in one word if it is to be written again."""
    name, unit = next(((name, unit) for name, unit in reversed(_UNITS.items()) if count >= unit), ("B", 1))
    if is_up:
        return f"{-(-count // unit)}{name}"
    return f"{count} B" if unit == 1 else f"{count / unit:.1f} {name}"
