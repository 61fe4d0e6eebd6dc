"""Tokens that a service gives out: requested once, kept in this process until they expire."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import threading
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from tailpipe.plugin import TailpipeError, UsageError, hide_secrets
from tailpipe.plugins.http.auth import Google, OAuth2
from tailpipe.plugins.http.messages import Answer, Request, excerpt
from tailpipe.plugins.http.signing import signed_token

_LIFE = 3600
_EARLY = 60
"""A token is renewed so many seconds before it expires."""
_GOOGLE = "https://oauth2.googleapis.com/token"
_JWT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_LOCK = threading.Lock()

Clock = Callable[[], float]
Send = Callable[[Callable[[], Request]], Answer]


class _Token(NamedTuple):
    text: str
    expires: float


_TOKENS: dict[bytes, _Token] = {}


def token_of(auth: OAuth2 | Google, send: Send, now: Clock) -> str:
    """The token of this way to log in; one thread at a time requests it.

    `send` gets what makes the request, because one that is signed again needs another time.
    """
    place = _place(auth)
    with _LOCK:
        kept = _TOKENS.get(place)
        if kept is None or kept.expires <= now():
            kept = _TOKENS[place] = _requested(auth, send, now)
        return kept.text


def renewed_token(auth: OAuth2 | Google, used: str) -> None:
    """Forget the token that was refused, unless another thread has renewed it meanwhile."""
    place = _place(auth)
    with _LOCK:
        kept = _TOKENS.get(place)
        if kept is not None and kept.text == used:
            del _TOKENS[place]


def forget() -> None:
    """Forget all tokens of this process."""
    with _LOCK:
        _TOKENS.clear()


def _place(auth: OAuth2 | Google) -> bytes:
    # By its content, secrets included, because two clients may differ in nothing else.
    return hashlib.blake2b(pickle.dumps(auth), digest_size=32).digest()


def _requested(auth: OAuth2 | Google, send: Send, now: Clock) -> _Token:
    answer = send(lambda: _google(auth, now()) if isinstance(auth, Google) else _client(auth, now()))
    try:
        found = json.loads(answer.body)
        token = str(found["access_token"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise TailpipeError(f"the response to the token request has no token: {excerpt(answer.body)}") from None
    hide_secrets(token)
    life = found.get("expires_in", _LIFE)
    seconds = float(life) if isinstance(life, int | float) or str(life).isdigit() else _LIFE
    return _Token(token, now() + max(seconds - _EARLY, seconds / 2))


def _client(auth: OAuth2, now: float) -> Request:
    form = {"grant_type": "client_credentials", **({"scope": auth.scope} if auth.scope else {}), **auth.params}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    if auth.private_key is not None:
        own = auth.client_id
        claims: dict[str, Any] = {"iss": own, "sub": own, "aud": auth.token_url, "jti": uuid.uuid4().hex}
        claims |= {"iat": int(now), "exp": int(now) + 300}
        form |= {
            "client_assertion_type": _ASSERTION,
            "client_assertion": signed_token(claims, auth.private_key.reveal(), auth.key_id),
        }
        hide_secrets(form["client_assertion"])
    elif auth.client_secret is not None and auth.client_auth == "basic":
        pair = f"{quote(auth.client_id, safe='')}:{quote(auth.client_secret.reveal().strip(), safe='')}"
        login = base64.b64encode(pair.encode()).decode()
        hide_secrets(login)
        headers["Authorization"] = f"Basic {login}"
    elif auth.client_secret is not None:
        form |= {"client_id": auth.client_id, "client_secret": auth.client_secret.reveal().strip()}
    return Request("POST", auth.token_url, headers, urlencode(form).encode())


def _google(auth: Google, now: float) -> Request:
    try:
        key: dict[str, Any] = json.loads(auth.credentials.reveal())
        issuer, private_key = str(key["client_email"]), str(key["private_key"])
    except (ValueError, KeyError, TypeError):
        hint = 'write credentials = file("key.json"), with the key file that Google has given you'
        raise UsageError("the credentials are not the JSON key of a service account", hint=hint) from None
    hide_secrets(private_key)
    url = str(key.get("token_uri") or _GOOGLE)
    claims: dict[str, Any] = {"iss": issuer, "scope": " ".join(auth.scopes), "aud": url}
    claims |= {"iat": int(now), "exp": int(now) + _LIFE, **({"sub": auth.subject} if auth.subject else {})}
    assertion = signed_token(claims, private_key, key.get("private_key_id"))
    hide_secrets(assertion)
    form = {"grant_type": _JWT, "assertion": assertion}
    return Request("POST", url, {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(form).encode())
