"""A bucket of Google Cloud Storage: pages of its listing by the XML API, bytes of objects by obstore."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tailpipe.plugins.buckets.bucket import Page
from tailpipe.plugins.buckets.rest import Answer, Rest, encoded_query, imported
from tailpipe.plugins.buckets.web import RETRIES, WebBucket, client_options
from tailpipe.plugins.buckets.xml import read_listing
from tailpipe.plugins.gcp.connection import Gcp

if TYPE_CHECKING:
    from obstore.store import GCSStore

_AS_STORED = {"accept-encoding": "gzip"}
"""Without it the service sends objects that it knows to be compressed, such as by `gcloud storage cp -Z`, decompressed:
they have another length then than in the listing."""


def make_store(connection: Gcp, name: str, *, is_write: bool = False, **options: Any) -> GCSStore:
    """A bucket as a store of obstore."""
    made: GCSStore = imported("obstore.store", "gcp").GCSStore(
        name,
        base_url=connection.storage_url,
        credential_provider=connection.login(is_write=is_write).credential,
        client_options=client_options(connection.storage_url, {**_AS_STORED, **_billed(connection)}),
        **options,
    )
    return made


class CloudStorage(WebBucket):
    """A bucket of Google Cloud Storage."""

    def __init__(self, connection: Gcp, name: str) -> None:
        retries, owner = connection.max_retries, connection.address
        super().__init__(name, f"gs://{name}/", rest=Rest("gcp"), retries=retries, owner=owner)
        self.connection = connection

    @property
    def identity(self) -> str:
        """The bucket, and the server that has it."""
        return f"{self.connection.storage_url} {self.address}"

    def make_store(self) -> GCSStore:
        """The bucket as a store of obstore."""
        return make_store(self.connection, self.name, retry_config=RETRIES)

    def log_in(self) -> None:
        """See to it that there is a token."""
        self.connection.login().token()

    def log_in_again(self) -> None:
        """Forget the token."""
        self.connection.login().renew()

    def send(self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Answer:
        """Make a request of the XML API."""
        token, _ = self.connection.login().token()
        own = {"Authorization": f"Bearer {token}", **_AS_STORED, **_billed(self.connection)}
        place = f"{self.connection.storage_url}/{self.name}" + (f"/{path}" if path else "")
        return self.rest.send(method, f"{place}?{encoded_query(query)}" if query else place, {**own, **headers})

    def list_query(self, prefix: str, *, is_deep: bool, after: str, token: str | None) -> dict[str, str]:
        """What a request for a page says."""
        query = {"list-type": "2", "max-keys": "1000", "encoding-type": "url", "prefix": prefix}
        query |= {} if is_deep else {"delimiter": "/"}
        query |= {"start-after": after} if after else {}
        return query | ({"continuation-token": token} if token else {})

    def read_page(self, body: bytes) -> Page:
        """The page of an answer."""
        return read_listing(body)


def _billed(connection: Gcp) -> dict[str, str]:
    return {"x-goog-user-project": connection.quota_project} if connection.quota_project else {}


@lru_cache(maxsize=16)
def bucket_of(connection: Gcp, name: str) -> CloudStorage:
    """The bucket; the same one each time, in a process, so that its connections are used again."""
    return CloudStorage(connection, name)
