"""The wire log of AWS's libraries: silent unless it is asked for by name, and then without a secret."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import boto3
import pytest
from moto.sts.models import sts_backends

CONFIG = """
workspace "default" { spark { master = "local[1]" } }
connection "aws" "role" {
  access_key   = "AKIATEST"
  secret_key   = env("CANARY_KEY")
  region       = "eu-central-1"
  role_arn     = "arn:aws:iam::123456789012:role/reader"
  external_id  = "canary external/id"
  endpoint_url = "URL"
}
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "_event_time" }
}
partition "app" "x" {
  source "aws_cloudwatch_log_group" {
    log_group_name = "/app/logging"
    connection     = connection.aws.role
  }
}
partition "app" "c" {
  source "command" {
    command  = ["sh", "-c", "echo $LOGIN >&2; exit 3"]
    env      = { LOGIN = "canary-login" }
    per_day  = false
  }
}
"""
ALL = "debug,botocore=debug,boto3=debug,urllib3=debug,py4j=debug,pyspark=debug"


@pytest.fixture
def install(moto: str, tmp_path: Path) -> Path:
    client = boto3.client(
        "logs", endpoint_url=moto, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    group = f"/app/{uuid.uuid4().hex}"  # the server outlives the test
    client.create_log_group(logGroupName=group)
    client.create_log_stream(logGroupName=group, logStreamName="s")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "main.tpc").write_text(CONFIG.replace("URL", moto).replace("/app/logging", group))
    return tmp_path


def collected(install: Path, *arguments: str, level: str) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    env = {
        **os.environ,
        "HOME": str(install),
        "TAILPIPE_INSTALL_DIR": str(install),
        "TAILPIPE_LOG_LEVEL": level,
        "CANARY_KEY": "canary-key/of+this",
        "AWS_SESSION_TOKEN": "canary-token-of-the-environment",
    }
    call = [sys.executable, "-m", "tailpipe", "collect", *arguments]
    done = subprocess.run(call, env=env, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def secrets() -> list[str]:
    """What the server gave out, and what the config says."""
    given = [
        role for backends in sts_backends.values() for backend in backends.values() for role in backend.assumed_roles
    ]
    assert given
    return ["canary", *(text for role in given for text in (role.secret_access_key, role.session_token))]


def leaked(install: Path, printed: str) -> list[str]:
    files = [path for path in install.rglob("*") if path.is_file() and path.suffix != ".tpc"]
    places = {"output": printed, **{str(path): path.read_bytes().decode("utf-8", "replace") for path in files}}
    return [f"{secret} in {place}" for place, text in places.items() for secret in secrets() if secret in text]


def test_debug_alone_does_not_open_the_wire_log(install: Path) -> None:
    code, printed = collected(install, "app.x", "--dry-run", level="debug")
    assert code == 0, printed
    assert "botocore" not in printed
    assert leaked(install, printed) == []


def test_a_wire_log_that_is_named_has_no_secret_in_it(install: Path) -> None:
    code, printed = collected(install, "app.x", "--dry-run", level=ALL)
    assert code == 0, printed
    assert "botocore.endpoint" in printed
    assert "AssumeRole" in printed
    assert "•••" in printed
    assert leaked(install, printed) == []


@pytest.mark.slow
def test_a_whole_collection_on_spark_writes_no_secret_anywhere(install: Path) -> None:
    code, printed = collected(install, level=ALL)
    assert code == 1  # the command fails, and says its login
    assert "exit code 3: •••" in printed
    assert any(path.name == "spark.log" for path in install.rglob("*"))
    assert leaked(install, printed) == []
