"""Requests to a service: logged in, within its limits, repeated when that helps, and errors that say what to do."""

from __future__ import annotations

import dataclasses
import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import TypeVar

from tailpipe.plugin import RequestLimit, Retry, TailpipeError, is_transient, retry_after
from tailpipe.plugins.http.auth import Google, Header, OAuth2
from tailpipe.plugins.http.connection import HttpConnection, RateLimit
from tailpipe.plugins.http.messages import Answer, RefusedError, Request, excerpt, origin_of, shown
from tailpipe.plugins.http.tokens import renewed_token, token_of
from tailpipe.plugins.http.transport import Transport

T = TypeVar("T")

RETRY = Retry()
"""How requests are repeated; the connection says how often and how long."""
_LOG = logging.getLogger(__name__)
_SKEW = 30.0
"""Clocks that differ by less are taken as equal."""
_LONG_PAUSE = 60.0


class Client:
    """Sends the requests of one artifact. `needs` says what the service must allow, for messages."""

    def __init__(self, connection: HttpConnection, needs: str = "") -> None:
        self._connection = connection.resolved()
        self._auth = self._connection.auth
        self._needs = needs
        self._transport = Transport(self._connection)
        self._skew = 0.0
        self._reported_skew = 0.0
        self._used = ""
        wait = self._connection.max_wait_seconds
        self._retry = dataclasses.replace(RETRY, retries=self._connection.max_retries, time_limit=wait)
        self._rates = self._connection.rate_limit or RateLimit()
        scheme, host, port = origin_of(self._connection.base_url)
        self._limit = RequestLimit(
            f"{connection.address} at {scheme}://{host}:{port}",
            parallel=self._rates.parallel,
            per_second=self._rates.per_second,
            time_limit=wait,
            sleep=RETRY.sleep,
            clock=RETRY.clock,
        )

    def close(self) -> None:
        """Close the sockets."""
        self._transport.close()

    def now(self) -> float:
        """Seconds since 1970, by the clock of the service once it has refused the time of ours."""
        return self._retry.clock() + self._skew

    def token(self) -> str:
        """The token that is given out for the way to log in."""
        assert isinstance(self._auth, OAuth2 | Google)  # noqa: S101 - no other asks for one
        self._used = token_of(self._auth, self._token_answer, self.now)
        return self._used

    def send(self, request: Request, parse: Callable[[Answer], T]) -> T:
        """What `parse` makes of the answer; a body that it finds cut is requested again."""

        def attempt() -> T:
            return parse(self._answer(request, self._signed))

        try:
            return self._retry.call(attempt, retried=_is_retried, recover=self._recover, limit=self._limit)
        except RefusedError as error:
            raise self._refusal(request, error) from None
        except (OSError, ValueError, HTTPException) as error:
            raise self._unreachable(request.url, error) from None

    def _signed(self, request: Request) -> Request:
        return request if self._auth is None else self._auth.signed(request, self)

    def _answer(self, request: Request, sign: Callable[[Request], Request]) -> Answer:
        answer = self._transport.exchange(request, sign)
        _LOG.debug("%s %s: %d, %d bytes", request.method, shown(request.url), answer.status, len(answer.body))
        headers = self._standard(answer)
        self._reported_skew = self._skew_of(headers)
        if answer.status == 429 or headers.get("x-ratelimit-remaining") == "0":
            self._hold(headers)
        if not 200 <= answer.status < 300:
            raise RefusedError(answer, headers)
        return answer

    def _token_answer(self, make: Callable[[], Request]) -> Answer:
        """The answer to a request for a token, which needs no token and has no part in the limits."""
        request = make()
        try:
            return self._retry.call(lambda: self._answer(make(), lambda one: one), recover=self._correct_clock)
        except RefusedError as error:
            reported = f"{error.code} {error.answer.reason}".strip()
            hint = f"check the client and the scope of {self._connection.address}"
            scope = self._auth.scope_shown if self._auth else ""
            hint += f": {scope}" if scope else ""
            message = f"{shown(request.url)} gives {self._connection.address} no token ({reported}): "
            raise TailpipeError(message + excerpt(error.answer.body), hint=hint) from None
        except OSError as error:
            raise self._unreachable(request.url, error) from None

    def _standard(self, answer: Answer) -> dict[str, str]:
        """The headers, with those about limits under the names that everybody knows."""
        headers = {name.lower(): value.strip() for name, value in answer.headers.items()}
        for ours, theirs in (("remaining", self._rates.remaining), ("reset", self._rates.reset)):
            if (value := headers.get(theirs.lower())) is not None:
                headers[f"x-ratelimit-{ours}"] = value
        return headers

    def _hold(self, headers: Mapping[str, str]) -> None:
        """Let all tasks on this host wait as long as the service says, not only this one."""
        seconds = retry_after(headers, now=self._retry.clock())
        if seconds:
            level = logging.WARNING if seconds >= _LONG_PAUSE else logging.INFO
            _LOG.log(level, "%s wants a pause of %d seconds", shown(self._connection.base_url), seconds)
            self._limit.hold(seconds)

    # What to do about a refusal

    def _recover(self, error: Exception) -> bool:
        """Renew a token that was refused, or believe the clock of the service."""
        if isinstance(error, RefusedError) and error.code in (401, 403) and not is_transient(error):
            if isinstance(self._auth, OAuth2 | Google):
                renewed_token(self._auth, self._used)
                self._correct_clock(error)
                return True
            return not isinstance(self._auth, Header) and self._correct_clock(error)
        return False

    def _correct_clock(self, error: Exception) -> bool:
        """Take the time of the service for ours, if a refusal may come from the difference; whether it did."""
        if not isinstance(error, RefusedError) or error.code not in (400, 401, 403):
            return False
        if abs(self._reported_skew - self._skew) < _SKEW:
            return False
        self._skew = self._reported_skew
        return True

    def _skew_of(self, headers: Mapping[str, str]) -> float:
        try:
            return parsedate_to_datetime(headers["date"]).timestamp() - self._retry.clock()
        except (KeyError, ValueError, OverflowError, TypeError):
            return 0.0

    # Messages

    def _refusal(self, request: Request, error: RefusedError) -> TailpipeError:
        address, code = self._connection.address, error.code
        reported = f"{code} {error.answer.reason}".strip()
        notes = "; ".join(getattr(error, "__notes__", ()))
        body = excerpt(error.answer.body)
        end = (f": {body}" if body else "") + (f" ({notes})" if notes else "")
        if code in (401, 403):
            if self._auth is None:
                hint = f'add auth "…" {{ … }} to {address}'
            else:
                hint = f"check the credentials of {address}, and what they may read"
                scope = self._auth.scope_shown or self._needs
                hint += f": {scope}" if scope else ""
            return TailpipeError(f"{shown(request.url)} refuses {address} ({reported}){end}", hint=hint)
        hints = {404: "check base_url and path", 429: "lower requests of its rate_limit, or raise max_wait"}
        return TailpipeError(f"{shown(request.url)} answered {reported}{end}", hint=hints.get(code, ""))

    def _unreachable(self, url: str, error: Exception) -> TailpipeError:
        notes = "; ".join(getattr(error, "__notes__", ()))
        end = f" ({notes})" if notes else ""
        place = shown(url)
        if isinstance(error, ssl.SSLCertVerificationError):
            hint = "for a private certificate authority, set ca_file"
            return TailpipeError(f"{place}: the certificate is not trusted: {error.verify_message}", hint=hint)
        if isinstance(error, socket.gaierror):
            return TailpipeError(f"{place}: unknown host{end}", hint="check base_url")
        if isinstance(error, TimeoutError):
            hint = f"raise timeout of {self._connection.address}"
            return TailpipeError(f"{place}: no answer within {self._connection.timeout}{end}", hint=hint)
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return TailpipeError(f"{place}: {excerpt(' '.join(why.split()).encode())}{end}")


def _is_retried(error: Exception) -> bool:
    return not isinstance(error, ssl.SSLCertVerificationError) and is_transient(error)
