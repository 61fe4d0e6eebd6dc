"""The signature of requests to Azure Storage by the key of an account."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import unquote

_SIGNED = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)


def shared_key(
    account: str, key: str, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> str:
    """The header `Authorization` of a request without a body; `path` is as it is sent."""
    known = {name.lower(): value for name, value in headers.items()}
    own = sorted(name for name in known if name.startswith("x-ms-"))
    lines = [method, *(known.get(name, "") for name in _SIGNED)]
    lines += [f"{name}:{known[name].strip()}" for name in own]
    lines += [f"/{account}{path}", *(f"{name.lower()}:{query[name]}" for name in sorted(query, key=str.lower))]
    digest = hmac.new(base64.b64decode(key), "\n".join(lines).encode(), hashlib.sha256).digest()
    return f"SharedKey {account}:{base64.b64encode(digest).decode()}"


def sas_query(token: str) -> dict[str, str]:
    """What a shared access signature adds to the query of a request."""
    pairs = [part.partition("=") for part in token.strip().lstrip("?").split("&") if part]
    return {unquote(name): unquote(value) for name, _, value in pairs}
