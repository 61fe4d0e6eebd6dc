"""Tokens that log in to a service: kept until shortly before they expire, renewed by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tailpipe.plugin import TailpipeError

T = TypeVar("T")
_EARLY = timedelta(minutes=4)
Token = tuple[str, datetime]
"""A token, and when it expires."""


class Login:
    """The token of a connection; `fetch` requests a new one, and raises a message if it gets none."""

    def __init__(self, fetch: Callable[[], Token]) -> None:
        self._fetch = fetch
        self._held: Token | None = None
        self._lock = threading.Lock()

    @classmethod
    def by(
        cls, make: Callable[[], T], token_of: Callable[[T], Token], explain: Callable[[Exception], Exception]
    ) -> Login:
        """Tokens from the credential of a library; after a failure, which `explain` explains, it is made again."""
        held: list[T] = []

        def fetch() -> Token:
            try:
                if not held:
                    held.append(make())
                return token_of(held[0])
            except Exception as error:
                held.clear()
                if isinstance(error, TailpipeError):  # the library is not installed
                    raise
                raise explain(error) from None

        return cls(fetch)

    def token(self) -> Token:
        """A token that is good for some minutes."""
        with self._lock:
            if self._held is None or self._held[1] - datetime.now(UTC) < _EARLY:
                self._held = self._fetch()
            return self._held

    def renew(self) -> None:
        """Forget the token: the service has refused it."""
        with self._lock:
            self._held = None

    def credential(self) -> dict[str, object]:
        """What obstore calls for credentials."""
        token, expires = self.token()
        return {"token": token, "expires_at": expires}
