"""A bucket that is listed by requests of our own, and whose objects are fetched by obstore."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from tailpipe.plugin import ChangedError, TailpipeError
from tailpipe.plugin.object_faults import Fault, store_error
from tailpipe.plugins.buckets.bucket import Page, StoredBucket
from tailpipe.plugins.buckets.rest import Answer, Rest, as_fault, repeat

RETRIES = {"max_retries": 0, "retry_timeout": timedelta(seconds=120)}
"""obstore repeats no request: we do, and know when to log in again."""


def client_options(url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """How obstore talks to the server of an address."""
    return {
        # An address without TLS is one that the user has written so, such as an emulator of this machine.
        "allow_http": url.startswith("http:"),
        "connect_timeout": timedelta(seconds=10),
        "timeout": timedelta(seconds=120),
        "user_agent": "tailpipe",
        **({"default_headers": dict(headers)} if headers else {}),
    }


class WebBucket(StoredBucket):
    """What Google Cloud Storage and Azure have in common. `owner` names the connection, for messages."""

    def __init__(self, name: str, address: str, *, rest: Rest, retries: int, owner: str) -> None:
        super().__init__(name, address)
        self.rest = rest
        self._retries = retries
        self._owner = owner

    @abstractmethod
    def log_in(self) -> None:
        """See to it that there is a token, or raise why there is none."""

    @abstractmethod
    def log_in_again(self) -> None:
        """Forget a token that was refused."""

    @abstractmethod
    def send(self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Answer:
        """Make a request to the bucket, or to an object whose encoded name is the path."""

    @abstractmethod
    def list_query(self, prefix: str, *, is_deep: bool, after: str, token: str | None) -> dict[str, str]:
        """What a request for a page says behind the `?`."""

    @abstractmethod
    def read_page(self, body: bytes) -> Page:
        """The page of an answer; `ValueError` if it is none."""

    def page(self, prefix: str, *, is_deep: bool, after: str = "", token: str | None = None) -> Page:
        """One page of the listing."""
        query = self.list_query(prefix, is_deep=is_deep, after=after, token=token)
        place = self.address.rstrip("/")
        try:
            answer = repeat(lambda: self.send("GET", "", query, {}), retries=self._retries, renew=self._start_again)
            return self.read_page(answer.body)
        except TailpipeError:
            raise
        except ValueError as error:
            hint = f"check endpoint_url of {self._owner}"
            raise TailpipeError(f'cannot list "{place}": the answer is {error}', hint=hint) from None
        except Exception as error:  # noqa: BLE001 - as_fault knows the kinds of all libraries
            raise self._refused(as_fault(error), "list", "") from None

    def read(self, key: str, etag: str | None, start: int, end: int, *, is_patient: bool) -> bytes:
        """The bytes of a range."""
        retries = self._retries if is_patient else 0
        return repeat(lambda: self.get_all(key, etag, start, end), retries=retries, renew=self._start_again)

    def is_busy(self, error: Exception) -> bool:
        """Whether the same request may succeed a little later."""
        return not isinstance(error, TailpipeError) and as_fault(error).is_transient

    def error(self, key: str, error: Exception) -> TailpipeError:
        """Why an object could not be read."""
        if isinstance(error, TailpipeError):
            return error
        fault = as_fault(error)
        if fault.is_absent:
            return ChangedError(f'"{self.uri(key)}" was deleted after it was listed')
        if fault.status in (412, 416):
            return ChangedError(f'"{self.uri(key)}" was replaced after it was listed')
        return self._refused(fault, "read", key)

    def get(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """Some bytes of an object, with a token where one is needed."""
        self.log_in()
        return super().get(key, etag, start, end)

    def get_by_request(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """Some bytes of an object."""
        headers = {"If-Match": f'"{etag}"'} if etag else {}
        headers |= {"Range": f"bytes={start}-{end - 1}"} if end > start else {}
        return self.send("GET", quote(key, safe=""), {}, headers).body

    def _start_again(self) -> None:
        self.log_in_again()
        self.forget_store()

    def _refused(self, fault: Fault, action: str, key: str) -> TailpipeError:
        error = store_error(fault, self.address.rstrip("/"), action, key)
        if fault.status not in (401, 403):
            return error
        is_known = "permission" in (error.hint or "")
        hint = f"{error.hint}; they are those of {self._owner}" if is_known else f"correct the keys of {self._owner}"
        return TailpipeError(error.message, hint=hint)
