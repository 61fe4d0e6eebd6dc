"""A bucket as a store of obstore: with the credentials, the endpoint and the region of a connection."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tailpipe.plugins.aws.connection import Aws, imported
from tailpipe.plugins.aws.faults import Answer, explained

if TYPE_CHECKING:
    from obstore.store import S3Store

_CREDENTIAL_MINUTES = 5


def make_store(connection: Aws, bucket: str, region: str | None, **options: Any) -> S3Store:
    """A bucket that repeats no request by itself; raises `Answer` if there are no credentials."""
    is_path = connection.s3_force_path_style or connection.endpoint_url is not None or "." in bucket
    if connection.endpoint_url:
        options["endpoint"] = connection.endpoint_url
    made: S3Store = imported("obstore.store").S3Store(
        bucket,
        region=_valid(region or connection.session().region_name or "us-east-1", connection),
        virtual_hosted_style_request=not is_path,
        credential_provider=_credentials(connection),
        client_options={
            "allow_http": (connection.endpoint_url or "").startswith("http:"),
            "connect_timeout": timedelta(seconds=10),
            "timeout": timedelta(seconds=120),
            "user_agent": "tailpipe",
        },
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=120)},
        **options,
    )
    return made


def _valid(region: str, connection: Aws) -> str:
    """The name of a region, checked as a client of boto3 would: making one takes as long as the requests of a pull."""
    try:
        imported("botocore.utils").validate_region_name(region)
    except imported("botocore.exceptions").BotoCoreError as error:
        raise explained(error, connection) from None
    return region


@lru_cache(maxsize=64)
def region_of(connection: Aws, bucket: str) -> str | None:
    """The region of the connection, or the one that the bucket returns, also to those whom it denies all else."""
    if connection.region or connection.endpoint_url:
        return connection.region
    faults = imported("botocore.exceptions")
    try:
        answer = connection.client("s3").head_bucket(Bucket=bucket)
    except faults.ClientError as error:
        answer = error.response
    except faults.BotoCoreError as error:
        raise explained(error, connection, f'reach bucket "{bucket}"') from None
    region: str | None = answer["ResponseMetadata"]["HTTPHeaders"].get("x-amz-bucket-region")
    return region


def _credentials(connection: Aws) -> Callable[[], Any]:
    """What obstore calls for credentials; boto3 renews them before they expire."""
    credentials = connection.session().get_credentials()
    if credentials is None:
        raise Answer("NoCredentialsError")

    def give() -> dict[str, Any]:
        try:
            frozen = credentials.get_frozen_credentials()
        except imported("botocore.exceptions").BotoCoreError as error:
            raise explained(error, connection) from None
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(UTC) + timedelta(minutes=_CREDENTIAL_MINUTES),
        }

    return give
