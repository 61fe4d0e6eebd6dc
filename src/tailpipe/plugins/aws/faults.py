"""What AWS answers when something is wrong, in words that say whose connection it is and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tailpipe.plugin import Retry, TailpipeError

if TYPE_CHECKING:
    from tailpipe.plugins.aws.connection import Aws

T = TypeVar("T")

_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired")
_WRONG_KEY = ("InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException", "InvalidToken")
_WRONG_SECRET = ("SignatureDoesNotMatch", "InvalidSignatureException")
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AllAccessDisabled", "403", "Forbidden")
_SKEWED = ("RequestTimeTooSkewed", "RequestInTheFuture")
_ELSEWHERE = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301")
_BUSY = (
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "InternalError",
    "503",
    "429",
)
_UNREACHED = (
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ConnectionClosedError",
    "ConnectionError",
    "ReadTimeoutError",
    "ResponseStreamingError",
    "IncompleteReadError",
    "ProtocolError",
    "RequestTimeout",
    "HTTPClientError",
)
_NO_KEYS = "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"
_OLD_LOGIN = "SSOTokenLoadError", "UnauthorizedSSOTokenError", "TokenRetrievalError", "SSOError", "LoginRefreshRequired"


class Answer(Exception):  # noqa: N818 - an answer of the service, which is none of ours to raise
    """A code of the service that came by another way than botocore."""

    def __init__(self, code: str, message: str = "", region: str = "") -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code, "Message": message, "Region": region}}


def code_of(error: Exception) -> str:
    """The code of an answer of AWS, such as `NoSuchBucket`, or the name of the exception."""
    answer: Any = getattr(error, "response", None)
    if isinstance(answer, dict):
        return str(answer.get("Error", {}).get("Code", ""))
    return type(error).__name__


def is_expired(error: Exception) -> bool:
    """Whether the credentials were good once: new ones of the same connection may be good again."""
    return code_of(error) in _EXPIRED


def is_busy(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    code = code_of(error)
    return code in _BUSY or code in _UNREACHED or re.fullmatch(r"5\d\d|408|429", code) is not None


def request(
    call: Callable[[], T],
    renew: Callable[[], object],
    *,
    retries: int = 0,
    fault: Callable[[Exception], Exception] = lambda error: error,
) -> T:
    """Make a request; credentials that have expired are renewed once, and a busy service gets `retries` more.

    botocore retries by itself, so its requests need none. `fault` gives the error with the code of the service.
    """

    def renewed(error: Exception) -> bool:
        is_old = is_expired(fault(error))
        if is_old:
            renew()
        return is_old

    retry = Retry(retries=retries, first_pause=0.1, longest_pause=20.0, time_limit=math.inf)
    return retry.call(call, retried=lambda error: is_busy(fault(error)), recover=renewed)


def explained(error: Exception, connection: Aws, what: str = "") -> TailpipeError:
    """The error as one message; `what` is what was tried, such as `list bucket "logs"`."""
    message, hint = _words(error, connection)
    return TailpipeError(f"cannot {what}: {message}" if what else message, hint=hint)


def role_refused(error: Exception, connection: Aws) -> TailpipeError:
    """Why the role of the connection could not be assumed."""
    why, hint = _words(error, connection)
    if code_of(error) in _DENIED:
        hint = "its identity needs sts:AssumeRole on the role, and the role's trust policy must allow it"
        has_id = connection.external_id is not None
        hint += " with this external_id" if has_id else "; set external_id if it requires one"
    return TailpipeError(f"cannot assume role {connection.role_arn}: {why}", hint=hint)


def _words(error: Exception, connection: Aws) -> tuple[str, str]:
    code, own = code_of(error), connection.address
    if code in _EXPIRED or code in _OLD_LOGIN:
        return f"the credentials of {own} have expired", _login(connection)
    if code in _NO_KEYS:
        return f"there are no credentials for {own}", _login(connection)
    if code == "ProfileNotFound":
        return f'there is no profile "{connection.profile}" of {own}', "see: aws configure list-profiles"
    if code in _WRONG_KEY:
        return f"the access key of {own} is not known there", _keys(connection)
    if code in _WRONG_SECRET:
        return f"the secret key of {own} is wrong", _keys(connection)
    if code in _DENIED:
        return (
            f"access denied to {own}",
            "ask whoever manages the account for the permission, or use another connection",
        )
    if code in _SKEWED:
        return (
            "the clock of this machine is wrong by more than 15 minutes",
            "set it, for instance by: timedatectl set-ntp true",
        )
    if code in _ELSEWHERE:
        region = _region(error)
        where = f"it is in region {region}" if region else "it is in another region"
        return where, f'set region = "{region or "…"}" in the source or in {own}'
    if is_busy(error) and code not in _UNREACHED:
        return f"the service is too busy ({code})", "run it again later: what was collected stays"
    if code == "NoSuchBucket":
        return "there is no such bucket", 'correct "bucket", or endpoint_url of the connection'
    if code in _UNREACHED:
        where = connection.endpoint_url or "AWS"
        return f"{where} does not answer", "check the network, the region and endpoint_url of the connection"
    return f"{own}: {_plain(error)}", ""


def _login(connection: Aws) -> str:
    if connection.access_key is not None:
        return f"put new keys into {connection.address}"
    if connection.profile is not None:
        return f"run: aws sso login --profile {connection.profile}, or: aws configure --profile {connection.profile}"
    return "run: aws sso login, or: aws configure, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


def _keys(connection: Aws) -> str:
    if connection.access_key is not None:
        return f"correct access_key and secret_key of {connection.address}"
    return _login(connection)


def _region(error: Exception) -> str:
    answer: Any = getattr(error, "response", {})
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return str(headers.get("x-amz-bucket-region") or answer.get("Error", {}).get("Region") or "")


def _plain(error: Exception) -> str:
    """What the service says, on one line."""
    answer: Any = getattr(error, "response", None)
    if isinstance(answer, dict):
        reported = answer.get("Error", {})
        return " ".join(f"{reported.get('Message', '')} ({reported.get('Code', '')})".split())
    return " ".join(str(error).split())
