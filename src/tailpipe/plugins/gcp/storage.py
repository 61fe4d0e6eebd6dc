"""Logs in buckets of Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailpipe.plugin import option
from tailpipe.plugins.buckets.source import BucketSource, check_bucket_name, paths_check
from tailpipe.plugins.gcp.connection import Gcp

if TYPE_CHECKING:  # what works is loaded when it works, so that a query does not wait for it
    from tailpipe.plugins.gcp.bucket import CloudStorage


class StorageBucket(BucketSource):
    """Reads objects from a bucket of Google Cloud Storage."""

    type = "gcp_storage_bucket"
    scheme = "gs"
    bucket: str | None = option("Name of the bucket.", default=None, check=check_bucket_name)
    paths: Sequence[str] | None = option(
        "Instead of a bucket: folders, objects or globs, such as `gs://logs/cloudaudit.googleapis.com/*`.",
        default=None,
        check=paths_check("gs"),
    )
    connection: Gcp = option("How to log in.", default=Gcp())

    def bucket_named(self, name: str) -> CloudStorage:
        """A bucket."""
        from tailpipe.plugins.gcp.bucket import bucket_of

        return bucket_of(self.connection, name)
