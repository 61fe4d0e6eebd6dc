"""The connection `aws`: keys, roles and chains, renewed by themselves, and never shown."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tailpipe.plugin import Secret, TailpipeError, UsageError
from tailpipe.plugins.aws.connection import Aws, imported
from tests.bucket_server import Asked, BucketServer

KEYS = Aws(name="x", access_key="AKIATEST", secret_key=Secret("very-secret"), region="eu-west-1")


def test_keys_hold_together_with_an_endpoint(moto: str) -> None:
    connection = replace(KEYS, endpoint_url=moto)
    client = connection.client("logs")
    assert client.describe_log_groups()["logGroups"] == []
    assert client.meta.region_name == "eu-west-1"
    frozen = connection.session().get_credentials().get_frozen_credentials()
    assert (frozen.access_key, frozen.secret_key) == ("AKIATEST", "very-secret")


def test_a_profile_holds_together_with_an_endpoint(moto: str, tmp_path: Path) -> None:
    (tmp_path / "aws-credentials").write_text("[audit]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = s\n")
    connection = Aws(profile="audit", endpoint_url=moto)
    assert connection.client("sts").get_caller_identity()["Account"]
    assert connection.session().get_credentials().access_key == "AKIAPROFILE"


def test_a_role_is_assumed_and_renewed_before_it_expires(moto: str) -> None:
    role = replace(
        KEYS, endpoint_url=moto, role_arn="arn:aws:iam::123456789012:role/reader", external_id=Secret("shared word")
    )
    credentials = role.session().get_credentials()
    first = credentials.get_frozen_credentials()
    assert first.token
    assert first.access_key != "AKIATEST"
    assert "reader/tailpipe" in role.client("sts").get_caller_identity()["Arn"]
    credentials._expiry_time = datetime.now(UTC) + timedelta(minutes=2)
    assert credentials.get_frozen_credentials().token != first.token


class _Denying(BucketServer):
    """Denies every role, as STS does."""

    def handle(self, handler: BaseHTTPRequestHandler, asked: Asked, body: bytes) -> None:
        said = b"<Code>AccessDenied</Code><Message>not authorized to perform: sts:AssumeRole</Message>"
        answer = b"<ErrorResponse><Error><Type>Sender</Type>" + said + b"</Error></ErrorResponse>"
        handler.send_response(403)
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer)


ROLE = "arn:aws:iam::123456789012:role/log-reader"
IN_A_ROLE = """
connection "aws" "archive" {
  access_key   = "AKIATEST"
  secret_key   = "canary-key"
  role_arn     = "ROLE"
  endpoint_url = "URL"
  max_retries  = 0
}
partition "aws_cloudtrail_log" "org" {
  source "aws_s3_bucket" {
    bucket     = "org-trail"
    connection = connection.aws.archive
  }
}
"""


def source_tested(root: Path, url: str, level: str = "warning") -> str:
    """What `source test` prints for a connection with a role."""
    (root / "config").mkdir(exist_ok=True)
    (root / "config" / "main.tpc").write_text(IN_A_ROLE.replace("ROLE", ROLE).replace("URL", url))
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(root), "TAILPIPE_LOG_LEVEL": level}
    call = [sys.executable, "-m", "tailpipe", "source", "test", "aws_cloudtrail_log.org"]
    done = subprocess.run(call, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


def test_a_role_that_is_denied_is_named_without_a_traceback(tmp_path: Path) -> None:
    with _Denying().running() as server:
        told = source_tested(tmp_path, server.url)
        traced = source_tested(tmp_path, server.url, "warning,botocore=debug")
    assert told == (
        f"error: cannot assume role {ROLE}: access denied to connection.aws.archive\n"
        "  = its identity needs sts:AssumeRole on the role, and the role's trust policy must allow it; "
        "set external_id if it requires one\n"
    )
    assert "Refreshing temporary credentials failed" in traced
    assert "canary-key" not in traced


def test_a_role_is_named_if_its_server_does_not_answer(tmp_path: Path) -> None:
    told = source_tested(tmp_path, "http://127.0.0.1:9")
    assert told == (
        f"error: cannot assume role {ROLE}: http://127.0.0.1:9 does not answer\n"
        "  = check the network, the region and endpoint_url of the connection\n"
    )


def test_the_external_id_of_a_denied_role_is_doubted() -> None:
    with _Denying().running() as server:
        role = replace(KEYS, endpoint_url=server.url, role_arn=ROLE, external_id=Secret("shared word"))
        for service, request in (("logs", "describe_log_groups"), ("sqs", "list_queues")):
            with pytest.raises(TailpipeError) as caught:
                getattr(role.client(service), request)()
            assert caught.value.message == f"cannot assume role {ROLE}: access denied to connection.aws.x"
            assert caught.value.hint.endswith("the role's trust policy must allow it with this external_id")


def test_the_region_of_a_source_wins() -> None:
    assert KEYS.client("s3", "ap-south-1").meta.region_name == "ap-south-1"
    assert KEYS.client("s3") is KEYS.client("s3")


def test_secrets_are_in_no_text_of_a_connection() -> None:
    connection = replace(KEYS, session_token=Secret("tok-secret"))
    for text in (repr(connection), str(connection), f"{connection}"):
        assert "very-secret" not in text
        assert "tok-secret" not in text
    assert pickle.loads(pickle.dumps(connection)) == connection
    assert connection.holds_secrets
    assert not Aws(profile="x").holds_secrets


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"access_key": "A"}, "access_key and secret_key must be set together"),
        ({"session_token": Secret("t")}, "session_token requires access_key and secret_key"),
        ({"access_key": "A", "secret_key": Secret("s"), "profile": "p"}, "cannot be combined"),
        ({"external_id": Secret("e")}, "external_id requires role_arn"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Aws(**options)  # type: ignore[arg-type]


def test_a_profile_that_is_not_there_is_named() -> None:
    with pytest.raises(TailpipeError, match=r'there is no profile "nobody" of connection\.aws\.x') as caught:
        Aws(name="x", profile="nobody").session()
    assert "aws configure list-profiles" in caught.value.hint


def test_a_missing_extra_says_what_to_install() -> None:
    with pytest.raises(TailpipeError, match="boto4") as caught:
        imported("boto4.session")
    assert caught.value.hint == "run: pip install 'tailpipe[aws]'"
