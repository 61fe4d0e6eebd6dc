"""Durations as people write them: `90s`, `1h30m`, `7d`."""

from __future__ import annotations

import re
from datetime import timedelta

_DURATION = re.compile(r"([+-]?)((?:\d+(?:\.\d+)?(?:ms|us|ns|[wdhms]))+)")
_STEP = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|[wdhms])")
_SECONDS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def parse_duration(text: str) -> timedelta:
    """`-168h`, `1h30m`, `-365d`, `2w`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{text[:60]}" is not a duration such as -168h, 1h30m, 7d or 2w')
    seconds = sum(float(count) * _SECONDS[unit] for count, unit in _STEP.findall(match[2]))
    try:
        return timedelta(seconds=-seconds if match[1] == "-" else seconds)
    except OverflowError:
        raise ValueError(f'the duration "{text[:60]}" is out of range') from None
