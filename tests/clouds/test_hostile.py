"""Servers of buckets and tokens that lead elsewhere: what logs in goes to the server that config names alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tailpipe.plugin import Secret, TailpipeError
from tailpipe.plugins.buckets import rest
from tailpipe.plugins.gcp.connection import Gcp
from tests.http.raw import answer, scripted
from tests.http.server import Server, refusal, served

HEAD = b"HTTP/1.1 200 OK\r\n"
HEADERS = {"Authorization": "Bearer s3cret-of-the-test"}


@pytest.fixture
def server() -> Iterator[Server]:
    with served() as made:
        yield made


@pytest.fixture
def other() -> Iterator[Server]:
    with served() as made:
        yield made


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("target", ["{url}/x", "file:///etc/passwd", "http://169.254.169.254/latest"])
def test_a_bucket_that_redirects_is_not_followed(server: Server, other: Server, status: int, target: str) -> None:
    server.faults = [refusal(status, Location=target.format(url=other.url))]
    with pytest.raises(rest.RestError) as caught:
        rest.Rest("gcp").send("GET", f"{server.url}/b", HEADERS)
    assert caught.value.fault.code == "Redirected"
    assert other.asked == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_request_of_google_is_not_redirected(server: Server, other: Server, status: int) -> None:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    key = {"type": "service_account", "client_email": "me@x", "private_key": pem, "token_uri": f"{server.url}/token"}
    server.answer = lambda _: refusal(status, Location=f"{other.url}/steal")
    with pytest.raises(TailpipeError) as caught:
        Gcp(name="x", credentials=Secret(json.dumps(key))).login().token()
    assert "cannot log in with connection.gcp.x" in str(caught.value)
    assert other.asked == []
    assert pem not in str(caught.value)


def test_a_listing_that_drips_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_PATIENCE", 0.2)

    def dripping(made: object) -> object:
        def play(connection: object, _: bytes) -> None:
            connection.sendall(answer(b"")[:-4].replace(b": 0", b": 999999") + b"\r\n\r\n")  # type: ignore[attr-defined]
            made.drip(connection, b"x", 0.02)  # type: ignore[attr-defined]

        return play

    with scripted(dripping) as server, pytest.raises(rest.RestError) as caught:  # type: ignore[arg-type]
        rest.Rest("gcp").send("GET", f"{server.url}/b", HEADERS)
    assert caught.value.fault.kind == "Timeout"


@pytest.mark.parametrize("text", [b"X-A: 1\r\n" * 1000, b"X: " + b"x" * 99999])
def test_headers_without_end_end(text: bytes) -> None:
    with (
        scripted(lambda _: lambda connection, _: connection.sendall(HEAD + text)) as server,
        pytest.raises(rest.RestError),
    ):
        rest.Rest("gcp").send("GET", f"{server.url}/b", HEADERS)
