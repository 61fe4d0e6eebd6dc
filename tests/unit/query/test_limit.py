"""A time limit for statements."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from tailpipe.errors import QueryError, TimeLimitError, UsageError
from tailpipe.query.answer import Answer
from tailpipe.query.limit import TimeLimit, parse_timeout
from tailpipe.query.request import Query
from tailpipe.query.session import Session

from .support import Files

ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(100) b WHERE a.range % 7 = b.range % 3"
STREAMED = "SELECT a.range FROM range(100000000000) a, range(100) b WHERE a.range % 7 = b.range % 3"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(Files(tmp_path).snapshot(), {}, Query(timeout_seconds=0.3)) as session:
        yield session


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        (ENDLESS, lambda answer: list(answer.rows)),
        (STREAMED, lambda answer: all(answer.rows) or list(answer.rows)),
        (STREAMED, lambda answer: [0 for _ in answer.batches()]),
        (STREAMED, lambda answer: answer.table()),
    ],
)
def test_a_statement_that_takes_longer_is_ended_and_the_next_one_runs(
    session: Session, sql: str, read: Callable[[Answer], object]
) -> None:
    with pytest.raises(TimeLimitError, match=r"stopped at the time limit of 0\.3 s"):
        read(session.run(sql))
    assert list(session.run("SELECT 42").rows) == [(42,)]


def test_an_interrupt_of_the_engine_itself_is_an_error_of_the_statement(session: Session) -> None:
    error = duckdb.InterruptException("INTERRUPT Error: Interrupted!")
    session.run("SELECT 1")
    assert isinstance(session._explain(error, "SELECT 1"), QueryError)
    session.interrupt()
    assert isinstance(session._explain(error, "SELECT 1"), KeyboardInterrupt)


def test_only_the_time_of_the_engine_counts(session: Session) -> None:
    answer = session.run("FROM range(3000)")
    first = next(answer.rows)
    time.sleep(0.5)
    assert (first, sum(1 for _ in answer.rows)) == ((0,), 2999)


@pytest.mark.slow
def test_an_engine_that_does_not_react_is_reported() -> None:
    limit, stuck = TimeLimit(0.01, lambda: None), []
    limit.when_stuck = lambda: stuck.append(1)
    begun = time.monotonic()
    with limit.running():
        while not stuck:
            time.sleep(0.05)
            assert time.monotonic() < begun + 60
    assert limit.is_over


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("1h30m", 5400), ("500ms", 0.5), ("2d", 172800)])
def test_durations(text: str, seconds: float) -> None:
    assert parse_timeout(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "s", "-1s", "0s", "1 week"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        parse_timeout(text)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(30, "30 s"), (0.5, "0.5 s"), (300, "5 min"), (7200, "2 h"), (90, "90 s")]
)
def test_the_limit_is_named(seconds: float, shown: str) -> None:
    assert TimeLimit(seconds, lambda: None).error().message == f"stopped at the time limit of {shown}"
