"""How to log in to Google Cloud."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from tailpipe.plugin import Connection, Secret, TailpipeError, UsageError, option
from tailpipe.plugins.checks import check_retries

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
_WRITE_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_STORAGE = "https://storage.googleapis.com"
_HOUR = timedelta(hours=1)


def _check_endpoint(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc or urlsplit(url).query:
        raise UsageError(f'"{url}" is not the address of a server', hint="write it as https://host:port")


class Gcp(Connection):
    """Google Cloud; without options, the application default credentials of the machine."""

    type = "gcp"
    object_schemes = ("gs",)
    credentials: Secret | None = option(
        "JSON of a key or credential configuration, or the path of a file with it.", default=None
    )
    impersonate_service_account: str | None = option(
        "Email of the service account to act as, after logging in.", default=None
    )
    quota_project: str | None = option(
        "Project that is billed for requests; buckets with requester pays need one.", default=None
    )
    endpoint_url: str | None = option(
        "Address of a server to use instead of Google's, such as an emulator.", default=None, check=_check_endpoint
    )
    max_retries: int = option("How many times to retry a request.", default=9, check=check_retries)

    @property
    def storage_url(self) -> str:
        """The address of the service that has the buckets."""
        return (self.endpoint_url or _STORAGE).rstrip("/")

    def login(self, *, is_write: bool = False) -> Any:
        """What gives tokens; the same one each time, in a process."""
        return _login(self, is_write)

    def object_store(self, location: str) -> Any:
        """The bucket of `gs://bucket/prefix`."""
        from tailpipe.plugins.gcp.bucket import make_store

        parts = urlsplit(location)
        if parts.scheme != "gs":
            return super().object_store(location)
        return make_store(self, parts.netloc, is_write=True)


@lru_cache(maxsize=16)
def _login(connection: Gcp, is_write: bool) -> Any:
    from tailpipe.plugins.buckets.login import Login

    scope = _WRITE_SCOPE if is_write else _SCOPE
    return Login.by(lambda: _credentials(connection, scope), _token, lambda error: _no_token(connection, error))


def _token(credentials: Any) -> tuple[str, datetime]:
    from tailpipe.plugins.buckets.rest import imported

    with imported("requests", "gcp").Session() as session:
        session.max_redirects = 0  # what logs in goes to the server that the credentials name
        credentials.refresh(imported("google.auth.transport.requests", "gcp").Request(session))
    expiry = credentials.expiry
    return credentials.token, expiry.replace(tzinfo=UTC) if expiry else datetime.now(UTC) + _HOUR


def _credentials(connection: Gcp, scope: str) -> Any:
    from tailpipe.plugins.buckets.rest import imported

    google_auth = imported("google.auth", "gcp")
    if connection.credentials is None:
        found, _ = google_auth.default(scopes=[scope])
    else:
        facts = _key_facts(connection.credentials.reveal())
        if facts.get("type") == "service_account":
            service = imported("google.oauth2.service_account", "gcp")
            found = service.Credentials.from_service_account_info(facts, scopes=[scope])
        elif facts.get("type") == "authorized_user":
            found = imported("google.oauth2.credentials", "gcp").Credentials.from_authorized_user_info(facts)
        else:
            with warnings.catch_warnings():  # it warns of files that one has not written oneself
                warnings.simplefilter("ignore")
                found, _ = google_auth.load_credentials_from_dict(facts, scopes=[scope])
    if (email := connection.impersonate_service_account) is None:
        return found
    act_as = imported("google.auth.impersonated_credentials", "gcp")
    path = f"/v1/projects/-/serviceAccounts/{email}:generateAccessToken"
    own = f"{connection.endpoint_url.rstrip('/')}{path}" if connection.endpoint_url else None
    return act_as.Credentials(found, email, [scope], iam_endpoint_override=own)


def _key_facts(text: str) -> dict[str, Any]:
    """What the JSON of a key says; the text is that JSON, or the path of a file."""
    from pathlib import Path

    if not text.lstrip().startswith("{"):
        text = Path(text).expanduser().read_text(encoding="utf-8")
    facts = json.loads(text)
    if not isinstance(facts, dict):
        raise ValueError("the credentials are no JSON object")
    return facts


def _no_token(connection: Gcp, error: Exception) -> TailpipeError:
    from tailpipe.plugins.buckets.rest import imported

    faults = imported("google.auth.exceptions", "gcp")
    own, name = connection.address, type(error).__name__
    if isinstance(error, faults.DefaultCredentialsError) and connection.credentials is None:
        hint = f"run: gcloud auth application-default login, or set credentials of {own}"
        return TailpipeError(f"there are no credentials for {own}", hint=hint)
    if isinstance(error, faults.TransportError):
        return TailpipeError(f"cannot log in with {own}: Google does not answer", hint="check the network")
    if isinstance(error, OSError):
        hint = f"set credentials of {own} to the path of a readable file"
        return TailpipeError(f"the file with the credentials of {own} cannot be read", hint=hint)
    if isinstance(error, faults.RefreshError):
        who = connection.impersonate_service_account
        act = f"; to act as {who}, it needs roles/iam.serviceAccountTokenCreator" if who else ""
        hint = f"correct credentials of {own}, or log in again: gcloud auth application-default login{act}"
        return TailpipeError(f"Google refused the credentials of {own}", hint=hint)
    hint = "give the JSON of a key, or the path of a file with it"
    return TailpipeError(f"the credentials of {own} cannot be used ({name})", hint=hint)
