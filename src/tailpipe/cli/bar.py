"""One line that shows how far a run is: a bar, and as many words as the terminal has room for."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tailpipe.frozen import frozen
from tailpipe.model.visible import shorten, width

_WIDEST, _NARROWEST = 30, 8
_GAP = "  "


@frozen
class Segment:
    """Words behind the bar. Where there is little room, those of the highest `rank` go first."""

    text: str
    rank: int


def redraw(line: str = "") -> None:
    """Replace the last line of the terminal that stderr is."""
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()


def draw_bar(share: float, segments: Sequence[Segment], room: int, *, is_ascii: bool = False) -> str:
    """The line, never longer than the room."""
    shown = [one for one in segments if one.text]
    percent = f"{min(int(share * 100), 100):3d}%"

    def words() -> str:
        return _GAP.join([percent, *(one.text for one in shown)])

    size = min(max(room // 6, _NARROWEST), _WIDEST)  # by the room alone, so that it does not shrink as numbers grow
    while shown and size + len(_GAP) + width(words()) > room:
        shown.remove(max(shown, key=lambda one: one.rank))
    if size + len(_GAP) + width(words()) > room:
        return shorten(words(), room)
    filled = min(int(share * size), size)
    full, empty = ("#", "-") if is_ascii else ("█", "░")
    return f"{full * filled}{empty * (size - filled)}{_GAP}{words()}"


def duration(seconds: float) -> str:
    """A time as people say it, not more exact than an estimate is: `8 s`, `40 s`, `5 min`, `2 h 10 min`."""
    if seconds < 10:
        return f"{seconds:.0f} s"
    if seconds < 90:
        return f"{round(seconds / 5) * 5} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {round(minutes % 60, -1) % 60} min"
