"""How a run is shown while it goes on: a bar for the whole run on a terminal, a line for each day elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tailpipe.cli import render
from tailpipe.cli.bar import Segment, draw_bar, duration, redraw
from tailpipe.cli.estimate import Estimate
from tailpipe.collect import events
from tailpipe.model.visible import shorten, visible

_BAR = "█░…"
_SAY_SECONDS = 15.0
"""Where no line can be drawn again, a long listing is reported after each of these."""


@dataclass
class _Track:
    """How far a partition is: its plan, the units that are settled, and the bytes that were read."""

    planned: events.Planned
    units: int = 0
    size: int = 0

    @property
    def share(self) -> float:
        """How much of it is done."""
        if self.planned.size:
            return min(self.size / self.planned.size, 1.0)
        return min(self.units / self.planned.units, 1.0) if self.planned.units else 1.0

    def settle_unit(self) -> None:
        """Count a unit. After the last one all bytes are read: a short job ends before any progress is reported."""
        self.units += 1
        if self.units >= self.planned.units:
            self.size = self.planned.size


@dataclass
class Display:
    """Draws the events of a run; if `is_shown` is false, warnings alone."""

    is_shown: bool
    clock: Callable[[], float] = time.monotonic
    _partitions: int = 1
    _tracks: dict[str, _Track] = field(default_factory=dict)
    """The partitions that were planned so far."""
    _estimate: Estimate = field(default_factory=lambda: Estimate(0))
    _rows: int = 0
    _rejected: int = 0
    _doing: str = ""
    _shown: str = ""
    _begun: float = 0.0
    """When what goes on now has begun."""
    _reported_at: float = 0.0

    def __call__(self, event: events.Event) -> None:
        """Take an event."""
        if not self.is_shown and not isinstance(event, events.Warned):
            return
        self._note(event)
        if not _is_live():
            self._say(event)
        elif isinstance(event, events.Warned | events.Failed):
            self._clear()
            self._say(event)
        else:
            self._draw()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.is_shown and _is_live():
            self._clear()

    def _note(self, event: events.Event) -> None:
        match event:
            case events.Opened():
                self._partitions = event.partitions
            case events.Started():
                self._begun = self._reported_at = self.clock()
                self._doing = f"{event.partition}: {event.what}" if event.partition else event.what
            case events.Listing():
                self._doing = self._listing(event)
            case events.Planned():
                self._tracks[event.partition] = _Track(event)
                self._estimate.total = self._planned_bytes
                self._doing = event.partition
            case events.Progress():
                track = self._tracks[event.partition]
                track.size = max(track.size, event.size)
                self._estimate.advance(self._read_bytes, self.clock())
                self._doing = event.partition
            case events.Committed():
                self._tracks[event.partition].settle_unit()
                self._rows += event.accounts.kept
                self._rejected += event.accounts.rejected
            case events.Failed():
                self._tracks[event.partition].settle_unit()
            case _:
                pass

    def _listing(self, event: events.Listing) -> str:
        """How far a listing is."""
        counts = [render.counted(event.artifacts, "artifact")]
        if event.requests:
            counts += [render.counted(event.requests, "request"), render.counted(event.folders, "folder")]
            counts += [duration(self.clock() - self._begun)]
        return f"{event.partition}: listing, {', '.join(counts)}"

    @property
    def _planned_bytes(self) -> int:
        return sum(track.planned.size for track in self._tracks.values())

    @property
    def _read_bytes(self) -> int:
        return sum(track.size for track in self._tracks.values())

    def _say(self, event: events.Event) -> None:
        """The event as a line, if it is one that stays."""
        match event:
            case events.Listing() if self.clock() - self._reported_at >= _SAY_SECONDS:
                self._reported_at = self.clock()
                render.say(self._doing)
            case events.Planned() if event.units:
                artifacts = render.counted(event.artifacts, "artifact")
                render.say(f"{event.partition}: {artifacts}, {render.size(event.size)}")
            case events.Committed():
                rejected = f", {event.accounts.rejected:,} rejected" if event.accounts.rejected else ""
                rows = render.counted(event.accounts.kept, "row")
                render.say(f"{event.partition} {render.unit(event.unit)}: {rows}{rejected} ({event.reason})")
            case events.Warned():
                render.say(f"warning: {event.partition}: {event.what}")
            case events.Failed():
                render.say(f"{event.partition} {render.unit(event.unit)}: rolled back: {event.reasons[0]}")
            case _:
                pass

    def _draw(self) -> None:
        room = shutil.get_terminal_size().columns - 1  # a full line would wrap
        if not any(track.planned.units for track in self._tracks.values()):
            self._show(shorten(visible(self._doing), room))
            return
        # Each partition counts alike, as what later ones hold is not known yet.
        share = sum(track.share for track in self._tracks.values()) / max(self._partitions, 1)
        self._show(draw_bar(share, self._segments(), room, is_ascii=not _can_write(_BAR)))

    def _segments(self) -> list[Segment]:
        # Until the last partition is planned, nobody knows how much there is.
        begun = len(self._tracks)
        left = self._estimate.seconds_left(self.clock()) if begun >= self._partitions else None
        several = f"partition {begun}/{self._partitions}" if self._partitions > 1 else ""
        total = self._planned_bytes
        sizes = f"{render.size(self._read_bytes)} of {render.size(total)}" if total else ""
        units = sum(track.planned.units for track in self._tracks.values())
        done = sum(track.units for track in self._tracks.values())
        return [
            Segment(several, 2),
            Segment(f"{done}/{units} {'days' if units > 1 else 'day'}", 1),
            Segment(render.counted(self._rows, "row"), 3),
            Segment(f"{self._rejected:,} rejected" if self._rejected else "", 5),
            Segment(sizes, 4),
            Segment(f"{duration(left)} left" if left is not None else "", 0),
            Segment(visible(self._doing), 6 if self._doing in self._tracks else 1),
        ]

    def _show(self, text: str) -> None:
        if text != self._shown:
            encoding = sys.stderr.encoding or "ascii"
            redraw(text.encode(encoding, "replace").decode(encoding))
            self._shown = text

    def _clear(self) -> None:
        redraw()
        self._shown = ""


def _is_live() -> bool:
    """Whether a line can be redrawn."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _can_write(text: str) -> bool:
    try:
        text.encode(sys.stderr.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
