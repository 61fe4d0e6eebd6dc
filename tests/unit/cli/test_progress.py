"""What a run shows while it goes on."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pyte
import pytest

from tailpipe.cli.bar import Segment, draw_bar, duration
from tailpipe.cli.progress import Display
from tailpipe.collect import events
from tailpipe.model.artifact import Accounts

NAME = "a_log_with_a_name.prod"


class _Terminal(io.TextIOWrapper):
    """A terminal of some columns, which shows what a person sees."""

    def __init__(self, columns: int, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self.screen = pyte.Screen(columns, 10)

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        assert isinstance(self.buffer, io.BytesIO)
        stream = pyte.ByteStream(self.screen)
        self.screen.reset()
        stream.feed(self.buffer.getvalue())
        return [line.rstrip() for line in self.screen.display if line.strip()]


Open = Callable[..., _Terminal]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Open:
    def start(columns: int, encoding: str = "utf-8", term: str = "xterm") -> _Terminal:
        made = _Terminal(columns, encoding)
        monkeypatch.setattr(sys, "stderr", made)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", term)
        return made

    return start


def run(display: Display, moments: list[float], partition: str = NAME) -> None:
    """Ten of 31 days of 310 MB, a second for each."""
    display(events.Planned(partition, units=31, artifacts=31, size=310_000_000))
    for day in range(10):
        moments.append(float(day))
        display(events.Progress(partition, day, 31, (day + 1) * 10_000_000))
        display(events.Committed(partition, f"2024-01-{31 - day}", 1, Accounts(1001, 1000, 0, 1), "new day"))


def clocked() -> tuple[Display, list[float]]:
    moments = [0.0]
    return Display(is_shown=True, clock=lambda: moments[-1]), moments


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (40, "██░░░░░░   32%  10/31 days  20 s left"),
        (80, "████░░░░░░░░░   32%  10/31 days  10,000 rows  100 MB of 310 MB  20 s left"),
        (
            200,
            f"{'█' * 9}{'░' * 21}   32%  10/31 days  10,000 rows  10 rejected  100 MB of 310 MB  20 s left  {NAME}",
        ),
    ],
)
def test_a_bar_shows_days_rows_bytes_and_the_time_left(terminal: Open, columns: int, line: str) -> None:
    screen = terminal(columns)
    display, moments = clocked()
    run(display, moments)
    assert screen.lines == [line]
    display.close()
    assert screen.lines == []


@pytest.mark.parametrize("columns", [1, 5, 20, 40, 79, 80, 81, 200])
def test_no_line_wraps(terminal: Open, columns: int) -> None:
    screen = terminal(columns)
    display, moments = clocked()
    display(events.Opened(3))
    display(events.Started("", "starting Spark"))
    for name in ("a.b", NAME, "日本語_log.prod"):
        display(events.Started(name, "listing"))
        display(events.Listing(name, 123_456_789))
        assert len(screen.lines) <= 1
        run(display, moments, name)
        assert len(screen.lines) <= 1


def test_ascii_where_the_terminal_takes_no_more(terminal: Open) -> None:
    screen = terminal(80, "ascii")
    display, moments = clocked()
    run(display, moments)
    assert screen.lines[0].startswith("####---------   32%  10/31 days")


def test_artifacts_are_counted_while_they_are_listed(terminal: Open) -> None:
    screen = terminal(80)
    display = Display(is_shown=True)
    display(events.Started(NAME, "listing"))
    assert screen.lines == [f"{NAME}: listing"]
    display(events.Listing(NAME, 12_300))
    assert screen.lines == [f"{NAME}: listing, 12,300 artifacts"]


def test_several_partitions_have_one_bar(terminal: Open) -> None:
    screen = terminal(80)
    display, moments = clocked()
    display(events.Opened(2))
    run(display, moments, "a.b")
    assert "16%  partition 1/2  10/31 days" in screen.lines[0]
    assert "left" not in screen.lines[0]  # what the second has is not known yet
    display(events.Listing("c.d", 700))
    assert screen.lines[0].endswith("c.d: listing, 700 artifacts")
    run(display, moments, "c.d")
    assert "32%  partition 2/2  20/62 days  20,000 rows" in screen.lines[0]


def test_without_sizes_days_are_counted(terminal: Open) -> None:
    screen = terminal(80)
    display = Display(is_shown=True)
    display(events.Planned(NAME, units=4, artifacts=4, size=0))
    display(events.Committed(NAME, "2024-01-31", 1, Accounts(1, 1), "new day"))
    assert "25%  1/4 days  1 row" in screen.lines[0]
    assert " of " not in screen.lines[0]


def test_a_run_too_short_to_report_progress_ends_at_100_percent(terminal: Open) -> None:
    screen = terminal(80)
    display = Display(is_shown=True)
    display(events.Planned(NAME, units=2, artifacts=2, size=187_000))
    display(events.Committed(NAME, "2024-01-31", 1, Accounts(1, 1), "new day"))
    assert "0%  1/2 days  1 row  0 B of 187 kB" in screen.lines[0]
    display(events.Failed(NAME, "2024-01-30", ("no such file",)))
    display(events.Started("", "cleaning up"))
    assert "100%  2/2 days  1 row  187 kB of 187 kB" in screen.lines[-1]


def test_what_is_told_stays_above_the_bar(terminal: Open) -> None:
    screen = terminal(80)
    display, moments = clocked()
    run(display, moments)
    display(events.Warned(NAME, "little space is left"))
    display(events.Progress(NAME, 11, 31, 110_000_000))
    assert screen.lines[0] == f"warning: {NAME}: little space is left"
    assert screen.lines[1].startswith("████")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_plain_lines_where_no_line_can_be_drawn_again(
    terminal: Open, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    screen = terminal(80, term="dumb" if is_terminal else "xterm")
    monkeypatch.setattr(_Terminal, "isatty", lambda _: is_terminal)
    display = Display(is_shown=True)
    display(events.Opened(1))
    display(events.Planned(NAME, units=31, artifacts=31, size=310_000_000))
    display(events.Progress(NAME, 1, 31, 10_000_000))
    display(events.Committed(NAME, "2024-01-31", 1, Accounts(1001, 1000, 0, 1), "new day"))
    display.close()
    assert isinstance(screen.buffer, io.BytesIO)
    assert screen.buffer.getvalue().decode().splitlines() == [
        f"{NAME}: 31 artifacts, 310 MB",
        f"{NAME} 2024-01-31: 1,000 rows, 1 rejected (new day)",
    ]


def test_nothing_is_drawn_without_progress_but_warnings(terminal: Open) -> None:
    screen = terminal(80)
    display = Display(is_shown=False)
    run(display, [0.0])
    assert screen.lines == []
    display(events.Warned(NAME, "little space is left"))
    assert screen.lines == [f"warning: {NAME}: little space is left"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.2, "4 s"), (12, "10 s"), (88, "90 s"), (100, "2 min"), (3600, "60 min"), (8000, "2 h 10 min")],
)
def test_times_are_no_more_exact_than_an_estimate(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_bar_is_never_longer_than_its_room() -> None:
    for room in range(100):
        for share in (0.0, 0.5, 1.0, 1.2):
            assert len(draw_bar(share, [Segment("some words", 0), Segment("", 1), Segment("more", 2)], room)) <= room
