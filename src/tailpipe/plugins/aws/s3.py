"""Logs in buckets of S3, or of any server that speaks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailpipe.plugin import option
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.buckets.source import BucketSource, check_bucket_name, paths_check

if TYPE_CHECKING:  # what works is loaded when it works, so that a query does not wait for it
    from tailpipe.plugins.aws.s3_bucket import S3


class S3Bucket(BucketSource):
    """Reads objects from an Amazon S3 bucket, or from another server with the S3 API."""

    type = "aws_s3_bucket"
    scheme = "s3"
    bucket: str | None = option("Name of the bucket.", default=None, check=check_bucket_name)
    paths: Sequence[str] | None = option(
        "Instead of a bucket: folders, objects or globs, such as `s3://logs/AWSLogs/*/CloudTrail/*`.",
        default=None,
        check=paths_check("s3"),
    )
    region: str | None = option(
        "Region of the bucket; without one it is the connection's, or is found out.", default=None
    )
    connection: Aws = option("How to log in.", default=Aws())
    request_payer: bool = option("Whether your account pays for the requests, not the bucket's owner.", default=False)

    def bucket_named(self, name: str) -> S3:
        """A bucket, in the region of the source, of the connection, or where it is found."""
        from tailpipe.plugins.aws.buckets import region_of
        from tailpipe.plugins.aws.s3_bucket import bucket_of

        region = self.region or region_of(self.connection, name)
        return bucket_of(self.connection, name, region, self.request_payer)
