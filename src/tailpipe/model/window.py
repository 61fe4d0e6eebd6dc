"""Windows: half-open spans of UTC time, and the forms in which people write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, date, datetime, time, timedelta
from functools import total_ordering

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen

DAY = timedelta(days=1)
LOOKBACK = 30 * DAY
"""How far back is looked where nobody says from when."""

_RELATIVE = re.compile(r"T-(\d{1,6})([YmWdHM])")
_NEARLY = re.compile(r"([Tt]-|-)?(\d{1,6})([YymMWwdDhH])")
_SPAN = re.compile(r"(\d{1,6})([YmWd])")
_US_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?:[ T](.+))?")
_FORMS = (
    "use a date (2024-01-31), a time (2024-01-31T10:00:00Z), 1/31/2024, today, yesterday,"
    " or back from now: T-7d, T-9H (Y m W d H M)"
)
_DAYS_BACK = {"today": 0, "yesterday": 1}


@total_ordering
@frozen
class Window:
    """A span of time from `start`, included, to `end`, excluded; both in UTC.

    One that `is_open` has no end of its own: it reaches up to now, and later runs go on from there.
    """

    start: datetime
    end: datetime
    is_open: bool = field(default=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            moment: datetime = getattr(self, name)
            if moment.tzinfo is None:
                raise ValueError(f"a window needs a time zone: {moment.isoformat()}")
            object.__setattr__(self, name, moment.astimezone(UTC))
        if self.start > self.end:
            raise UsageError(
                f"the window ends before it starts: from {_show(self.start)} to {_show(self.end)}",
                hint="swap --from and --to",
            )

    def __lt__(self, other: Window) -> bool:
        return (self.start, self.end) < (other.start, other.end)

    @classmethod
    def parse(cls, start: str | None, end: str | None, *, now: datetime) -> Window:
        """Read `--from` and `--to`; without an end it is `now`, without a start it is LOOKBACK before the end."""
        until = now if end is None else parse_moment(end, now=now, is_end=True)
        since = until - LOOKBACK if start is None else parse_moment(start, now=now)
        if end is None and since > until:
            raise UsageError(f'"{start}" is in the future', hint="use a past time, or both --from and --to")
        if start is not None and end is not None and since >= until:
            cls(since, parse_moment(end, now=now))  # the day before `start` as the end is no empty window
        return cls(since, until, is_open=start is not None and end is None)

    @classmethod
    def between(cls, start: datetime | None, end: datetime | None) -> Window:
        """The window from one time to another; without one of them it reaches as far as the calendar does."""
        return cls(start or EVER.start, end or EVER.end)

    @classmethod
    def of_day(cls, day: date) -> Window:
        """The 24 hours of one day."""
        start = datetime.combine(day, time(), UTC)
        return cls(start, start + DAY)

    @property
    def has_start(self) -> bool:
        """Whether it begins at some time."""
        return self.start > EVER.start

    @property
    def has_end(self) -> bool:
        """Whether it ends at some time."""
        return self.end < EVER.end

    def widened(self) -> Window:
        """The window extended to whole days, as collecting needs it."""
        start, end = (datetime.combine(moment.date(), time(), UTC) for moment in (self.start, self.end))
        return Window(start, end if end == self.end else end + DAY, is_open=self.is_open)

    def days(self) -> Iterator[date]:
        """The days that the window touches, oldest first."""
        whole = self.widened()
        day, last = whole.start.date(), whole.end.date()
        while day < last:
            yield day
            day += DAY

    def __contains__(self, moment: object) -> bool:
        return isinstance(moment, datetime) and self.start <= moment < self.end

    def touches(self, day: date) -> bool:
        """Whether some moment of `day` is in the window."""
        whole = Window.of_day(day)
        return self.start < whole.end and whole.start < self.end

    def __str__(self) -> str:
        return f"[{_show(self.start)}, {_show(self.end)})"


EVER = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
"""All of the calendar."""


def requested_window(start: str | None, end: str | None, *, now: datetime) -> Window | None:
    """What `--from` and `--to` request of a run, as `Window.parse` reads them; None if neither is given."""
    return None if start is end is None else Window.parse(start, end, now=now)


def window_between(start: str | None, end: str | None, *, now: datetime) -> Window:
    """The window from `--from` to `--to`; without one of them it is open to that side."""
    if start is not None and end is not None:
        return Window.parse(start, end, now=now)
    since = None if start is None else parse_moment(start, now=now)
    until = None if end is None else parse_moment(end, now=now, is_end=True)
    return Window.between(since, until)


def parse_moment(text: str, *, now: datetime, is_end: bool = False) -> datetime:
    """Read one end of a window; a bare date as the end includes that day.

    A date-time without a zone is UTC. `today` and `yesterday` are days in UTC. `T-10d` counts back from `now`; months
    and years are those of the calendar, and a day that does not exist there becomes the last one of its month.
    """
    try:
        moment, is_bare_date = _read(text.strip(), now)
        if not 1 < moment.year < 9999:  # leaves room to widen and to look back
            raise ValueError("at the edge of the calendar")
    except (ValueError, OverflowError):
        raise UsageError(f'"{text}" is not a time', hint=_meant(text.strip()) or _FORMS) from None
    return moment + DAY if is_end and is_bare_date else moment


def check_moment(text: str) -> None:
    """Refuse what `parse_moment` cannot read."""
    parse_moment(text, now=datetime(2000, 1, 1, tzinfo=UTC))


def day_before(text: str, *, now: datetime) -> date:
    """The day that is a span such as `400d` before `now`; the letters are `d W m Y`, as in `T-400d`."""
    try:
        match = _SPAN.fullmatch(text.strip())
        if match is None or not int(match[1]):
            raise ValueError("no span")
        moment = _back(now.astimezone(UTC), int(match[1]), match[2])
        if not 1 < moment.year < 9999:
            raise ValueError("at the edge of the calendar")
    except (ValueError, OverflowError):
        hint = "write a number and a letter: 400d, 12W, 6m or 2Y (days, weeks, months, years)"
        raise UsageError(f'"{text}" is not a span of days', hint=hint) from None
    return moment.date()


def _meant(text: str) -> str:
    """What was most likely meant by a span that lacks its `T-`, or has a small letter for a capital one."""
    match = _NEARLY.fullmatch(text)
    if match is None or (match[1] != "T-" and match[3] in "mM"):  # months or minutes, who knows
        return ""
    meant = f"T-{match[2]}" + {"h": "H", "D": "d", "w": "W", "y": "Y"}.get(match[3], match[3])
    return f'did you mean "{meant}"?' if meant != text else ""


def _read(text: str, now: datetime) -> tuple[datetime, bool]:
    """The moment, and whether it was written as a date alone."""
    if match := _RELATIVE.fullmatch(text):
        return _back(now.astimezone(UTC), int(match[1]), match[2]), False
    if text.lower() == "now":
        return now.astimezone(UTC), False
    if (days := _DAYS_BACK.get(text.lower())) is not None:
        return datetime.combine(now.astimezone(UTC).date() - days * DAY, time(), UTC), True
    if match := _US_DATE.fullmatch(text):
        month, day, year, clock = match.groups()
        text = f"{year}-{int(month):02d}-{int(day):02d}" + (f"T{clock}" if clock else "")
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC), True
    except ValueError:
        moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)), False


def _back(now: datetime, count: int, unit: str) -> datetime:
    if unit in "Ym":
        months = now.year * 12 + now.month - 1 - count * (12 if unit == "Y" else 1)
        year, month = divmod(months, 12)
        for day in range(now.day, now.day - 4, -1):
            try:
                return now.replace(year=year, month=month + 1, day=day)
            except ValueError:
                continue
        raise ValueError("no such month")
    names = {"W": "weeks", "d": "days", "H": "hours", "M": "minutes"}
    return now - timedelta(**{names[unit]: count})


def _show(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
