"""Requests that fail are tried again: which failures, how often, how long, and what the server says about it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import UTC
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tailpipe.frozen import frozen

if TYPE_CHECKING:
    from tailpipe.plugin.limits import RequestLimit

__all__ = ["Retry", "is_transient", "retry_after"]

T = TypeVar("T")

_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_NETWORK = ("SSLEOFError", "SSLZeroReturnError", "IncompleteRead", "RemoteDisconnected", "BadStatusLine")
_REMAINING = ("x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining")
_RESETS = ("x-ratelimit-reset", "x-rate-limit-reset", "ratelimit-reset")
_EPOCH, _EPOCH_MS = 1_000_000_000, 1_000_000_000_000
"""From these numbers on, a reset header holds a moment, in seconds or in milliseconds, and no span."""


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed a little later: no connection, no answer, or a busy server.

    The status is taken from `error.code`, `error.status` or `error.response`, as urllib, httpx and others have it.
    """
    status = _status(error)
    if status == 403:  # some services say so, not 429, when a limit is reached
        headers = _plain_headers(_headers(error))
        return "retry-after" in headers or _first(headers, _REMAINING) == "0"
    if status is not None:
        return status in _STATUSES
    reason = getattr(error, "reason", None)  # urllib wraps what the socket says
    if isinstance(reason, Exception):
        return is_transient(reason)
    names = {kind.__name__ for kind in type(error).__mro__}
    if "gaierror" in names:
        import socket

        return bool(error.args) and error.args[0] == socket.EAI_AGAIN
    return isinstance(error, ConnectionError | TimeoutError) or not names.isdisjoint(_NETWORK)


def retry_after(headers: Mapping[str, Any], *, now: float) -> float | None:
    """How many seconds the server wants us to wait, by `Retry-After` or a reset header; None if it does not say.

    `Retry-After` is a number of seconds or an HTTP date. A reset header counts if no request remains; it holds a
    number of seconds, or a moment as seconds or milliseconds since 1970. `now` is seconds since 1970; moments are
    held against the server's own clock if it sends a `Date`, because ours may differ.
    """
    known = _plain_headers(headers)
    if "date" in known:
        now += _until_date(known["date"], now) or 0.0
    if (text := known.get("retry-after")) is not None:
        seconds = _number(text)
        seconds = _until_date(text, now) if seconds is None else seconds
        if seconds is not None:
            return max(0.0, seconds)
    reset = _number(_first(known, _RESETS))
    if reset is None or _first(known, _REMAINING) not in (None, "0"):
        return None
    if reset >= _EPOCH_MS:
        reset /= 1000
    return max(0.0, reset - now if reset >= _EPOCH else reset)


def _between(low: float, high: float) -> float:
    # Not `random.uniform` itself, which would be pickled with its state, so that all tasks wait equally long.
    return random.uniform(low, high)  # noqa: S311 - chance, not secrecy


@frozen
class Retry:
    """Calls a request again while it fails transiently, with longer and longer pauses.

    Before attempt n + 1 it waits a random time between a quarter and all of `first_pause * 2**n` seconds, at most
    `longest_pause`. If the server says how long to wait, that is a lower bound, and the attempt does not count. After
    `retries`, or if the next pause would exceed `time_limit` seconds in all, the error is raised.
    """

    retries: int = 5
    first_pause: float = 0.5
    longest_pause: float = 30.0
    time_limit: float = 600.0
    sleep: Callable[[float], object] = field(default=time.sleep, compare=False)
    clock: Callable[[], float] = field(default=time.time, compare=False)
    """Seconds since 1970."""
    chance: Callable[[float, float], float] = field(default=_between, compare=False)

    def call(
        self,
        request: Callable[[], T],
        *,
        retried: Callable[[Exception], bool] = is_transient,
        recover: Callable[[Exception], bool] | None = None,
        limit: RequestLimit | None = None,
    ) -> T:
        """What the request returns; `retried` says which errors are worth another attempt.

        `recover` may mend the cause of an error, such as an expired token, and says whether it did: then the request
        is made again at once, which happens one time. With a `limit`, each attempt waits for its turn.
        """
        begun, attempts, counted, is_mended = self.clock(), 0, 0, False
        while True:
            attempts += 1
            try:
                if limit is None:
                    return request()
                with limit.request():
                    return request()
            except Exception as error:
                if recover is not None and not is_mended and recover(error):
                    is_mended, attempts = True, attempts - 1
                    continue
                if not retried(error):
                    raise
                wait = retry_after(_headers(error), now=self.clock())
                counted += wait is None or self.time_limit == math.inf
                pause = max(self._pause(attempts), wait or 0.0)
                if counted > self.retries or self.clock() - begun + pause > self.time_limit:
                    if attempts > 1:
                        error.add_note(f"gave up after {attempts} attempts")
                    raise
                self.sleep(pause)

    def _pause(self, attempt: int) -> float:
        longest = min(self.longest_pause, self.first_pause * 2.0 ** min(attempt, 60))
        return self.chance(longest / 4, longest)


def _status(error: Exception) -> int | None:
    for owner in (error, getattr(error, "response", None)):
        for name in ("code", "status", "status_code"):
            if isinstance(found := getattr(owner, name, None), int):
                return found
    return None


def _headers(error: Exception) -> Mapping[str, Any]:
    for owner in (error, getattr(error, "response", None)):
        found: Any = getattr(owner, "headers", None)
        if hasattr(found, "items"):
            return cast("Mapping[str, Any]", found)
    return {}


def _plain_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    return {str(name).lower(): str(value).strip() for name, value in headers.items()}


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((headers[name] for name in names if name in headers), None)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until_date(text: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # late, because most runs need none

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
