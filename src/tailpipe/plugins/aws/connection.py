"""How to log in to AWS."""

from __future__ import annotations

from tailpipe.plugin import Connection, Secret, option

__all__ = ["Aws"]


class Aws(Connection):
    """An account of Amazon Web Services; without options, the usual chain of environment, files and roles."""

    type = "aws"
    profile: str | None = option("Profile of the shared AWS config files.", default=None)
    access_key: str | None = option("Access key id.", default=None)
    secret_key: Secret | None = option("Secret access key.", default=None)
    session_token: Secret | None = option("Token of a temporary session.", default=None)
    region: str | None = option("Region to ask when the source names none.", default=None)
    role_arn: str | None = option("Role to assume after logging in.", default=None)
    external_id: Secret | None = option("External id that the role asks for.", default=None)
    endpoint_url: str | None = option("Address of an S3-compatible server, instead of Amazon's.", default=None)
    s3_force_path_style: bool = option("Whether the bucket's name stands in the path, not the host.", default=False)
    max_retries: int = option("How often a request is tried again.", default=9)
