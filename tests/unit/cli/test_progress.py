"""The line that shows how a run goes on."""

from __future__ import annotations

import io
import re
import sys

import pytest

from tailpipe.cli.progress import Display
from tailpipe.collect import events
from tailpipe.model.artifact import Accounts


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_narrow_terminal_still_shows_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "60")
    display = Display(is_shown=True)
    display(events.Planned("a_log_with_a_name.prod", units=31, artifacts=31, size=10**6))
    display(events.Progress("a_log_with_a_name.prod", 3, 4))
    for day in ("2024-01-30", "2024-01-31"):
        accounts = Accounts(read=1001, kept=1000, rejected=1)
        display(events.Committed("a_log_with_a_name.prod", day, 1, accounts, "new day"))
    lines = screen.getvalue().split("\r\x1b[K")
    assert lines[1] == "a_log_with_a_name.prod: 0 of 31 days, 0 rows, 3 of 4 tasks"
    assert re.match(r"a_log_with_a_name\.prod: 2 of 31 days, \d+ s left, 2,", lines[-1])
    assert len(lines[-1]) == 59
