"""A bucket of S3: pages of its listing by boto3, bytes of objects by obstore."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from tailpipe.plugin import ChangedError, TailpipeError
from tailpipe.plugins.aws.buckets import make_store
from tailpipe.plugins.aws.connection import Aws, imported
from tailpipe.plugins.aws.faults import Answer, code_of, explained, is_busy, request
from tailpipe.plugins.buckets.bucket import Key, Page, StoredBucket
from tailpipe.plugins.buckets.xml import ARCHIVED, read_listing

if TYPE_CHECKING:
    from obstore.store import S3Store

_REPORTED = {name: re.compile(rf"<{name}>\s*([^<>]+?)\s*</{name}>") for name in ("Code", "Message", "Region")}
_REDIRECTED = "redirect without LOCATION"
"""What obstore says if the bucket is in another region; it keeps to itself in which."""
_STATUS = re.compile(r"\b([345]\d\d) [A-Z]")


class S3(StoredBucket):
    """A bucket of Amazon S3, or of another server that speaks its protocol."""

    def __init__(self, connection: Aws, name: str, region: str | None, request_payer: bool) -> None:
        super().__init__(name, f"s3://{name}/")
        self.connection = connection
        self.region = region
        self.request_payer = request_payer
        self.can_seek = not name.endswith("--x-s3")  # a directory bucket lists in any order

    @property
    def identity(self) -> str:
        """The bucket, and the server that has it."""
        return f"{self.connection.endpoint_url or ''} {self.address}"

    def page(self, prefix: str, *, is_deep: bool, after: str = "", token: str | None = None) -> Page:
        """One page; credentials that have expired are renewed."""
        query: dict[str, Any] = {"Bucket": self.name, "Prefix": prefix, "EncodingType": "url"}
        query |= {} if is_deep else {"Delimiter": "/"}
        query |= {"StartAfter": after} if after else {}
        query |= {"ContinuationToken": token} if token else {}
        query |= {"RequestPayer": "requester"} if self.request_payer else {}
        faults = imported("botocore.exceptions")
        try:
            return request(lambda: self._list(query), self.connection.renew)
        except (faults.ClientError, faults.BotoCoreError) as error:
            raise explained(error, self.connection, f'list bucket "{self.name}"') from None
        except ValueError as error:
            hint = "check endpoint_url of the connection"
            raise TailpipeError(f'cannot list bucket "{self.name}": the answer is {error}', hint=hint) from None

    def head(self, key: str) -> Key | None:
        """The object as a listing would show it; None if there is none."""
        query: dict[str, Any] = {"RequestPayer": "requester"} if self.request_payer else {}
        faults = imported("botocore.exceptions")

        def call() -> dict[str, Any]:
            client = self.connection.client("s3", self.region)
            return cast("dict[str, Any]", client.head_object(Bucket=self.name, Key=key, **query))

        try:
            found = request(call, self.connection.renew)
        except (faults.ClientError, faults.BotoCoreError) as error:
            if code_of(error) in ("NoSuchKey", "404", "NotFound"):
                return None
            raise explained(error, self.connection, f'look at "{self.uri(key)}"') from None
        stored = found.get("StorageClass", "")
        is_away = stored in ARCHIVED and 'ongoing-request="false"' not in found.get("Restore", "")
        etag = str(found.get("ETag", "")).strip('"')
        return Key(key, int(found["ContentLength"]), etag, found["LastModified"], stored if is_away else "")

    def read(self, key: str, etag: str | None, start: int, end: int, *, is_patient: bool) -> bytes:
        """The bytes of a range."""
        retries = self.connection.max_retries if is_patient else 0
        return request(lambda: self.get_all(key, etag, start, end), self._renew, retries=retries, fault=_fault)

    def is_busy(self, error: Exception) -> bool:
        """Whether the same request may succeed a little later."""
        return is_busy(_fault(error))

    def error(self, key: str, error: Exception) -> TailpipeError:
        """Why an object could not be read."""
        fault = _fault(error)
        uri, code = self.uri(key), code_of(fault)
        if code in ("NoSuchKey", "404"):
            return ChangedError(f'"{uri}" was deleted after it was listed')
        if code in ("PreconditionFailed", "412", "InvalidRange", "416"):
            return ChangedError(f'"{uri}" was replaced after it was listed')
        if code == "InvalidObjectState":
            return TailpipeError(f'"{uri}" is archived', hint="restore it, then collect again")
        return explained(fault, self.connection, f'read "{uri}"')

    def _list(self, query: dict[str, Any]) -> Page:
        client = self.connection.client("s3", self.region)
        client.meta.events.register("before-parse.s3.ListObjectsV2", _read_page, unique_id="tailpipe")
        page: Page = client.list_objects_v2(OptionalObjectAttributes=["RestoreStatus"], **query)["Page"]
        return page

    def make_store(self) -> S3Store:
        """The bucket as a store of obstore."""
        return make_store(self.connection, self.name, self.region, request_payer=self.request_payer)

    def get_by_request(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """By boto3, which takes a key as it is, while obstore takes it for a path that it may tidy up."""
        query: dict[str, Any] = {"IfMatch": f'"{etag}"'} if etag else {}
        query |= {"Range": f"bytes={start}-{end - 1}"} if end > start else {}
        query |= {"RequestPayer": "requester"} if self.request_payer else {}
        client = self.connection.client("s3", self.region)
        return bytes(client.get_object(Bucket=self.name, Key=key, **query)["Body"].read())

    def _renew(self) -> None:
        self.connection.renew()
        self.forget_store()


@lru_cache(maxsize=16)
def bucket_of(connection: Aws, name: str, region: str | None, request_payer: bool) -> S3:
    """The bucket; the same one each time, in a process, so that its connections are used again."""
    return S3(connection, name, region, request_payer)


def _read_page(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object) -> None:
    """Read the answer in botocore's stead, which takes ten times as long for it."""
    if response_dict["status_code"] < 300:
        customized_response_dict["Page"] = read_listing(response_dict["body"])
        response_dict["body"] = b"<ListBucketResult/>"


def _fault(error: Exception) -> Exception:
    """What went wrong, with the code of the service, whichever library reports it."""
    if isinstance(error, TailpipeError) or not type(error).__module__.startswith(("obstore", "builtins")):
        return error
    text = str(error)
    reported = {name: found[1] for name, pattern in _REPORTED.items() if (found := pattern.search(text))}
    code, status = reported.get("Code"), _STATUS.search(text)
    if status and is_busy(Answer(status[1])) and not (code and is_busy(Answer(code))):
        return Answer(status[1])
    if code:
        return Answer(code, reported.get("Message", ""), reported.get("Region", ""))
    if status or _REDIRECTED in text:
        return Answer(status[1] if status else "PermanentRedirect")
    return Answer("NoSuchKey") if isinstance(error, FileNotFoundError) else Answer("ConnectionError")
