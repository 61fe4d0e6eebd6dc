"""A small server that speaks what we use of Google Cloud Storage and Azure Blob Storage: list, get, head, ranges.

It checks who asks: bearer tokens it gave out, and signatures by the account's key, computed on its own.
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, quote
from xml.sax.saxutils import escape

from tests.bucket_server import Asked, BucketServer

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = base64.b64encode(b"the key of the account, for tests").decode()
SAS = "sv=2021-12-02&ss=b&srt=co&sp=rl&se=2099-01-01T00%3A00%3A00Z&sig=c2lnbmF0dXJl%3D"
_ETAGS = itertools.count(1)
_SIGNED = ["content-encoding", "content-language", "content-length", "content-md5", "content-type", "date"]
_SIGNED += ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"]


@dataclass
class Blob:
    """An object."""

    data: bytes
    kind: str = "BlockBlob"
    tier: str = "Hot"
    etag: str = ""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    modified: datetime = field(default_factory=lambda: datetime.now(UTC))
    encoding: str = ""

    def __post_init__(self) -> None:
        self.etag = f"0x{next(_ETAGS):012X}"

    def append(self, data: bytes) -> None:
        """What a writer of logs does."""
        self.data += data
        self.etag, self.modified = f"0x{next(_ETAGS):012X}", datetime.now(UTC)


@dataclass(frozen=True)
class Answer:
    """What is answered instead."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Cloud(BucketServer):
    """Buckets and containers by name, of both services."""

    def __init__(self) -> None:
        super().__init__()
        self.buckets: dict[str, dict[str, Blob]] = {}
        self.tokens = {"good-token"}
        self.fault: Callable[[Asked], Answer | None] = lambda _: None
        self.page_size = 1000
        self.verify: Callable[[str], bool] = lambda _: False
        """Whether a JWT that a service account has signed is right."""

    def put(self, bucket: str, name: str, data: bytes | str, **facts: Any) -> Blob:
        """Write an object."""
        blob = Blob(data.encode() if isinstance(data, str) else data, **facts)
        self.buckets.setdefault(bucket, {})[name] = blob
        return blob

    def handle(self, handler: BaseHTTPRequestHandler, asked: Asked, body: bytes) -> None:
        """Send what the services say."""
        answer = self.answer(asked, body)
        handler.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if asked.method != "HEAD":
            handler.wfile.write(answer.body)

    def answer(self, asked: Asked, body: bytes) -> Answer:
        """What the services say."""
        if (fault := self.fault(asked)) is not None:
            return fault
        if asked.path == "/token":
            return self._token(dict(parse_qsl(body.decode())))
        if asked.path.endswith(":generateAccessToken"):
            return self._act_as(asked)
        is_azure = asked.path.startswith(f"/{ACCOUNT}/")
        if (refusal := self._refusal(asked, is_azure)) is not None:
            return refusal
        bucket, _, name = asked.path.removeprefix(f"/{ACCOUNT}" if is_azure else "").lstrip("/").partition("/")
        if bucket not in self.buckets:
            return _error(404, "ContainerNotFound" if is_azure else "NoSuchBucket")
        if asked.is_list:
            return self._azure_page(bucket, asked.query) if is_azure else self._gcs_page(bucket, asked.query)
        if name not in self.buckets[bucket]:
            return _error(404, "BlobNotFound" if is_azure else "NoSuchKey")
        return _object(self.buckets[bucket][name], asked, is_azure)

    def _refusal(self, asked: Asked, is_azure: bool) -> Answer | None:
        given = asked.headers.get("authorization", "")
        if given.startswith("Bearer "):
            return None if given.removeprefix("Bearer ") in self.tokens else _error(401, "InvalidAuthenticationInfo")
        if not is_azure:
            return _error(401, "AuthenticationRequired")
        if "sig" in asked.query:
            right = dict(parse_qsl(SAS))
            return None if right.items() <= asked.query.items() else _error(403, "AuthenticationFailed")
        return None if given == _signature(asked) else _error(403, "AuthenticationFailed")

    def _token(self, form: dict[str, str]) -> Answer:
        if not self.verify(form.get("assertion", "")):
            return Answer(400, b'{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}', _JSON)
        self.tokens.add("from-service-account")
        return Answer(200, json.dumps({"access_token": "from-service-account", "expires_in": 3600}).encode(), _JSON)

    def _act_as(self, asked: Asked) -> Answer:
        if asked.headers.get("authorization") != "Bearer from-service-account":
            return Answer(403, b'{"error": {"code": 403, "status": "PERMISSION_DENIED"}}', _JSON)
        self.tokens = {"impersonated"}
        expires = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Answer(200, json.dumps({"accessToken": "impersonated", "expireTime": expires}).encode(), _JSON)

    def _listed(self, bucket: str, query: dict[str, str], after: str, size: int) -> tuple[list[str], list[str], str]:
        """Names and folders of a page in their order, and the last of them if there are more."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        names: list[str] = []
        folders: list[str] = []
        for name in sorted(self.buckets[bucket], key=str.encode):
            rest = name[len(prefix) :]
            folder = prefix + rest[: rest.index(delimiter) + 1] if delimiter and delimiter in rest else ""
            if not name.startswith(prefix) or (folder or name) <= after or folder in folders[-1:] != [""]:
                continue
            if len(names) + len(folders) == size:
                return names, folders, max([*names[-1:], *folders[-1:]])
            (folders if folder else names).append(folder or name)
        return names, folders, ""

    def _gcs_page(self, bucket: str, query: dict[str, str]) -> Answer:
        after = query.get("continuation-token") or query.get("start-after", "")
        size = min(self.page_size, int(query.get("max-keys", "1000")))
        names, folders, more = self._listed(bucket, query, after, size)
        assert query["encoding-type"] == "url"
        parts = ["<EncodingType>url</EncodingType>", f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"]
        parts += [f"<NextContinuationToken>{escape(more)}</NextContinuationToken>"] if more else []
        for name in names:
            blob = self.buckets[bucket][name]
            parts.append(
                f"<Contents><Key>{quote(name)}</Key><LastModified>{_iso(blob.modified)}</LastModified>"
                f'<ETag>"{blob.etag}"</ETag><Size>{len(blob.data)}</Size></Contents>'
            )
        parts += [f"<CommonPrefixes><Prefix>{quote(one)}</Prefix></CommonPrefixes>" for one in folders]
        text = f'<ListBucketResult xmlns="http://doc.s3.amazonaws.com/2006-03-01">{"".join(parts)}</ListBucketResult>'
        return Answer(200, f"<?xml version='1.0' encoding='UTF-8'?>{text}".encode(), _XML)

    def _azure_page(self, bucket: str, query: dict[str, str]) -> Answer:
        after = base64.b64decode(query.get("marker", "")).decode()
        names, folders, more = self._listed(bucket, query, after, min(self.page_size, int(query["maxresults"])))
        parts = []
        for name in names:
            blob = self.buckets[bucket][name]
            facts = {"Creation-Time": _http(blob.created), "Last-Modified": _http(blob.modified), "Etag": blob.etag}
            facts |= {"Content-Length": str(len(blob.data)), "BlobType": blob.kind, "AccessTier": blob.tier}
            inner = "".join(f"<{key}>{value}</{key}>" for key, value in facts.items())
            parts.append(f"<Blob>{_azure_name(name)}<Properties>{inner}</Properties></Blob>")
        parts += [f"<BlobPrefix>{_azure_name(one)}</BlobPrefix>" for one in folders]
        marker = base64.b64encode(more.encode()).decode()
        text = f"<EnumerationResults><Blobs>{''.join(parts)}</Blobs><NextMarker>{marker}</NextMarker>"
        return Answer(200, f'<?xml version="1.0" encoding="utf-8"?>{text}</EnumerationResults>'.encode(), _XML)


_XML = {"Content-Type": "application/xml"}
_JSON = {"Content-Type": "application/json"}


def _azure_name(name: str) -> str:
    is_odd = not name.isprintable()
    return f'<Name Encoded="true">{quote(name)}</Name>' if is_odd else f"<Name>{escape(name)}</Name>"


def _error(status: int, code: str) -> Answer:
    text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>Said by the server.</Message></Error>"
    return Answer(status, text.encode(), {**_XML, "x-ms-error-code": code})


def _object(blob: Blob, asked: Asked, is_azure: bool) -> Answer:
    data, wanted = blob.data, asked.headers.get("if-match", "")
    if wanted and wanted.strip('"') != blob.etag:
        return _error(412, "ConditionNotMet")
    headers = {"ETag": f'"{blob.etag}"', "Last-Modified": _http(blob.modified), "Content-Type": "text/plain"}
    headers |= {"x-ms-blob-type": blob.kind, "x-ms-creation-time": _http(blob.created), "x-ms-version": "2021-12-02"}
    if blob.encoding and not is_azure and "gzip" not in asked.headers.get("accept-encoding", ""):
        import gzip

        return Answer(200, gzip.decompress(data), headers)  # as Google does it, whatever range is wanted
    headers |= {"Content-Encoding": blob.encoding} if blob.encoding else {}
    if "range" not in asked.headers and "x-ms-range" not in asked.headers:
        return Answer(200, data, headers)
    given = asked.headers.get("x-ms-range") or asked.headers["range"]
    start, _, end = given.removeprefix("bytes=").partition("-")
    if int(start) >= len(data):
        return _error(416, "InvalidRange")
    last = min(int(end or len(data) - 1), len(data) - 1)
    headers["Content-Range"] = f"bytes {start}-{last}/{len(data)}"
    return Answer(206, data[int(start) : last + 1], headers)


def _signature(asked: Asked) -> str:
    """The header of a request that the owner of the key has signed."""
    headers = {**asked.headers}
    if headers.get("content-length") == "0":
        headers["content-length"] = ""
    own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-ms-"))
    query = "".join(f"\n{name}:{asked.query[name]}" for name in sorted(asked.query))
    text = "\n".join([asked.method, *(headers.get(name, "") for name in _SIGNED), own])
    text += f"/{ACCOUNT}{asked.raw_path}{query}"
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    return f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _http(moment: datetime) -> str:
    return email.utils.format_datetime(moment.replace(tzinfo=UTC), usegmt=True)
