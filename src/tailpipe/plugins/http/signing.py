"""Signatures over a request: AWS's version 4, RS256 tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from tailpipe.plugin import TailpipeError, UsageError
from tailpipe.plugins.http.messages import Request

_PLAIN = "-_.~"


def host_of(url: str) -> str:
    """What the header `Host` says."""
    parts = urlsplit(url)
    is_usual = parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme))
    return (parts.hostname or "") if is_usual else f"{parts.hostname}:{parts.port}"


def sorted_query(url: str) -> str:
    """The parameters in order of their names, encoded as RFC 3986 says."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    encoded = sorted((quote(name, safe=_PLAIN), quote(value, safe=_PLAIN)) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)


def signed_by_aws(
    request: Request, now: float, scope: tuple[str, str], keys: tuple[str, str, str | None]
) -> Mapping[str, str]:
    """The headers of a signature of version 4; `scope` is region and service, `keys` are id, secret and token."""
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    access_key, secret, token = keys
    body = hashlib.sha256(request.body or b"").hexdigest()
    headers = {"host": host_of(request.url), "x-amz-content-sha256": body, "x-amz-date": moment}
    if token:
        headers["x-amz-security-token"] = token
    names = ";".join(sorted(headers))
    path = quote(quote(urlsplit(request.url).path or "/", safe="/-_.~%"), safe="/-_.~")
    canonical = "\n".join(
        [
            request.method,
            path,
            sorted_query(request.url),
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            body,
        ]
    )
    place = f"{moment[:8]}/{scope[0]}/{scope[1]}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{place}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in (moment[:8], *scope, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    made = {name: value for name, value in headers.items() if name != "host"}
    made["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={access_key}/{place}, SignedHeaders={names}, Signature={signature}"
    )
    return made


def signed_token(claims: Mapping[str, Any], private_key: str, key_id: str | None) -> str:
    """A JSON web token, signed by RS256."""
    try:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
    except ImportError as error:
        hint = "run: pip install 'tailpipe[google]'"
        raise TailpipeError(
            "this auth type requires the package cryptography, which is not installed", hint=hint
        ) from error
    try:
        key = serialization.load_pem_private_key(private_key.encode(), password=None)
    except (ValueError, TypeError):
        raise UsageError("the private key is not in PEM format", hint="use the content of the key file") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UsageError("the private key is not an RSA key")
    head = {"alg": "RS256", "typ": "JWT", **({"kid": key_id} if key_id else {})}
    text = b".".join(_web(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
    return b".".join((text, _web(key.sign(text, padding.PKCS1v15(), hashes.SHA256())))).decode()


def _web(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
