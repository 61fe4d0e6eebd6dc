"""Requests that fail are tried again; nothing here waits, because clock and sleep are given."""

from __future__ import annotations

import math
import pickle
import socket
import ssl
from collections.abc import Callable, Mapping
from email.message import Message
from email.utils import formatdate
from http.client import IncompleteRead
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from tailpipe.plugin import Retry, is_transient, retry_after

NOW = 1_700_000_000.0


class World:
    """A clock that goes on only while somebody sleeps, and requests that fail in a given order."""

    def __init__(self, *failures: Exception | None, **facts: Any) -> None:
        self.now = NOW
        self.slept: list[float] = []
        self.failures = list(failures)
        self.calls = 0
        self.retry = Retry(sleep=self.sleep, clock=lambda: self.now, chance=lambda _, most: most, **facts)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def request(self) -> str:
        self.calls += 1
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return "answer"


def http(status: int, headers: Mapping[str, str] = {}) -> HTTPError:
    message = Message()
    for name, value in headers.items():
        message[name] = value
    return HTTPError("http://x", status, "no", message, None)


def test_pauses_grow_up_to_the_longest() -> None:
    world = World(*[TimeoutError()] * 6, retries=6, first_pause=1, longest_pause=10)
    assert world.retry.call(world.request) == "answer"
    assert world.slept == [2, 4, 8, 10, 10, 10]


def test_a_pause_lies_by_chance_between_a_quarter_and_all_of_it() -> None:
    bounds: list[tuple[float, float]] = []

    def chance(low: float, high: float) -> float:
        bounds.append((low, high))
        return low

    world = World(*[TimeoutError()] * 3)
    with pytest.raises(TimeoutError):
        Retry(retries=2, first_pause=1, sleep=world.sleep, clock=lambda: NOW, chance=chance).call(world.request)
    assert bounds[:2] == [(0.5, 2), (1, 4)]
    assert {0.5 <= Retry().chance(0.5, 2) <= 2 for _ in range(100)} == {True}


def test_after_so_many_retries_the_error_is_raised_with_their_number() -> None:
    world = World(*[TimeoutError("slow")] * 9, retries=3)
    with pytest.raises(TimeoutError, match="slow") as caught:
        world.retry.call(world.request)
    assert world.calls == 4
    assert caught.value.__notes__ == ["gave up after 4 attempts"]


def test_an_error_that_stays_is_raised_at_once() -> None:
    world = World(http(404))
    with pytest.raises(HTTPError):
        world.retry.call(world.request)
    assert (world.calls, world.slept) == (1, [])


def test_the_server_says_how_long_to_wait_and_that_is_no_failure() -> None:
    world = World(*[http(429, {"Retry-After": "7"})] * 20, retries=0, first_pause=0.1, longest_pause=1)
    assert world.retry.call(world.request) == "answer"
    assert world.slept == [7] * 20


def test_waiting_is_bounded_in_all() -> None:
    world = World(*[http(429, {"Retry-After": "50"})] * 99, time_limit=120)
    with pytest.raises(HTTPError):
        world.retry.call(world.request)
    assert world.slept == [50, 50]
    world = World(http(429, {"Retry-After": "3600"}), time_limit=120)
    with pytest.raises(HTTPError):
        world.retry.call(world.request)
    assert world.slept == []


def test_a_server_that_says_zero_for_ever_is_not_asked_for_ever() -> None:
    world = World(*[http(429, {"Retry-After": "0"})] * 10_000, time_limit=100, longest_pause=10)
    with pytest.raises(HTTPError):
        world.retry.call(world.request)
    assert world.calls < 20
    world = World(*[http(429, {"Retry-After": "0"})] * 10_000, time_limit=math.inf, retries=3)
    with pytest.raises(HTTPError):
        world.retry.call(world.request)
    assert world.calls == 4


def test_a_cause_is_mended_once_and_that_costs_no_attempt() -> None:
    mended: list[Exception] = []

    def renew(error: Exception) -> bool:
        is_old = isinstance(error, HTTPError) and error.code == 401
        mended.extend([error] * is_old)
        return is_old

    world = World(http(401), retries=0)
    assert world.retry.call(world.request, recover=renew) == "answer"
    assert (len(mended), world.slept) == (1, [])
    world = World(http(401), http(401))
    with pytest.raises(HTTPError):
        world.retry.call(world.request, recover=renew)
    assert world.calls == 2


class OtherClientError(Exception):
    """As httpx and requests have it: the answer is an attribute."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__("no")
        self.response = type("Response", (), {"status_code": status, "headers": headers})()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        *((http(status), True) for status in (408, 425, 429, 500, 502, 503, 504)),
        *((http(status), False) for status in (400, 401, 403, 404, 410, 501)),
        (http(403, {"X-RateLimit-Remaining": "0"}), True),
        (http(403, {"X-RateLimit-Remaining": "7"}), False),
        (OtherClientError(503), True),
        (OtherClientError(422), False),
        (URLError(ConnectionRefusedError()), True),
        (URLError(TimeoutError()), True),
        (URLError(ssl.SSLCertVerificationError("self-signed")), False),
        (URLError("unknown url type"), False),
        (ssl.SSLEOFError(), True),
        (IncompleteRead(b"half"), True),
        (ConnectionResetError(), True),
        (socket.gaierror(socket.EAI_AGAIN, "later"), True),
        (socket.gaierror(socket.EAI_NONAME, "never"), False),
        (FileNotFoundError(), False),
        (PermissionError(), False),
        (KeyError("id"), False),
    ],
    ids=repr,
)
def test_which_errors_are_transient(error: Exception, expected: bool) -> None:
    assert is_transient(error) is expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "30"}, 30),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": formatdate(NOW + 90, usegmt=True)}, 90),
        ({"Retry-After": formatdate(NOW - 90, usegmt=True)}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon", "X-RateLimit-Reset": "12"}, 12),
        ({"X-Rate-Limit-Reset": str(int(NOW) + 42), "X-Rate-Limit-Remaining": "0"}, 42),
        ({"X-RateLimit-Reset": str(int(NOW + 42) * 1000)}, 42),
        ({"RateLimit-Reset": "9", "RateLimit-Remaining": "0"}, 9),
        ({"RateLimit-Reset": "9", "RateLimit-Remaining": "3"}, None),
        ({"Retry-After": "1", "X-RateLimit-Reset": "99"}, 1),
    ],
)
def test_how_long_a_server_wants_us_to_wait(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW) == seconds


def test_a_retry_travels_to_the_workers() -> None:
    retry = Retry(retries=2)
    restored: Retry = pickle.loads(pickle.dumps(retry))
    assert restored == retry
    answer: Callable[[], int] = lambda: 1  # noqa: E731
    assert restored.call(answer) == 1


def test_moments_are_held_against_the_clock_of_the_server() -> None:
    there = NOW - 7200
    date = {"Date": formatdate(there, usegmt=True)}
    assert retry_after({**date, "Retry-After": formatdate(there + 30, usegmt=True)}, now=NOW) == 30
    assert retry_after({**date, "X-RateLimit-Reset": str(int(there) + 40)}, now=NOW) == 40
    assert retry_after({"Date": "yesterday", "X-RateLimit-Reset": str(int(NOW) + 40)}, now=NOW) == 40


def test_a_403_that_says_how_long_to_wait_is_transient() -> None:
    assert is_transient(http(403, {"Retry-After": "30"}))
    assert not is_transient(http(403))
