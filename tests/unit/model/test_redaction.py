"""Secrets in logs and messages: known values in every encoding, and the well-known shapes."""

from __future__ import annotations

import base64
import logging

import pytest

from tailpipe.model.redacted_logging import RedactingFormatter
from tailpipe.model.redaction import REDACTOR, Redactor, looks_secret, redacted, secrets_of

CANARY = "c4n4ry/Se+cret=="


@pytest.mark.parametrize(
    "text",
    [
        "https://me:{}@host.example/x",
        "https://me:sla/sh/{}@host.example/x",
        "<SecretAccessKey>{}</SecretAccessKey>",
        "b'<Credentials><SessionToken>{}</SessionToken>'",
        '{{"SecretAccessKey": "{}"}}',
        '{{\\"SessionToken\\": \\"{}\\"}}',
        "{{'SessionToken': '{}'}}",
        "aws_secret_access_key={}",
        "AWS_SESSION_TOKEN={}",
        "X-Amz-Security-Token: {}",
        "x-amz-security-token:{}\nhost:x",
        "'X-Amz-Security-Token': b'{}'",
        "('Authorization', b'AWS4-HMAC-SHA256 Credential=A/b, Signature={}')",
        "Authorization: Bearer {}",
        "Signature:\n{}",
        "https://host/?X-Amz-Signature={}&x=1",
        "password={} user=me",
        "client_secret: {}",
        "got Bearer {} from there",
        "https://host/x?a=1&access_token={}#top",
        "fetch --password {} --verbose",
        "fetch -api-key={}",
        """["fetch", "--client-secret", "{}", "x"]""",
    ],
)
def test_a_secret_of_a_well_known_shape_is_taken_out(text: str) -> None:
    shown = redacted(text.format("c4n4ry0Secret99"))
    assert "c4n4ry" not in shown
    assert "•••" in shown


@pytest.mark.parametrize(
    "text",
    [
        "there are: profile, access_key, secret_key, session_token, region",
        "access_key and secret_key must be set together",
        "use basic authentication for this",
        "http://127.0.0.1:9000/bucket@x",
        "the secret key of connection.aws.prod is wrong",
        "s3://bucket/key:2024@x",
        "fetch --token-file /run/token --secret --verbose",
        "https://host/x?token_type=bearer",
    ],
)
def test_words_about_secrets_stay(text: str) -> None:
    assert redacted(text) == text


def test_only_what_no_name_is_needed_for_is_taken_out_of_a_value() -> None:
    assert redacted("password = 'x'", named=False) == "password = 'x'"
    assert redacted("http://a:b@c Authorization: x", named=False) == "http://a:•••@c Authorization: •••"


def test_a_known_value_is_found_in_every_encoding() -> None:
    redactor = Redactor([CANARY, 'with "quotes" & <more>', "two\nlines here", "abc"])
    for text in (
        CANARY,
        "c4n4ry%2FSe%2Bcret%3D%3D",
        "c4n4ry/Se%2Bcret%3D%3D",
        'with \\"quotes\\" & <more>',
        'with "quotes" &amp; &lt;more&gt;',
        "with+%22quotes%22+%26+%3Cmore%3E",
        "lines here",
    ):
        assert redactor(f"<{text}>") == "<•••>", text
    assert redactor("abc") == "abc"  # too short to be told from other words


def test_variables_count_as_secrets_by_their_name() -> None:
    env = {
        "AWS_SECRET_ACCESS_KEY": "canary-one",
        "AWS_SESSION_TOKEN": "canary-two",
        "GITHUB_TOKEN": "canary-three",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token",
        "USE_TOKEN": "true",
        "HOME": "/home/me-and-you",
    }
    assert secrets_of(env) == ["canary-one", "canary-two", "canary-three"]
    assert looks_secret("spark.authenticate.secret")
    assert not looks_secret("spark.authenticate.secret.file")


def test_a_record_is_redacted_with_its_arguments_and_its_traceback() -> None:
    REDACTOR.learn(["canary-in-a-record"])
    try:
        raise ValueError("canary-in-a-record")
    except ValueError as error:
        record = logging.LogRecord(
            "x",
            logging.INFO,
            "f",
            1,
            "%s %s",
            ("canary-in-a-record", {"SessionToken": "t0ken"}),
            (type(error), error, None),
        )
    shown = RedactingFormatter().format(record)
    assert "canary" not in shown
    assert "t0ken" not in shown
    assert "ValueError: •••" in shown


def test_a_long_line_takes_one_pass() -> None:
    for piece in (
        "://",
        "authorization ",
        "secret_key",
        "a:b@",
        "basic ",
        "eyJ",
        "-----BEGIN ",
        '"',
        base64.b64encode(b"x" * 99).decode(),
    ):
        assert len(redacted(piece * (200_000 // len(piece)))) > 0
