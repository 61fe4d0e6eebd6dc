"""Requests of our own to a service for objects: pages of a listing, and objects whose names obstore would change.

A redirect is never followed, so what logs in goes to the service alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from tailpipe.plugin import Retry, TailpipeError
from tailpipe.plugin.object_faults import Fault, fault_of
from tailpipe.plugins.buckets.xml import parse_xml, without_namespace

if TYPE_CHECKING:
    from types import ModuleType

T = TypeVar("T")

MAX_BODY = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
_TIMEOUTS = (10.0, 60.0)
_ERROR_BYTES = 8 * 1024
_PATIENCE = 900.0
"""A whole body may take so many seconds: a server that drips never exceeds the limit of one read."""


def imported(name: str, extra: str) -> ModuleType:
    """A module of an extra, or a message that says how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise TailpipeError(f"{package} is not installed", hint=f"run: pip install 'tailpipe[{extra}]'") from error


class RestError(Exception):
    """An answer that is none of the good ones, or none at all."""

    def __init__(self, fault: Fault, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(fault.code or fault.status or fault.kind)
        self.fault = fault
        self.headers = headers or {}
        """For `Retry`, which heeds `Retry-After`."""


@dataclass(frozen=True)
class Answer:
    """A good answer."""

    headers: Mapping[str, str]
    body: bytes


class Rest:
    """Sends requests; several threads may use it. `extra` names the packages that bring what it needs."""

    def __init__(self, extra: str) -> None:
        self._extra = extra
        self._making = threading.Lock()

    def send(self, method: str, url: str, headers: Mapping[str, str], *, most: int = MAX_BODY) -> Answer:
        """The answer of a status 2xx; anything else raises `RestError`. A body has `most` bytes."""
        requests = self._requests
        cut = imported("urllib3.exceptions", self._extra).HTTPError
        try:
            with self._session.request(
                method,
                url,
                headers={"User-Agent": "tailpipe", "Accept-Encoding": "identity", **headers},
                auth=lambda prepared: prepared,  # otherwise requests would look into ~/.netrc
                allow_redirects=False,
                stream=True,
                timeout=_TIMEOUTS,
            ) as response:
                body = _body(response, most if response.status_code < 300 else _ERROR_BYTES)
                if response.status_code >= 300:
                    raise RestError(_fault(response.status_code, dict(response.headers), body), response.headers)
                return Answer(response.headers, body)
        except requests.exceptions.RequestException as error:
            raise RestError(_unreached(url, error)) from None
        except cut:
            raise RestError(Fault(kind="Interrupted", host=urlsplit(url).hostname or "")) from None

    @cached_property
    def _requests(self) -> Any:
        return imported("requests", self._extra)

    @cached_property
    def _session(self) -> Any:
        with self._making:
            session = self._requests.Session()
            adapter = self._requests.adapters.HTTPAdapter(pool_maxsize=32)
            session.mount("https://", adapter)
            session.mount("http://", adapter)
            session.cookies.set_policy(import_module("http.cookiejar").DefaultCookiePolicy(allowed_domains=[]))
            return session


def encoded_query(values: Mapping[str, str]) -> str:
    """The part of an address behind `?`."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in values.items())


def as_fault(error: Exception) -> Fault:
    """What went wrong, whichever library reports it."""
    if isinstance(error, RestError):
        return error.fault
    if isinstance(error, ConnectionError):
        return Fault(kind="Interrupted")
    return fault_of(error)


def repeat(call: Callable[[], T], *, retries: int, renew: Callable[[], object]) -> T:
    """Make a request again while the service is busy; a login that was refused is renewed once."""

    def renewed(error: Exception) -> bool:
        is_old = not isinstance(error, TailpipeError) and as_fault(error).status == 401
        if is_old:
            renew()
        return is_old

    def is_retried(error: Exception) -> bool:
        return not isinstance(error, TailpipeError) and as_fault(error).is_transient

    retry = Retry(retries=retries, first_pause=0.1, longest_pause=20.0, time_limit=1800.0)
    return retry.call(call, retried=is_retried, recover=renewed)


def _body(response: Any, most: int) -> bytes:
    """What came, as it was sent: the bytes of an object stay compressed if they are."""
    parts, size, deadline = [], 0, time.monotonic() + _PATIENCE
    while chunk := response.raw.read1(_CHUNK, decode_content=False):
        if time.monotonic() > deadline:
            raise RestError(Fault(kind="Timeout", host=urlsplit(response.url).hostname or ""))
        parts.append(chunk)
        size += len(chunk)
        if size > most:
            if response.status_code < 300:
                raise RestError(Fault(status=response.status_code, code="AnswerTooLarge"))
            break
    return b"".join(parts)[:most]


def _fault(status: int, headers: Mapping[str, str], body: bytes) -> Fault:
    if status in (301, 302, 303, 307, 308):
        host = urlsplit(next((value for name, value in headers.items() if name.lower() == "location"), "")).hostname
        return Fault(status=status, code="Redirected", text=f"it redirects to {host or 'nowhere'}")
    reported = {"Code": next((value for name, value in headers.items() if name.lower() == "x-ms-error-code"), "")}
    with suppress(ValueError):
        reported |= {without_namespace(one.tag): one.text or "" for one in parse_xml(body)}
    return Fault(status=status, code=reported["Code"][:80], text=reported.get("Message", "").partition("\n")[0])


def _unreached(url: str, error: Exception) -> Fault:
    kinds = {"ConnectTimeout": "Timeout", "ReadTimeout": "Timeout", "SSLError": "Connect", "ConnectionError": "Connect"}
    kind = kinds.get(type(error).__name__, "Interrupted")
    return Fault(kind=kind, host=urlsplit(url).hostname or "", is_unresolved="NameResolution" in str(error))
