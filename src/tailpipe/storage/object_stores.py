"""Open a place for objects by its location: a bucket, a container or a directory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tailpipe.errors import ObjectStoreError, TailpipeError, UsageError
from tailpipe.model.connection import Connection
from tailpipe.storage.directory_objects import DirectoryObjects
from tailpipe.storage.objects import Objects, check_key
from tailpipe.storage.remote_objects import RemoteObjects

__all__ = ["open_objects"]

_FORMS = "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or an absolute path"
_REMOTE = re.compile(r"(s3|gs|az|abfss?)://([^/?#]+)((?:/[^?#]*)?)")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,221}")
_ACCOUNT = re.compile(r"([^@]+)@([a-z0-9]+)\.(?:dfs|blob)\.([a-z0-9.-]+)")
_PUBLIC = "core.windows.net"


def open_objects(location: str, credentials: Connection | None = None) -> Objects:
    """The objects of a location; whether it exists is seen with the first request.

    `s3://` needs a connection. `gs://` and `az://` without one take the credentials of the environment.
    """
    if location.startswith("/"):
        return _directory(location, location)
    if location.startswith("file:"):
        parts = urlsplit(location)
        if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
            raise _refused(location, "a file:// location has no host, ? or #")
        return _directory(unquote(parts.path), location)
    match = _REMOTE.fullmatch(location)
    if match is None:
        raise _refused(location, "not a location for objects")
    scheme, host, root = match[1], match[2], match[3].strip("/")
    bucket = host.partition("@")[0]
    if not _BUCKET.fullmatch(bucket) or ("@" in host and not scheme.startswith("abfs")):
        raise _refused(location, "the name of the bucket or container is not valid")
    plain = f"{scheme}://{host}/{root}".rstrip("/")
    if root:
        check_key(root, plain)
    return RemoteObjects(_opened(plain, scheme, host, credentials), plain, root)


def _directory(path: str, location: str) -> Objects:
    if not path.startswith("/") or "\0" in path:
        raise _refused(location, "a directory is an absolute path")
    return DirectoryObjects(Path(path), location.rstrip("/") or "/")


def _opened(location: str, scheme: str, host: str, credentials: Connection | None) -> Any:
    try:
        import obstore.store as stores
    except ImportError:
        raise TailpipeError(
            f'cannot open "{location}": obstore is not installed', hint="run: pip install 'tailpipe[aws]'"
        ) from None
    if credentials is not None:
        return credentials.object_store(location)
    if scheme == "s3":
        raise UsageError(f'"{location}" needs a connection', hint="name one: connection = connection.aws.default")
    try:
        return stores.GCSStore(host) if scheme == "gs" else _azure(stores, location, host)
    except _errors() as error:
        raise _unopened(location, str(error)) from None


def _errors() -> tuple[type[Exception], ...]:
    """What obstore raises for settings of the environment that it cannot use."""
    from obstore.exceptions import BaseError

    return (BaseError, ValueError, OSError)


def _azure(stores: Any, location: str, host: str) -> Any:
    """A container; the account is in the location, or in the environment."""
    if "@" not in host:
        endpoint = os.environ.get("AZURE_STORAGE_ENDPOINT") or os.environ.get("AZURE_ENDPOINT") or ""
        # An endpoint without TLS is one that the user has written so, such as an emulator of this machine.
        return stores.AzureStore(host, client_options={"allow_http": endpoint.startswith("http:")})
    match = _ACCOUNT.fullmatch(host)
    if match is None:
        raise _refused(location, "it must name the account: abfss://container@account.dfs.core.windows.net/prefix")
    container, account, cloud = match.groups()
    options = {} if cloud == _PUBLIC else {"endpoint": f"https://{account}.blob.{cloud}"}
    return stores.AzureStore(container, account_name=account, **options)


def _unopened(location: str, text: str) -> ObjectStoreError:
    if "MissingAccount" in text:
        return ObjectStoreError(
            f'cannot open "{location}": no storage account is set',
            location=location,
            hint="set AZURE_STORAGE_ACCOUNT_NAME, or write abfss://container@account.dfs.core.windows.net/prefix",
        )
    name = "AZURE_*" if location.startswith(("az", "abfs")) else "GOOGLE_*"
    return ObjectStoreError(
        f'cannot open "{location}": the credentials of the environment cannot be used',
        location=location,
        hint=f"check the environment variables {name} and the files that they name",
    )


def _refused(location: str, reason: str) -> UsageError:
    return UsageError(f'cannot open "{_without_secrets(location)}": {reason}', hint=f"a location is {_FORMS}")


def _without_secrets(location: str) -> str:
    """The location without what may be a password or a signature."""
    return re.sub(r"://[^/@]*@", "://…@", re.sub(r"[?#].*", "?…", location, flags=re.DOTALL))
