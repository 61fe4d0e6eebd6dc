"""Events whose lines may be mixed with those of others: which lines belong together, and where nothing is open.

An event is open from its first line until a line ends it, until its clock has gone on by the gap, or until a line that
is too long. Where no event is open, text can be cut: what lies before is never looked at again. So a reading that goes
on there finds the same events as one from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailpipe.model.format import Joining


@dataclass
class JoinedLines:
    """The events among the first `upto` lines, each as the numbers of its lines, in the order of their first lines."""

    upto: int
    events: list[list[int]]


@dataclass
class _Open:
    lines: list[int]
    clock: str | None
    seconds: float


@dataclass
class _Joiner:
    """The state between two lines."""

    gap: float
    open: dict[tuple[str | None, ...], _Open] = field(default_factory=dict)
    events: list[list[int]] = field(default_factory=list)
    cut: int = 0
    """The first line after the last place where nothing was open."""
    kept: int = 0
    """How many events there were then."""

    def rest(self, line: int) -> None:
        """Nothing may be open before this line."""
        if not self.open:
            self.cut, self.kept = line, len(self.events)

    def pass_time(self, clock: str | None, seconds: float) -> None:
        """Close what its own clock has left behind."""
        late = [key for key, one in self.open.items() if one.clock == clock and one.seconds + self.gap < seconds]
        for key in late:
            del self.open[key]


def join_events(
    lines: pa.Array,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    is_long: NDArray[np.bool_],
    *,
    joining: Joining,
    max_bytes: int,
    is_last: bool,
) -> JoinedLines:
    """The events of whole lines that begin where nothing is open.

    `joining` says how lines belong together, and `max_bytes` after how much text all that is open is closed. Unless
    it `is_last`, lines after the last place where nothing is open are left for later.
    """
    text = lines.cast(pa.string())
    is_end = pc.match_substring_regex(text, joining.end).to_numpy(zero_copy_only=False)
    if is_end.all() and not is_long.any():
        return JoinedLines(len(text), [[line] for line in range(len(text))])
    parts = pc.extract_regex(text, joining.key)
    names = [parts.type.field(number).name for number in range(parts.type.num_fields)]
    columns = [parts.field(number).to_pylist() for number in range(len(names))]
    matched = parts.is_valid().to_pylist()
    clocks = columns[names.index("clock")] if "clock" in names else [None] * len(text)
    times = columns[names.index("seconds")] if "seconds" in names else None
    joiner = _Joiner(joining.gap_seconds)
    for line, key in enumerate(zip(*columns, strict=True)):
        seconds = _seconds(times[line]) if times is not None and matched[line] else 0.0
        if is_long[line] or (joiner.open and ends[line] - starts[joiner.cut] > max_bytes):
            joiner.open.clear()
        if times is not None and matched[line] and joiner.open:
            joiner.pass_time(clocks[line], seconds)
        joiner.rest(line)
        if is_long[line] or ends[line] == starts[line]:
            continue
        if not matched[line]:
            joiner.events.append([line])
            continue
        known = joiner.open.get(key)
        if known is None:
            known = joiner.open[key] = _Open([], clocks[line], seconds)
            joiner.events.append(known.lines)
        known.lines.append(line)
        if is_end[line]:
            del joiner.open[key]
    if is_last:
        joiner.open.clear()
    joiner.rest(len(text))
    return JoinedLines(joiner.cut, joiner.events[: joiner.kept])


def _seconds(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
