"""No secret in any address, log, manifest, rejected row, listing or error, whatever the server or the config does."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailpipe.cli.app import app
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.errors import ConfigError, UsageError
from tailpipe.model.redaction import REDACTOR
from tailpipe.plugin import Window
from tests.http.server import Asked, Events, Reply, Server, refusal
from tests.http.world import SOURCE, FakeTime, config, world

DAY = ("2024-03-09", "2024-03-09")
LINKS = SOURCE + 'pagination "link_header" {}'
SECRET = "s3cret/of the+test"
BASIC = base64.b64encode(f"me:{SECRET}".encode()).decode()

AUTHS = {
    "header": f'auth "header" {{ name = "X-Door" value = "Door {SECRET}" }}',
    "bearer": f'auth "bearer" {{ token = "{SECRET}" }}',
    "basic": f'auth "basic" {{ username = "me" password = "{SECRET}" }}',
    "query": f'auth "api_key" {{ name = "door" value = "{SECRET}" in = "query" }}',
    "oauth2": f'auth "oauth2" {{ token_url = "URL/token" client_id = "me" client_secret = "{SECRET}" }}',
    "hmac": f'auth "hmac" {{ secret = "{SECRET}" key_id = "k" header = "X-Door" basic = true }}',
}


def said(asked: Asked) -> str:
    """All that the server was sent."""
    return f"{asked.target} {json.dumps(asked.headers)} {asked.body.decode()}"


def away(asked: Asked) -> Reply:
    return refusal(
        302, Location=f"http://127.0.0.1:1/?{asked.target.partition('?')[2]}&door={SECRET.replace(' ', '%20')}"
    )


ATTACKS: dict[str, Callable[[Asked], Reply]] = {
    "repeats the request in a refusal": lambda asked: refusal(400, said(asked).encode()),
    "repeats the request in a 401": lambda asked: refusal(401, said(asked).encode()),
    "repeats the request in a page": lambda asked: Reply(b"<pre>" + said(asked).encode()),
    "repeats the request as an error": lambda asked: Reply({"error": said(asked)}),
    "repeats the request as a header": lambda asked: refusal(500, X_Debug=asked.target),
    "redirects with the secret": away,
    "links with the secret": lambda asked: Reply(
        [], headers=(("Link", f'<http://127.0.0.1:1{asked.target}>; rel="next"'),)
    ),
    "hangs up": lambda asked: Reply(b"[", cut=0, has_length=True),
    "gives events": lambda asked: Reply(
        [{"id": "1", "time": "2024-03-09T01:00:00Z", "actor": "ada"}, {"actor": "no key"}]
    ),
}


def leaks(root: Path, *texts: str) -> list[str]:
    """Where one of the secrets stands; the config itself may hold them."""
    secrets = (SECRET, "s3cret", BASIC, "given-token", "s3cret%2Fof")
    files = {str(path): path.read_bytes().decode("latin-1") for path in root.rglob("*") if path.is_file()}
    found = {**files, **{f"text {number}": text for number, text in enumerate(texts)}}
    return [f"{one} in {place}" for place, text in found.items() for one in secrets if one in text]


@pytest.mark.parametrize("auth", AUTHS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_secret_is_shown_or_stored(
    server: Server, tmp_path: Path, clock: FakeTime, caplog: pytest.LogCaptureFixture, auth: str, attack: str
) -> None:
    caplog.set_level(logging.DEBUG)

    def answer(asked: Asked) -> Reply:
        return Reply({"access_token": "given-token-1"}) if asked.path == "/token" else ATTACKS[attack](asked)

    server.answer = answer
    text = config(server.url, LINKS, AUTHS[auth].replace("URL", server.url) + "\n max_retries = 1")
    made = world(tmp_path, text)
    summary = made.collect(*DAY)
    assert any(
        said(one).count("s3cret") or "authorization" in one.headers or "x-door" in one.headers for one in server.asked
    )
    events = " ".join(map(repr, made.seen))
    assert leaks(tmp_path / "home", str(summary), events, caplog.text) == []
    assert summary.is_done == (attack == "gives events")
    assert summary.accounts.rejected == (attack == "gives events")


@pytest.mark.parametrize("value", ["t0ken\nX-Other: 1", "t0ken-ü-\u20ac"])
def test_a_token_that_is_no_header_is_refused_without_showing_it(server: Server, tmp_path: Path, value: str) -> None:
    block = f'auth "bearer" {{ token = "{value}" }}'.replace("\n", "\\n")
    summary = world(tmp_path, config(server.url, LINKS, block)).collect(*DAY)
    assert 'the value of the header "Authorization" holds a line break, or a character' in str(summary)
    assert "t0ken" not in str(summary)
    assert server.asked == []


def test_a_secret_in_the_path_is_refused_because_it_would_be_stored(server: Server, tmp_path: Path) -> None:
    REDACTOR.learn(["k3y-of-the-environment"])  # as the command line does with variables that look like secrets
    source = LINKS.replace('"/logs"', '"/v1/k3y-of-the-environment/logs"')
    made = world(tmp_path, config(server.url, source))
    with pytest.raises(UsageError, match="contains a secret, which would be stored"):
        list(made.config.partitions["audit.x"].sources[0].artifacts(Window.of_day(date(2024, 3, 9))))
    assert not made.collect(*DAY).is_done
    assert "k3y-of" not in "".join(
        path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()
    )


CONNECTION = 'connection "http" "api" {\n'
REFUSED = {
    "a password in the address": 'connection "http" "api" { base_url = "https://me:s3cret-1@api.example" }',
    "a password of the proxy": 'connection "http" "api" { proxy = "http://me:s3cret-1@proxy:3128" }',
    "a token in clear": CONNECTION + ' base_url = "http://api.example"\n auth "bearer" { token = "s3cret-1" }\n}',
    "a misspelt block": 'connection "http" "api" { auth "beerer" { token = "s3cret-1" } }',
    "a misspelt argument": 'connection "http" "api" { auth "bearer" { tokken = "s3cret-1" } }',
    "a block without type": 'connection "http" "api" { auth { token = "s3cret-1" } }',
    "an argument of another variant": 'connection "http" "api" { auth "bearer" { password = "s3cret-1" } }',
    "two of them": CONNECTION + 2 * 'auth "bearer" { token = "s3cret-1" }\n' + "}",
    "written as an argument": 'connection "http" "api" { auth = "s3cret-1" }',
    "a line break in a header": 'connection "http" "api" {\n auth "header" { value = s3cret-1 }\n}',
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_in_the_config_shows_no_secret(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _ = world(tmp_path, REFUSED[name]).config
    assert "s3cret-1" not in render_diagnostics(caught.value.diagnostics)


def test_what_is_listed_and_shown_has_no_secret(server: Server, tmp_path: Path) -> None:
    Events(server).say("2024-03-09", "ada")
    params = '{ since = "{from}", until = "{to}", api_token = "s3cret-param" }'
    source = LINKS.replace('{ since = "{from}", until = "{to}" }', params)
    more = '\n proxy_username = "me"\n proxy_password = "s3cret-proxy"\n proxy = ""'
    (tmp_path / "install" / "config").mkdir(parents=True)
    text = config(server.url, source, AUTHS["basic"] + more)
    (tmp_path / "install" / "config" / "main.tpc").write_text(text)
    env = {"TAILPIPE_INSTALL_DIR": str(tmp_path / "install"), "HOME": str(tmp_path), "TAILPIPE_LOG_LEVEL": "debug"}
    calls = [
        ["config", "show"],
        ["config", "show", "--output", "json"],
        ["connection", "show", "http.api"],
        ["partition", "show", "audit.x"],
        ["source", "list"],
        ["source", "test", "audit.x", "--from", "2024-03-09", "--to", "2024-03-09"],
        ["source", "test", "audit.x", "--from", "2024-03-09", "--to", "2024-03-09", "--output", "json"],
    ]
    printed = []
    for call in calls:
        done = CliRunner().invoke(app, call, env=env)
        assert done.exit_code == 0, (call, done.output, done.exception)
        printed.append(done.output)
    assert "s3cret" not in "".join(printed)
    assert 'auth "basic"' in printed[0]
    assert '"type": "basic"' in printed[1]
    assert "ada" in printed[5]
    assert "opened" in printed[5]


def test_a_password_that_is_a_word_of_the_address_is_no_problem(server: Server, tmp_path: Path) -> None:
    REDACTOR.learn(["logs"])
    block = 'auth "basic" { username = "logs" password = "logs" }'
    assert world(tmp_path, config(server.url, LINKS, block)).collect(*DAY).is_done
