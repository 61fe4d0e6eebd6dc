"""Ranges of time: how the days of a window are requested, and how their ends are written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from tailpipe.plugin import Declared, UsageError, Window, option, parse_duration
from tailpipe.plugins.http.connection import check_span

_DAY = timedelta(days=1)
_MARGIN = timedelta(minutes=1)
"""So much less than `max_age` is requested, because the request takes time."""
_FORMATS = ("rfc3339", "rfc3339_ms", "epoch", "epoch_ms")


def _check_format(text: str) -> None:
    if text not in _FORMATS and "%" not in text:
        raise UsageError(f'"{text}" is not a format', hint=f"use one of {', '.join(_FORMATS)}, or one such as %Y-%m-%d")


def _check_step(text: str) -> None:
    check_span(text)
    step = parse_duration(text)
    if step > _DAY or _DAY % step:
        raise UsageError(f'"{text}" does not divide a day', hint="use 1d, 12h, 6h, 4h, 1h or another part of a day")


def _check_delay(text: str) -> None:
    if parse_duration(text).total_seconds() < 0:
        raise UsageError(f'"{text}" is negative')


class TimeRange(Declared):
    """How a day is requested, and how the times of a request are written."""

    format: str = option(
        "How times are written: `rfc3339`, `rfc3339_ms`, `epoch`, `epoch_ms`, or as `%Y-%m-%d %H:%M:%S`.",
        default="rfc3339",
        check=_check_format,
    )
    step: str = option("How much time one request is for; a part of a day.", default="1d", check=_check_step)
    max_age: str | None = option(
        "How long the service keeps events; older days are not requested.", default=None, check=check_span
    )
    delay: str = option("How long it takes until the service has all events.", default="0s", check=_check_delay)

    def spans(self, day: date) -> Iterator[tuple[str, Window]]:
        """The parts of a day, each with its name."""
        step, start = parse_duration(self.step), datetime.combine(day, time(), UTC)
        for number in range(_DAY // step):
            begin = start + number * step
            name = str(day) if step == _DAY else begin.strftime("%Y-%m-%dT%H:%M")
            yield name, Window(begin, begin + step)

    def span(self, name: str) -> Window:
        """The part of a day that has this name."""
        start = datetime.fromisoformat(name).replace(tzinfo=UTC)
        return Window(start, start + parse_duration(self.step))

    def is_forgotten(self, span: Window, now: datetime) -> bool:
        """Whether the service has no events of that time any more."""
        return self.max_age is not None and span.end <= now - parse_duration(self.max_age)

    def requested(self, span: Window, now: datetime) -> Window | None:
        """The part of the span that there can be events of: not older than the service keeps, not in the future."""
        start, end = span.start, min(span.end, now - parse_duration(self.delay))
        if self.max_age is not None:
            start = max(start, now - parse_duration(self.max_age) + _MARGIN)
        return Window(start, end) if start < end else None

    def written(self, moment: datetime) -> str:
        """A time as the service wants it."""
        if self.format == "epoch":
            return str(int(moment.timestamp()))
        if self.format == "epoch_ms":
            return str(round(moment.timestamp() * 1000))
        if self.format == "rfc3339_ms":
            return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ" if self.format == "rfc3339" else self.format)

    @property
    def is_number(self) -> bool:
        """Whether times are numbers, which a JSON body has without quotes."""
        return self.format in ("epoch", "epoch_ms")
