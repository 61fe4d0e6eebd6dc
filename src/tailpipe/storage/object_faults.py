"""What obstore raises, as a message that says where and what to do next.

The text of obstore's errors holds addresses, and an address may hold a signature: only status, code and the service's
own message are taken from it.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tailpipe.errors import ObjectStoreError
from tailpipe.frozen import frozen
from tailpipe.model.redaction import redacted

_STATUS = re.compile(r"\binner: Status \{\s+status: (\d{3})")
_KIND = re.compile(r"\bHttpError \{\s+kind: (\w+)")
_ADDRESS = re.compile(r"\buri: Some\(\s+(\S+),\s")
_DELETED = re.compile(r"DeleteFailed \{.*?code: \"(\w+)\"", re.DOTALL)
_ELEMENTS = {name: re.compile(rf"<{name}>\s*([^<>]+?)\s*</{name}>") for name in ("Code", "Message", "Region")}
_NO_TOKEN = re.compile(r"\bsource: (?:TokenRequest|Credential|TokenResponseBody) \{|\bpath: \"External \w+ credential")
_PAST_END = "InvalidRangeRequest {"
_REDIRECTED = "redirect without LOCATION"
"""What obstore says of a bucket in another region; it does not say in which."""

_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "InvalidBucketName"})
_PRESENT = frozenset({"", "BlobAlreadyExists", "ConditionNotMet", "PathAlreadyExists", "PreconditionFailed"})
_CONFLICT = frozenset({"ConditionalRequestConflict", "OperationAborted"})
"""Another conditional write of the key was under way: this one was refused, whatever became of the other."""
_WRONG = frozenset(
    {
        "AuthenticationFailed",
        "AuthorizationFailure",
        "InvalidAccessKeyId",
        "InvalidAuthenticationInfo",
        "InvalidClientTokenId",
        "InvalidToken",
        "SignatureDoesNotMatch",
    }
)
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
_ELSEWHERE = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"})
_FULL = frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "EntityTooLarge"})
_DAMAGED = frozenset({"BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"})
_ARCHIVED = frozenset({"InvalidObjectState", "BlobArchived"})
_AZURE = ("az:", "abfs", "http")
"""How locations of Azure begin; a source names blobs by their addresses."""
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})


@frozen
class Fault:
    """A failed request: the answer of the service, or how the connection failed."""

    status: int | None = None
    code: str = ""
    text: str = ""
    region: str = ""
    kind: str = ""
    """How the connection failed: Connect, Timeout, Request, Interrupted or Decode. Empty if there was an answer."""
    host: str = ""
    is_unresolved: bool = False
    has_no_credentials: bool = False

    @property
    def is_absent(self) -> bool:
        """Whether there is no such object, though there may be a bucket."""
        return self.status == 404 and self.code not in _NO_BUCKET

    @property
    def is_past_end(self) -> bool:
        """Whether the range begins behind the last byte."""
        return self.status == 416

    @property
    def is_present(self) -> bool:
        """Whether an object of that name prevents a put-if-absent."""
        return self.status in (409, 412, 304) and self.code in _PRESENT

    @property
    def is_refused(self) -> bool:
        """Whether the request had no effect for certain, and may succeed if it is made again."""
        return self.code in _CONFLICT or self.status == 429 or self.kind == "Connect"

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed a little later."""
        return not self.has_no_credentials and (self.is_refused or self.status in _TRANSIENT or self.status is None)

    @property
    def is_unknown(self) -> bool:
        """Whether a write may have happened all the same."""
        if self.has_no_credentials or self.is_refused:
            return False
        return self.status is None or self.status >= 500 or self.status == 408


def fault_of(error: Exception) -> Fault:
    """The facts in an error of obstore."""
    text = str(error)
    if _NO_TOKEN.search(text):
        return Fault(has_no_credentials=True)
    status, kind, deleted = _STATUS.search(text), _KIND.search(text), _DELETED.search(text)
    answered = {name: found[1] for name, pattern in _ELEMENTS.items() if (found := pattern.search(text))}
    code = answered.get("Code", "") or (deleted[1] if deleted else "")
    if _REDIRECTED in text:
        return Fault(status=301, code="PermanentRedirect", region=answered.get("Region", ""))
    if _PAST_END in text:
        return Fault(status=416)
    address = _ADDRESS.search(text)
    known = int(status[1]) if status else int(code) if re.fullmatch(r"\d{3}", code) else None
    return Fault(
        status=known or _status_by_type(error, code),
        code=code,
        text=answered.get("Message", ""),
        region=answered.get("Region", ""),
        kind=kind[1] if kind and not status else "",
        host=(urlsplit(address[1]).hostname or "") if address else "",
        is_unresolved="dns error" in text,
    )


def _status_by_type(error: Exception, code: str) -> int | None:
    """The status that obstore has put into the type of the error, where it leaves it out of the text."""
    types = {"AlreadyExistsError": 409, "PreconditionError": 412, "NotModifiedError": 304}
    types |= {"PermissionDeniedError": 403, "UnauthenticatedError": 401, "FileNotFoundError": 404}
    # When many objects are deleted at once, each that is not has a code and no status.
    codes = {"AccessDenied": 403, "InternalError": 500, "SlowDown": 503, "ServiceUnavailable": 503, "NoSuchKey": 404}
    return types.get(type(error).__name__) or codes.get(code) or (400 if code else None)


def store_error(fault: Fault, location: str, action: str, key: str, *, is_write: bool = False) -> ObjectStoreError:
    """The error as users see it; `action` is what was tried: read, write, list or delete."""
    reason, hint = _reason(fault, location, action)
    place = f"{location.rstrip('/')}/{key}" if key else location
    return ObjectStoreError(
        f'cannot {action} "{place}": {reason}',
        location=location,
        key=key,
        is_unknown=is_write and fault.is_unknown,
        hint=hint,
    )


def _reason(fault: Fault, location: str, action: str) -> tuple[str, str]:
    container = "container" if location.startswith(_AZURE) else "bucket"
    if fault.has_no_credentials:
        return "no credentials found", _login_hint(location)
    if fault.kind or fault.status is None:
        return _unreached(fault)
    if fault.code in _EXPIRED:
        return "the credentials have expired", "log in again, or renew the keys of the connection"
    if fault.code in _WRONG or fault.status == 401:
        return f"the credentials were rejected ({fault.code or fault.status})", _login_hint(location)
    if fault.code == "Redirected":
        return f"{fault.text}, which is not followed", "check the endpoint of the connection"
    if fault.code in _ELSEWHERE or fault.status in (301, 307):
        where = f'set region = "{fault.region}"' if fault.region else "set the region of the bucket"
        return f"the bucket is in {f'region {fault.region}' if fault.region else 'another region'}", (
            f"{where} in the connection"
        )
    if fault.code == "RequestTimeTooSkewed":
        return "the clock of this machine is wrong by more than 15 minutes", "set it: timedatectl set-ntp true"
    if fault.code in _NO_BUCKET:
        return f"the {container} does not exist", f"create the {container}, or correct the location"
    return _refusal(fault, location, action)


def _refusal(fault: Fault, location: str, action: str) -> tuple[str, str]:
    status = " ".join(f"{fault.status} {fault.code}".split())
    if fault.code in _FULL or fault.status == 507:
        return f"the store is full ({status})", "free some space or raise the quota, then run it again"
    if fault.code in _ARCHIVED:
        return "the object is archived", "restore it, then run it again"
    if fault.code in _DAMAGED:
        return f"the bytes were damaged on the way ({status})", "run it again"
    if fault.status == 403:
        hint = f"the credentials need permission to {action} objects there"
        return "permission denied", f"{hint}, and must be correct" if not fault.code else hint
    if fault.is_transient:
        return f"the store is too busy ({status})", "run it again later"
    if fault.status == 404:
        return "not found", "check the location of the store"
    text = " ".join(redacted(fault.text).split())[:200]
    return f"the store answered {status}{f': {text}' if text else ''}", f"check {location} and its connection"


def _unreached(fault: Fault) -> tuple[str, str]:
    host = fault.host or "the store"
    hint = "check the network, the region and the endpoint of the connection"
    if fault.is_unresolved:
        return f'there is no host "{host}"', hint
    if fault.kind == "Timeout":
        return f"{host} did not answer in time", hint
    if fault.kind == "Connect":
        return f"cannot connect to {host}", hint
    return f"the connection to {host} was cut", f"run it again; otherwise {hint}"


def _login_hint(location: str) -> str:
    if location.startswith("gs:"):
        return "run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS"
    if location.startswith(_AZURE):
        return "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_SAS_TOKEN"
    return "check the profile or the keys of the connection"
