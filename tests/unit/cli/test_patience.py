"""Whoever waits for an answer is told so, on a terminal."""

from __future__ import annotations

import io
import sys
import time

import pytest

from tailpipe.cli.patience import patience

TOLD = "still running; Ctrl-C ends it"


class _Stream(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def awaits(self, text: str) -> bool:
        """Whether the text is written within a minute."""
        until = time.monotonic() + 60
        while text not in self.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        return text in self.getvalue()


def test_it_is_told_after_a_while_and_taken_away_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Stream(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", stream)
    with patience(0.01) as end:
        assert stream.awaits(TOLD)
        end()
        stream.write("the answer")
        end()
    assert stream.getvalue() == f"{TOLD}\r\x1b[Kthe answer"


def test_a_failure_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Stream(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", stream)

    def interrupted() -> None:
        with patience(0.01):
            assert stream.awaits(TOLD)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("is_terminal", "seconds"), [(True, 60.0), (False, 0.0)])
def test_it_is_not_told_of_a_quick_answer_or_to_a_file(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, seconds: float
) -> None:
    stream = _Stream(is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    with patience(seconds):
        time.sleep(0.05)
    assert stream.getvalue() == ""
