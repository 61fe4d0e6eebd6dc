"""Open a place for objects by its location: a bucket, a container or a directory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tailpipe.errors import ObjectStoreError, TailpipeError, UsageError
from tailpipe.model.connection import Connection
from tailpipe.storage.directory_objects import DirectoryObjects
from tailpipe.storage.locations import parse_location, refused_location
from tailpipe.storage.objects import Objects
from tailpipe.storage.remote_objects import RemoteObjects

_ACCOUNT = re.compile(r"([^@]+)@([a-z0-9]+)\.(?:dfs|blob)\.([a-z0-9.-]+)")
_PUBLIC = "core.windows.net"


def open_objects(location: str, credentials: Connection | None = None) -> Objects:
    """The objects of a location; whether it exists is seen with the first request.

    `s3://` needs a connection. `gs://` and `az://` without one take the credentials of the environment.
    """
    place = parse_location(location)
    if place.is_directory:
        return DirectoryObjects(Path(place.root), place.plain)
    return RemoteObjects(_opened(place.plain, place.scheme, place.host, credentials), place.plain, place.root)


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
        raise refused_location(
            location, "it must name the account: abfss://container@account.dfs.core.windows.net/prefix"
        )
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
