"""A container of Azure Blob Storage: pages of its listing by requests of our own, bytes of blobs by obstore.

Azure writes its logs as append blobs that grow during their hour. Their first bytes never change, so one that has
grown since it was listed is read up to the length that was listed; the next run takes it again, with its new etag.
"""

from __future__ import annotations

import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

from tailpipe.plugin.object_faults import Fault
from tailpipe.plugins.azure.connection import Azure
from tailpipe.plugins.azure.signing import sas_query, shared_key
from tailpipe.plugins.buckets.bucket import Key, Page
from tailpipe.plugins.buckets.rest import Answer, Rest, RestError, as_fault, encoded_query, imported
from tailpipe.plugins.buckets.web import RETRIES, WebBucket, client_options
from tailpipe.plugins.buckets.xml import parse_xml

if TYPE_CHECKING:
    from obstore.store import AzureStore

_API = "2021-12-02"
_CREATED = "~"
"""Stands between the etag of an append blob and the time of its creation, in what we call its etag."""


def make_store(connection: Azure, account: str, name: str, endpoint: str | None = None, **options: Any) -> AzureStore:
    """A container as a store of obstore."""
    endpoint = endpoint or connection.blob_url(account)
    if connection.account_key is not None:
        options["account_key"] = connection.account_key.reveal()
    elif connection.sas_token is not None:
        options["sas_key"] = connection.sas_token.reveal().strip().lstrip("?")
    else:
        options["credential_provider"] = connection.login().credential
    made: AzureStore = imported("obstore.store", "azure").AzureStore(
        name, account_name=account, endpoint=endpoint, client_options=client_options(endpoint), **options
    )
    return made


class Container(WebBucket):
    """A container of a storage account."""

    can_seek = False

    def __init__(self, connection: Azure, account: str, name: str) -> None:
        self.url = connection.blob_url(account)
        retries, owner = connection.max_retries, connection.address
        super().__init__(name, f"{self.url}/{name}/", rest=Rest("azure"), retries=retries, owner=owner)
        self.connection = connection
        self.account = account

    def make_store(self) -> AzureStore:
        """The container as a store of obstore."""
        return make_store(self.connection, self.account, self.name, retry_config=RETRIES)

    @property
    def _has_token(self) -> bool:
        return self.connection.account_key is None and self.connection.sas_token is None

    def log_in(self) -> None:
        """See to it that there is a token, where one is needed."""
        if self._has_token:
            self.connection.login().token()

    def log_in_again(self) -> None:
        """Forget the token."""
        if self._has_token:
            self.connection.login().renew()

    def send(self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Answer:
        """Make a request that is signed, or carries a token."""
        headers = {**headers, "x-ms-version": _API, "x-ms-date": email.utils.formatdate(usegmt=True)}
        url = f"{self.url}/{self.name}" + (f"/{path}" if path else "")
        sent = dict(query)
        if (key := self.connection.account_key) is not None:
            place = urlsplit(url).path
            headers["Authorization"] = shared_key(self.account, key.reveal(), method, place, query, headers)
        elif (sas := self.connection.sas_token) is not None:
            sent |= sas_query(sas.reveal())
        else:
            headers["Authorization"] = f"Bearer {self.connection.login().token()[0]}"
        return self.rest.send(method, f"{url}?{encoded_query(sent)}" if sent else url, headers)

    def list_query(self, prefix: str, *, is_deep: bool, after: str, token: str | None) -> dict[str, str]:  # noqa: ARG002
        """What a request for a page says; a listing cannot begin after a name."""
        query = {"restype": "container", "comp": "list", "maxresults": "5000"}
        query |= {"prefix": prefix} if prefix else {}
        query |= {} if is_deep else {"delimiter": "/"}
        return query | ({"marker": token} if token else {})

    def read_page(self, body: bytes) -> Page:
        """The page of an answer."""
        root = parse_xml(body)
        if root.tag != "EnumerationResults":
            raise ValueError(f"not a listing but <{root.tag[:40]}>")
        blobs = root.find("Blobs")
        found = [_key(one) for one in blobs if one.tag == "Blob"] if blobs is not None else []
        folders = [_name(one) for one in blobs if one.tag == "BlobPrefix"] if blobs is not None else []
        return Page(tuple(one for one in found if one is not None), tuple(folders), root.findtext("NextMarker") or None)

    def get(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """Some bytes of a blob; one that has only grown since it was listed still has them."""
        etag, _, created = (etag or "").partition(_CREATED)
        try:
            return super().get(key, etag or None, start, end)
        except Exception as error:
            if not created or as_fault(error).status != 412 or not self._has_grown(key, created, end):
                raise
        data = super().get(key, None, start, end)
        if not self._has_grown(key, created, end):  # replaced meanwhile: nobody knows what we have read
            raise RestError(Fault(status=412, code="ConditionNotMet"))
        return data

    def _has_grown(self, key: str, created: str, size: int) -> bool:
        """Whether a blob is the append blob of that time still, and as long at least."""
        headers = self.send("HEAD", quote(key, safe=""), {}, {}).headers
        facts = (headers.get("x-ms-blob-type"), _moment(headers.get("x-ms-creation-time", "")))
        return facts == ("AppendBlob", created) and int(headers.get("Content-Length", 0)) >= size


def _key(blob: ElementTree.Element) -> Key | None:
    """A blob; none for a directory of an account with a hierarchical namespace."""
    facts = {one.tag: one.text or "" for one in blob.find("Properties") or ()}
    if facts.get("ResourceType") == "directory":
        return None
    etag = facts.get("Etag", "").strip('"')
    if facts.get("BlobType") == "AppendBlob" and etag and facts.get("Creation-Time"):
        etag += _CREATED + _moment(facts["Creation-Time"])
    return Key(
        name=_name(blob),
        size=int(facts.get("Content-Length") or 0),
        etag=etag,
        modified=email.utils.parsedate_to_datetime(facts["Last-Modified"]).astimezone(UTC),
        archived="Archive" if facts.get("AccessTier") == "Archive" else "",
    )


def _name(element: ElementTree.Element) -> str:
    name = element.find("Name")
    if name is None:
        raise ValueError("a listing with a blob without a name")
    text = name.text or ""
    return unquote(text) if name.get("Encoded") == "true" else text


def _moment(date: str) -> str:
    """A date of HTTP in a form that is the same for listing and blob."""
    try:
        return datetime.strftime(email.utils.parsedate_to_datetime(date), "%Y%m%dT%H%M%S")
    except ValueError:
        return ""


@lru_cache(maxsize=16)
def bucket_of(connection: Azure, account: str, name: str) -> Container:
    """The container; the same one each time, in a process, so that its connections are used again."""
    return Container(connection, account, name)
