"""Logs in containers of Azure Blob Storage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tailpipe.plugin import Artifact, Connection, UsageError, option
from tailpipe.plugins.azure.connection import CLOUDS, LOCATION, Azure
from tailpipe.plugins.buckets.source import BucketSource, check_bucket_name, paths_check

if TYPE_CHECKING:  # what works is loaded when it works, so that a query does not wait for it
    from tailpipe.plugins.azure.container import Container


def _check_account(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9]{3,24}", name):
        raise UsageError(f'"{name}" is not the name of a storage account', hint="it has 3 to 24 letters and digits")


class BlobStorage(BucketSource):
    """Reads blobs from a container of Azure Blob Storage; append blobs may grow meanwhile."""

    type = "azure_blob_storage"
    scheme = "az"
    bucket_option = "container"
    account_name: str | None = option(
        "Storage account; without one it is the connection's.", default=None, check=_check_account
    )
    container: str | None = option("Name of the container.", default=None, check=check_bucket_name)
    paths: Sequence[str] | None = option(
        "Instead of a container: folders, blobs or globs, such as `az://insights-activity-logs/*`.",
        default=None,
        check=paths_check("az"),
    )
    connection: Azure = option("How to log in.", default=Azure())

    @classmethod
    def options_at(cls, location: str, connection: Connection | None) -> dict[str, Any]:
        """The options for `az://container/folder/`, or `abfss://container@account.dfs.core.windows.net/folder/`."""
        login = connection if isinstance(connection, Azure) else Azure()
        container, _, below = location.partition("://")[2].partition("/")
        if (match := LOCATION.fullmatch(container)) is None:
            if login.account_name is None:
                raise UsageError(
                    f'"{location}" names no storage account',
                    hint=f"set account_name of {login.address}, or write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/",
                )
            return super().options_at(location, connection)
        container, account, cloud = match.groups()
        if login.endpoint_url is None and cloud != CLOUDS[login.environment][1]:
            raise UsageError(
                f'"{location}" is not in the cloud of {login.address}', hint=f"set environment of {login.address}"
            )
        return {"account_name": account, **super().options_at(f"az://{container}/{below}", connection)}

    def bucket_named(self, name: str) -> Container:
        """A container of the account."""
        from tailpipe.plugins.azure.container import bucket_of

        account = self.account_name or self.connection.account_name
        if account is None:
            hint = f'set account_name = "…" in the source or in {self.connection.address}'
            raise UsageError(f'source "{self.name}" names no storage account', hint=hint)
        return bucket_of(self.connection, account, name)

    def bucket_of(self, artifact: Artifact) -> Container:
        """The container that holds an artifact."""
        for name in {name for name, _, _ in self.places()}:
            bucket = self.bucket_named(name)
            if artifact.uri.startswith(bucket.address):
                return bucket
        raise UsageError(f'"{artifact.uri}" is in no container of source "{self.name}"')
