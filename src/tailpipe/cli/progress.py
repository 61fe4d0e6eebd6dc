"""How a run is shown while it goes on: one changing line on a terminal, a line for each day elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

from tailpipe.cli import render
from tailpipe.collect import events
from tailpipe.model.visible import shorten

__all__ = ["Display"]


@dataclass
class Display:
    """Draws the events of a run; if `is_shown` is false, warnings alone."""

    is_shown: bool
    _begun: float = field(default_factory=time.monotonic)
    _planned: events.Planned | None = None
    _units: int = 0
    _rows: int = 0
    _rejected: int = 0
    _tasks: str = ""

    def __call__(self, event: events.Event) -> None:
        """Take an event."""
        if not self.is_shown and not isinstance(event, events.Warned):
            return
        is_live = sys.stderr.isatty()
        match event:
            case events.Started():
                self._live(f"{event.partition}: {event.what}" if event.partition else event.what) if is_live else None
            case events.Planned():
                self._planned, self._units, self._rows, self._rejected = event, 0, 0, 0
                self._begun = time.monotonic()
                if event.units and not is_live:
                    size = f"{event.size / 1e6:,.1f} MB"
                    render.say(f"{event.partition}: {render.counted(event.artifacts, 'artifact')}, {size}")
            case events.Progress():
                self._tasks = f"{event.done} of {event.tasks} tasks"
                self._draw() if is_live else None
            case events.Committed():
                self._units += 1
                self._rows += event.accounts.kept
                self._rejected += event.accounts.rejected
                self._draw() if is_live else render.say(_line(event))
            case events.Warned():
                self._clear() if is_live else None
                render.say(f"warning: {event.partition}: {event.what}")
            case events.Failed():
                self._clear() if is_live else None
                render.say(f"{event.partition} {event.unit}: rolled back: {event.reasons[0]}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.is_shown and sys.stderr.isatty():
            self._clear()

    def _draw(self) -> None:
        planned = self._planned
        if planned is None:
            return
        seconds = max(0.001, time.monotonic() - self._begun)
        # What matters most stands first, because a narrow terminal cuts the rest.
        parts = [f"{self._units} of {planned.units} days"]
        if self._units > 1:  # the first unit also waited for Spark to start: it tells nothing of the others
            parts.append(f"{seconds / self._units * (planned.units - self._units):.0f} s left")
        parts.append(render.counted(self._rows, "row"))
        parts += [f"{self._rejected:,} rejected"] if self._rejected else []
        parts += [f"{self._rows / seconds:,.0f} rows/s"] if self._units > 1 else []
        self._live(f"{planned.partition}: {', '.join([*parts, self._tasks])}")

    def _live(self, text: str) -> None:
        import shutil

        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\x1b[K" + shorten(text, width))
        sys.stderr.flush()

    def _clear(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _line(event: events.Committed) -> str:
    rejected = f", {event.accounts.rejected:,} rejected" if event.accounts.rejected else ""
    return f"{event.partition} {event.unit}: {render.counted(event.accounts.kept, 'row')}{rejected} ({event.reason})"
