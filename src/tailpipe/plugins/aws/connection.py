"""How to log in to AWS."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tailpipe.plugin import Connection, Secret, TailpipeError, UsageError, option
from tailpipe.plugins.checks import check_retries

if TYPE_CHECKING:
    from types import ModuleType

    import boto3

_MAKING = threading.Lock()
"""Making a client is not safe in several threads; using one is."""
_ROLE = re.compile(r"arn:aws(-[a-z]+)*:iam::\d{12}:role/[\w+=,.@/-]+", re.ASCII)


def _check_endpoint(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise UsageError(f'"{url}" is not the address of a server', hint="write it as https://host:port")


def _check_role(arn: str) -> None:
    if not _ROLE.fullmatch(arn):
        raise UsageError(f'"{arn}" is not the ARN of a role', hint="write it as arn:aws:iam::123456789012:role/NAME")


class Aws(Connection):
    """An AWS account. Without options, the default credential chain of AWS is used."""

    type = "aws"
    object_schemes = ("s3",)
    profile: str | None = option("Profile of the shared AWS config files.", default=None)
    access_key: str | None = option("Access key id.", default=None)
    secret_key: Secret | None = option("Secret access key.", default=None)
    session_token: Secret | None = option("Token of a temporary session.", default=None)
    region: str | None = option("Default region of sources.", default=None)
    role_arn: str | None = option("ARN of a role to assume after logging in.", default=None, check=_check_role)
    external_id: Secret | None = option("External id that the role requires.", default=None)
    endpoint_url: str | None = option(
        "Address that receives all requests (S3, STS, CloudWatch, SQS) instead of AWS.",
        default=None,
        check=_check_endpoint,
    )
    s3_force_path_style: bool = option("Whether the bucket's name is in the path, not in the host.", default=False)
    max_retries: int = option("How many times to retry a request.", default=9, check=check_retries)

    def __post_init__(self) -> None:
        if (self.access_key is None) != (self.secret_key is None):
            raise UsageError("access_key and secret_key must be set together", hint="set both, or neither")
        if self.session_token is not None and self.access_key is None:
            raise UsageError("session_token requires access_key and secret_key", hint="set all three")
        if self.profile is not None and self.access_key is not None:
            raise UsageError("profile and access_key cannot be combined", hint="remove one of them")
        if self.external_id is not None and self.role_arn is None:
            raise UsageError("external_id requires role_arn", hint="set the role, or remove it")

    def session(self) -> boto3.Session:
        """A session of boto3 that renews its credentials by itself; the same one each time, in a process."""
        with _MAKING:
            return _session(self)

    def client(self, service: str, region: str | None = None) -> Any:
        """A client of a service; it tries again by itself, later and later, and may be used by several threads."""
        session = self.session()
        with _MAKING:
            return _client(self, session, service, region)

    def object_store(self, location: str) -> Any:
        """The bucket of `s3://bucket/prefix`; the server checks the SHA-256 of what is written to it."""
        from tailpipe.plugins.aws.buckets import make_store, region_of
        from tailpipe.plugins.aws.faults import Answer, explained

        parts = urlsplit(location)
        if parts.scheme != "s3":
            return super().object_store(location)
        try:
            return make_store(self, parts.netloc, region_of(self, parts.netloc), checksum_algorithm="SHA256")
        except Answer as error:
            raise explained(error, self, f'open "{location}"') from None

    def renew(self) -> None:
        """Forget the session, so that the next one looks for credentials again: the server has refused the old ones."""
        with _MAKING:
            _session.cache_clear()
            _client.cache_clear()


def imported(name: str) -> ModuleType:
    """A module of the extra `aws`, or a message that says how to get it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise TailpipeError(
            f"AWS logs require {package}, which is not installed", hint="run: pip install 'tailpipe[aws]'"
        ) from error


@lru_cache(maxsize=16)
def _session(connection: Aws) -> boto3.Session:
    from tailpipe.plugins.aws.faults import explained

    boto3 = imported("boto3")
    secret, token = connection.secret_key, connection.session_token
    try:
        base = boto3.Session(
            aws_access_key_id=connection.access_key,
            aws_secret_access_key=secret.reveal() if secret else None,
            aws_session_token=token.reveal() if token else None,
            region_name=connection.region,
            profile_name=connection.profile,
        )
        return base if connection.role_arn is None else _in_role(connection, base)
    except imported("botocore.exceptions").BotoCoreError as error:
        raise explained(error, connection) from None


def _in_role(connection: Aws, base: boto3.Session) -> boto3.Session:
    """A session of the role: it is assumed at the first request, and again before its credentials expire."""
    from tailpipe.plugins.aws.faults import is_expired, role_refused

    credentials, botocore = imported("botocore.credentials"), imported("botocore.session")
    faults = imported("botocore.exceptions")
    # The service that gives out roles is in every region; the global one answers without a region too.
    sts = _make_client(connection, base, "sts", base.region_name or "us-east-1")
    arguments = {"RoleArn": connection.role_arn, "RoleSessionName": "tailpipe"}
    if connection.external_id is not None:
        arguments["ExternalId"] = connection.external_id.reveal()

    def assume() -> dict[str, str]:
        try:
            given = sts.assume_role(**arguments)["Credentials"]
        except (faults.ClientError, faults.BotoCoreError) as error:
            if is_expired(error):  # the request that needs the role is repeated with a new session
                raise
            raise role_refused(error, connection) from None
        return {
            "access_key": given["AccessKeyId"],
            "secret_key": given["SecretAccessKey"],
            "token": given["SessionToken"],
            "expiry_time": given["Expiration"].isoformat(),
        }

    inner = botocore.get_session()
    inner._credentials = credentials.DeferredRefreshableCredentials(assume, "sts-assume-role")
    return type(base)(botocore_session=inner, region_name=base.region_name)


@lru_cache(maxsize=64)
def _client(connection: Aws, session: boto3.Session, service: str, region: str | None) -> Any:
    from tailpipe.plugins.aws.faults import explained

    try:
        return _make_client(connection, session, service, region or session.region_name or "us-east-1")
    except imported("botocore.exceptions").BotoCoreError as error:
        raise explained(error, connection) from None


def _make_client(connection: Aws, session: boto3.Session, service: str, region: str) -> Any:
    config = imported("botocore.config").Config(
        retries={"mode": "standard", "total_max_attempts": connection.max_retries + 1},
        s3={"addressing_style": "path" if connection.s3_force_path_style else "auto"},
        max_pool_connections=32,
        connect_timeout=10,
        read_timeout=60,
    )
    return session.client(service, region_name=region, endpoint_url=connection.endpoint_url, config=config)
