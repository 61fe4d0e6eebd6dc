"""List keys of a bucket: page by page, several prefixes at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote_plus
from xml.etree import ElementTree

from tailpipe.plugins.aws.connection import Aws, imported
from tailpipe.plugins.aws.faults import request, told
from tailpipe.plugins.aws.s3_walk import Request, Walk

__all__ = ["Key", "Lister"]

_REQUESTS = 24
"""So many pages are asked for at the same time."""
_ARCHIVED = ("GLACIER", "DEEP_ARCHIVE")


@dataclass(frozen=True)
class Key:
    """An object as a listing tells it; `archived` is its class of storage if it cannot be read from there."""

    name: str
    size: int
    etag: str
    modified: datetime
    archived: str = ""


@dataclass(frozen=True)
class Page:
    """Some keys and folders below a prefix, and where the next page begins."""

    keys: tuple[Key, ...]
    folders: tuple[str, ...]
    next: str | None


@dataclass(frozen=True)
class Lister:
    """Lists a bucket through a connection; `base` stands in front of all paths of the walk."""

    connection: Aws
    bucket: str
    region: str | None
    base: str
    request_payer: bool

    def keys(self, walk: Walk) -> Iterator[Key]:
        """The keys on a walk. No more pages are held than are asked for at a time."""
        waiting: deque[tuple[Request, str | None]] = deque((one, None) for one in walk.requests(walk.begin()))
        running: dict[Future[Page], Request] = {}
        pool = ThreadPoolExecutor(_REQUESTS, "tailpipe-list")
        try:
            while waiting or running:
                while waiting and len(running) < _REQUESTS:
                    listing, token = waiting.pop()
                    running[pool.submit(self.page, listing.prefix, listing.is_deep, token)] = listing
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    listing, page = running.pop(future), future.result()
                    yield from page.keys
                    for folder in page.folders:
                        name = folder[len(self.base) + len(listing.spot.path) : -1]
                        spot = walk.enter(listing.spot, name)
                        waiting += [(one, None) for one in walk.requests(spot)] if spot.alive else []
                    if page.next is not None:
                        waiting.append((listing, page.next))
        finally:
            pool.shutdown(cancel_futures=True)

    def page(self, prefix: str, is_deep: bool, token: str | None) -> Page:
        """One page; credentials that have expired are looked for anew."""
        asked: dict[str, Any] = {"Bucket": self.bucket, "Prefix": self.base + prefix, "EncodingType": "url"}
        asked |= {} if is_deep else {"Delimiter": "/"}
        asked |= {"ContinuationToken": token} if token else {}
        asked |= {"RequestPayer": "requester"} if self.request_payer else {}
        faults = imported("botocore.exceptions")
        try:
            return request(lambda: self._ask(asked), self.connection.renew)
        except (faults.ClientError, faults.BotoCoreError) as error:
            raise told(error, self.connection, f'list bucket "{self.bucket}"') from None

    def _ask(self, asked: dict[str, Any]) -> Page:
        client = self.connection.client("s3", self.region)
        client.meta.events.register("before-parse.s3.ListObjectsV2", _read_page, unique_id="tailpipe")
        page: Page = client.list_objects_v2(OptionalObjectAttributes=["RestoreStatus"], **asked)["Page"]
        return page


def _read_page(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object) -> None:
    """Read the answer in botocore's stead, which takes ten times as long for it."""
    if response_dict["status_code"] >= 300:
        return
    root = ElementTree.fromstring(response_dict["body"])  # noqa: S314 - expat limits what entities expand to
    start = len(root.tag) - len(root.tag.rpartition("}")[2])
    facts = {child.tag[start:]: child.text or "" for child in root if len(child) == 0}
    decode = unquote_plus if facts.get("EncodingType") == "url" else str
    keys, folders = [], []
    for child in root:
        match child.tag[start:]:
            case "Contents":
                keys.append(_key({one.tag[start:]: one for one in child}, decode))
            case "CommonPrefixes":
                folders.append(decode(child[0].text or ""))
    token = facts.get("NextContinuationToken") if facts.get("IsTruncated") == "true" else None
    customized_response_dict["Page"] = Page(tuple(keys), tuple(folders), token)
    response_dict["body"] = b"<ListBucketResult/>"


def _key(facts: dict[str, ElementTree.Element], decode: Callable[[str], str]) -> Key:
    kind = facts["StorageClass"].text or "" if "StorageClass" in facts else ""
    is_restored = "RestoreStatus" in facts and any(
        one.tag.endswith("RestoreExpiryDate") for one in facts["RestoreStatus"]
    )
    return Key(
        name=decode(facts["Key"].text or ""),
        size=int(facts["Size"].text or 0),
        etag=(facts["ETag"].text or "").strip('"') if "ETag" in facts else "",
        modified=datetime.fromisoformat(facts["LastModified"].text or ""),
        archived=kind if kind in _ARCHIVED and not is_restored else "",
    )
