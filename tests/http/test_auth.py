"""Every way to log in, as the server sees it; tokens are renewed once, and refusals name the scope."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.http.authority import make_key, pem
from tests.http.server import Asked, Events, Reply, Server, refusal
from tests.http.world import SOURCE, FakeTime, actors, config, world

DAY = ("2024-03-09", "2024-03-09")
LINKS = SOURCE + 'pagination "link_header" {}'
SECRET = "s3cret-of-the-test"


@pytest.fixture
def api(server: Server) -> Events:
    made = Events(server)
    made.say("2024-03-09", "ada", "bob", "cy")
    return made


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return make_key()


PLAIN = {
    "header": (f'auth "header" {{ value = "SSWS {SECRET}" }}', "authorization", f"SSWS {SECRET}"),
    "bearer": (f'auth "bearer" {{ token = "{SECRET}\\n" }}', "authorization", f"Bearer {SECRET}"),
    "basic": (
        f'auth "basic" {{ username = "me" password = "{SECRET}" }}',
        "authorization",
        "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode(),
    ),
    "api_key": (f'auth "api_key" {{ name = "X-Key" value = "{SECRET}" }}', "x-key", SECRET),
}


@pytest.mark.parametrize("name", PLAIN)
def test_every_request_carries_the_header(api: Events, tmp_path: Path, name: str) -> None:
    block, header, value = PLAIN[name]
    made = world(tmp_path, config(api.server.url, LINKS, block))
    assert made.collect(*DAY).is_done
    assert [one.headers[header] for one in api.server.asked] == [value] * 2


def test_a_key_in_the_query_is_on_every_page_once(api: Events, tmp_path: Path) -> None:
    block = f'auth "api_key" {{ name = "key" value = "{SECRET}" in = "query" }}'
    made = world(tmp_path, config(api.server.url, LINKS, block))
    assert made.collect(*DAY).is_done
    assert api.server.params("key") == [SECRET] * 2
    assert all(one.target.count("key=") == 1 for one in api.server.asked)
    assert SECRET not in str(made.rows("tp_source_location", "audit.x"))


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_of_fixed_credentials_is_final(api: Events, tmp_path: Path, status: int, clock: FakeTime) -> None:
    api.server.faults = [refusal(status, {"message": f"bad token {SECRET}"})] * 9
    summary = world(tmp_path, config(api.server.url, LINKS, PLAIN["bearer"][0])).collect(*DAY)
    assert f"/logs refuses connection.http.api ({status}" in str(summary)
    assert "bad token •••" in str(summary)
    assert "check the credentials of connection.http.api" in str(summary)
    assert len(api.server.asked) == 1


# Tokens


class TokenServer:
    """Gives out tokens at `/token`, and lets in the newest one only."""

    def __init__(self, api: Events, life: int = 3600) -> None:
        self.api, self.life, self.given = api, life, 0
        self.requests: list[Asked] = []
        api.server.answer = self.answer

    def answer(self, asked: Asked) -> Reply:
        if asked.path == "/token":
            self.requests.append(asked)
            self.given += 1
            return Reply({"access_token": f"given-token-{self.given}", "expires_in": self.life})
        if asked.headers.get("authorization") != f"Bearer given-token-{self.given}":
            return refusal(401, {"error": asked.headers.get("authorization")})
        return self.api.answer(asked)


def oauth(api: Events, more: str = "") -> str:
    return f"""auth "oauth2" {{
    token_url = "{api.server.url}/token"
    client_id = "me"
    client_secret = "{SECRET}"
    scope = "logs.read audit.read"
{more}
  }}"""


def test_a_token_is_requested_once_for_all_pages_and_days(api: Events, tmp_path: Path) -> None:
    tokens = TokenServer(api)
    made = world(tmp_path, config(api.server.url, LINKS, oauth(api, 'params = { audience = "x" }')))
    assert made.collect("2024-03-05", "2024-03-09").is_done
    assert actors(made) == ["ada", "bob", "cy"]
    [request] = tokens.requests
    assert request.form == {
        "grant_type": "client_credentials",
        "client_id": "me",
        "client_secret": SECRET,
        "scope": "logs.read audit.read",
        "audience": "x",
    }


def test_the_client_can_log_in_by_basic(api: Events, tmp_path: Path) -> None:
    tokens = TokenServer(api)
    assert world(tmp_path, config(api.server.url, LINKS, oauth(api, 'client_auth = "basic"'))).collect(*DAY).is_done
    login = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert tokens.requests[0].headers["authorization"] == f"Basic {login}"
    assert "client_secret" not in tokens.requests[0].form


def test_a_token_that_expires_in_the_middle_is_renewed(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    tokens = TokenServer(api)

    def revoke(asked: Asked) -> Reply:
        if asked.params.get("after") == "2" and tokens.given == 1:
            tokens.given += 1  # somebody else got one, or it was revoked
        return tokens.answer(asked)

    api.server.answer = revoke
    made = world(tmp_path, config(api.server.url, LINKS, oauth(api)))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["ada", "bob", "cy"]
    assert len(tokens.requests) == 2
    assert clock.slept == []


def test_a_token_is_renewed_before_it_expires(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    tokens = TokenServer(api, life=100)
    made = world(tmp_path, config(api.server.url, LINKS, oauth(api)))
    assert made.collect(*DAY).is_done
    clock.ahead += 60
    assert made.collect(*DAY, overwrite=True).is_done
    assert len(tokens.requests) == 2
    assert not [one for one in api.server.asked if one.headers.get("authorization") == "Bearer given-token-9"]


def test_a_second_refusal_is_final_and_names_the_scope(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    tokens = TokenServer(api)
    api.server.answer = lambda asked: tokens.answer(asked) if asked.path == "/token" else refusal(403)
    summary = world(tmp_path, config(api.server.url, LINKS, oauth(api))).collect(*DAY)
    assert "refuses connection.http.api (403 Forbidden)" in str(summary)
    assert "what they may read: logs.read audit.read" in str(summary)
    assert (len(tokens.requests), len(api.server.asked)) == (2, 4)


def test_a_client_that_gets_no_token_is_named_without_its_secret(api: Events, tmp_path: Path, clock: FakeTime) -> None:
    api.server.answer = lambda asked: refusal(400, {"error": "invalid_client", "sent": asked.form})
    summary = world(tmp_path, config(api.server.url, LINKS, oauth(api))).collect(*DAY)
    assert "/token gives connection.http.api no token (400 Bad Request)" in str(summary)
    assert "invalid_client" in str(summary)
    assert SECRET not in str(summary)


def claims_of(token: str, key: rsa.RSAPrivateKey) -> tuple[dict[str, Any], dict[str, Any]]:
    """Head and claims of a token, whose signature is checked."""
    head, claims, signature = token.split(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    key.public_key().verify(raw, f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
    return tuple(json.loads(base64.urlsafe_b64decode(one + "==")) for one in (head, claims))


def google(api: Events, key: rsa.RSAPrivateKey, directory: Path) -> str:
    facts = {
        "client_email": "reader@project.example",
        "private_key": pem(key),
        "private_key_id": "k1",
        "token_uri": f"{api.server.url}/token",
    }
    credentials = json.dumps(facts).replace("\\", "\\\\").replace('"', '\\"')
    return f"""auth "google" {{
    credentials = "{credentials}"
    scopes      = ["https://scopes.example/audit.readonly"]
    subject     = "admin@domain.example"
  }}"""


def test_a_service_account_signs_for_its_user(api: Events, tmp_path: Path, key: rsa.RSAPrivateKey) -> None:
    tokens = TokenServer(api)
    assert world(tmp_path, config(api.server.url, LINKS, google(api, key, tmp_path))).collect(*DAY).is_done
    form = tokens.requests[0].form
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    head, claims = claims_of(form["assertion"], key)
    assert head == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    assert (claims["iss"], claims["sub"]) == ("reader@project.example", "admin@domain.example")
    assert claims["scope"] == "https://scopes.example/audit.readonly"
    assert claims["aud"] == f"{api.server.url}/token"
    assert claims["exp"] - claims["iat"] == 3600


def test_a_client_with_a_key_signs_instead_of_having_a_secret(
    api: Events, tmp_path: Path, key: rsa.RSAPrivateKey
) -> None:
    tokens = TokenServer(api)
    text = pem(key).replace("\n", "\\n")
    block = oauth(api).replace(f'client_secret = "{SECRET}"', f'private_key = "{text}"\n key_id = "k2"')
    assert world(tmp_path, config(api.server.url, LINKS, block)).collect(*DAY).is_done
    form = tokens.requests[0].form
    head, claims = claims_of(form["client_assertion"], key)
    assert (head["kid"], claims["iss"], claims["sub"]) == ("k2", "me", "me")
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def test_a_clock_that_differs_is_corrected_by_that_of_the_service(
    api: Events, tmp_path: Path, key: rsa.RSAPrivateKey, clock: FakeTime
) -> None:
    there = datetime.now(UTC) - timedelta(hours=3)
    tokens = TokenServer(api)

    def strict(asked: Asked) -> Reply:
        date = ("Date", format_datetime(there, usegmt=True))
        if asked.path == "/token":
            issued = claims_of(asked.form["assertion"], key)[1]["iat"]
            if abs(issued - there.timestamp()) > 60:
                return Reply({"error": "invalid_grant"}, 400, (date,))
        reply = tokens.answer(asked)
        return Reply(reply.body, reply.status, (*reply.headers, date))

    api.server.answer = strict
    made = world(tmp_path, config(api.server.url, LINKS, google(api, key, tmp_path)))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["ada", "bob", "cy"]


# Signatures


def test_a_signature_of_aws_is_that_of_its_own_library(api: Events, tmp_path: Path) -> None:
    block = (
        f'auth "aws_sigv4" {{ service = "es" region = "eu-west-1" access_key = "AKIATEST" secret_key = "{SECRET}" }}'
    )
    source = LINKS.replace('"/logs"', '"/a b/logs"').replace('until = "{to}"', 'until = "{to}", q = "a b&c=d/ü"')
    made = world(tmp_path, config(api.server.url, source, block))
    assert made.collect(*DAY).is_done
    for asked in api.server.asked:
        moment = asked.headers["x-amz-date"]
        request = AWSRequest("GET", api.server.url + asked.target)
        request.context["timestamp"] = moment
        request.headers["x-amz-date"] = moment
        request.headers["x-amz-content-sha256"] = asked.headers["x-amz-content-sha256"]
        request.headers["host"] = asked.headers["host"]
        signer = SigV4Auth(Credentials("AKIATEST", SECRET), "es", "eu-west-1")
        text = signer.string_to_sign(request, signer.canonical_request(request))
        wanted = signer.signature(text, request)
        assert asked.headers["authorization"].endswith(f"Signature={wanted}")


def test_the_signature_of_duo_holds_over_date_method_host_path_and_parameters(api: Events, tmp_path: Path) -> None:
    block = f"""auth "hmac" {{
      key_id      = "DIKEY"
      secret      = "{SECRET}"
      algorithm   = "sha1"
      message     = "{{date}}\\n{{method}}\\n{{host}}\\n{{path}}\\n{{query}}"
      header      = "Authorization"
      basic       = true
      date_header = "Date"
    }}"""
    made = world(tmp_path, config(api.server.url, LINKS, block))
    assert made.collect(*DAY).is_done
    asked = api.server.asked[0]
    query = "since=2024-03-09T00%3A00%3A00Z&until=2024-03-10T00%3A00%3A00Z"
    text = "\n".join([asked.headers["date"], "GET", asked.headers["host"], "/logs", query])
    signature = hmac.new(SECRET.encode(), text.encode(), hashlib.sha1).hexdigest()
    assert asked.headers["authorization"] == "Basic " + base64.b64encode(f"DIKEY:{signature}".encode()).decode()
    assert parsedate_to_datetime(asked.headers["date"])


def test_a_signature_may_be_of_any_shape(api: Events, tmp_path: Path) -> None:
    block = f"""auth "hmac" {{
      key_id           = "k"
      secret           = "{SECRET}"
      encoding         = "base64"
      value            = "v1 {{key_id}}:{{signature}}"
      timestamp_header = "X-Time"
    }}"""
    source = SOURCE.replace("params", 'method = "POST"\n body')
    made = world(tmp_path, config(api.server.url, source, block))
    assert made.collect(*DAY).is_done
    asked = api.server.asked[0]
    text = asked.headers["x-time"].encode() + b"POST/logs" + asked.body
    signature = base64.b64encode(hmac.digest(SECRET.encode(), text, "sha256")).decode()
    assert asked.headers["x-signature"] == f"v1 k:{signature}"
