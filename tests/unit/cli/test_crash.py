"""Which commands run in a child, and what follows a crash of it."""

from __future__ import annotations

import os

import pytest

from tailpipe.cli.crash import is_needed
from tailpipe.errors import CrashedError
from tailpipe.sql.attempt import Attempt


@pytest.mark.parametrize(
    ("call", "is_watched"),
    [
        ("query", True),
        ("--workspace status schema show web", True),
        ("--config-path=config table test x y", True),
        ("--config-path config collect --follow", False),
        ("collect query", False),
        ("serve --host-name query", False),
        ("--help", False),
        ("", False),
    ],
)
def test_the_command_decides_and_no_value_of_a_flag(call: str, is_watched: bool) -> None:
    assert is_needed(call.split()) == is_watched


def test_a_statement_that_crashed_is_left_out_of_the_next_attempt() -> None:
    attempt = Attempt()
    if not (child := os.fork()):  # what a child notes, its parent reads
        attempt.begin("lengthy name")
        attempt.begin("é")
        os._exit(0)
    os.waitpid(child, 0)
    assert attempt.running == "é"
    following = attempt.following()
    assert following is not None
    assert (following.crashed, following.is_repeated) == (("é",), True)
    following.begin("other")
    with pytest.raises(CrashedError, match="crashed the SQL engine: SELECT 1"):
        following.begin("é", "SELECT 1")
    assert following.following() is None, "it would crash again"


def test_attempts_end() -> None:
    assert Attempt().following() is None, "nothing was begun"
    attempt = Attempt()
    attempt.begin()
    following = attempt.following()
    assert following is not None
    assert following.crashed == ()
    following.begin()
    assert following.following() is None, "no statement can be named"
