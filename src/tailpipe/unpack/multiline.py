"""Events that span lines, such as a message and its stack trace: which line begins one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailpipe.errors import UsageError


def check_start(pattern: str) -> None:
    """Refuse a pattern that RE2 cannot read, which has no look-around and no back-references."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise UsageError(f'the multiline start "{pattern}" cannot be used: {error}') from error


def event_starts(
    lines: pa.Array,
    ends: NDArray[np.int64],
    is_long: NDArray[np.bool_],
    *,
    pattern: str,
    known: int,
    max_bytes: int,
) -> tuple[NDArray[np.bool_], bool]:
    """For each line whether it begins an event (any other goes on with the event before it), and whether
    the last event is open: the next line may go on with it.

    The first `known` lines are an event that is open already. `ends` says where each line ends. A line
    stands for itself if no event is open: before the first start, and after a line that is too long,
    which closes the event before it. An event is cut before the line that would take it over
    `max_bytes`.
    """
    count = len(ends)
    starts = np.zeros(count, np.bool_)
    starts[known:] = pc.match_substring_regex(lines.slice(known).cast(pa.string()), pattern)
    starts[: min(known, 1)] = True
    places = np.arange(count)
    last_start = np.maximum.accumulate(np.where(starts, places, -1))
    last_long = np.maximum.accumulate(np.where(is_long, places, -1))
    starts |= last_start <= last_long  # also before the first start, where both are -1
    return _cut(starts, ends, max_bytes), bool(last_start[-1] > last_long[-1])


def _cut(starts: NDArray[np.bool_], ends: NDArray[np.int64], max_bytes: int) -> NDArray[np.bool_]:
    firsts = np.flatnonzero(starts)
    begins = np.where(firsts > 0, ends[firsts - 1] + 1, 0)
    nexts = np.append(firsts[1:], len(ends))
    for event in np.flatnonzero(ends[nexts - 1] - begins > max_bytes):
        first, begin = int(firsts[event]), int(begins[event])
        while True:
            first = max(first + 1, int(np.searchsorted(ends, begin + max_bytes, "right")))
            if first >= nexts[event]:
                break
            starts[first] = True
            begin = int(ends[first - 1]) + 1
    return starts
