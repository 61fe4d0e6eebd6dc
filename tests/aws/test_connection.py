"""The connection `aws`: keys, roles and chains, renewed by themselves, and never shown."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.plugin import Secret, TailpipeError, UsageError
from tailpipe.plugins.aws.connection import Aws, imported

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
