"""A secret beside a mistake: whatever single thing is wrong with a config, no diagnostic shows the secret."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tailpipe.config.builder import build_config
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError
from tests.examples import examples
from tests.sampling import campaign
from tests.unit.config.world import AROUND, REGISTRY

CONFIGS = (
    'connection "acme" "prod" {\n  url = "https://acme.example"\n  token = "SECRET"\n  parent = null\n}\n',
    'connection "acme" "prod" { url = "https://acme.example" token = "SECRET" door_code = "SECRET" }\n',
    'connection "acme" "prod" {\n  token = `SECRET` # or `SECRET`\n  url = `https://acme.example`\n}\n',
    'connection "acme" "prod" {\n  token = env("NO_TOKEN", "SECRET")\n  url = env("NO_URL", "x")\n}\n',
    'connection "acme" "prod" {\n  token = lower("${env("NO_TOKEN", "x")}-SECRET")\n}\n',
    'connection "acme" "prod" {\n  token = <<EOT\nSECRET\nSECRET ${lower("SECRET")}\nEOT\n  url = "x"\n}\n',
    'connection "acme" "prod" {\n  token = trimspace(<<-EOT\n    SECRET\n  EOT\n  )\n  door_code = "SECRET"\n}\n',
    'connection "acme" "prod" {\n  tenants = {\n    a = "SECRET"\n    b = "SECRET",\n  }\n  url = "x"\n}\n',
    'connection "acme" "prod" {\n  tenants = { a = "SECRET", "b" : `SECRET` }\n  url = "x"\n}\n',
    'connection "aws" "prod" {\n  endpoint_url = "https://me:SECRET@host.example:9000"\n  region = "eu"\n}\n',
    'connection "aws" "prod" {\n  access_key = "AKIA"\n  secret_key = true ? "SECRET" : "SECRET"\n  region = "eu"\n}\n',
    'partition "acme_raw_log" "x" {\n  source "command" {\n    format = format.jsonl.default\n'
    '    command = ["export"]\n    env = {\n      LOGIN = "SECRET"\n      KEY = "SECRET"\n    }\n'
    '    timeout = "5m"\n  }\n}\n',
    'workspace "default" {\n  spark {\n    conf = { "spark.authenticate.secret" = "SECRET" }\n  }\n}\n',
)
TOKEN = re.compile(r'"(?:\$\{[^}]*\}|[^"\n])*"|`[^`]*`|<<-?\w+|[\w-]+|==|\s+|.')
PLAIN = ("url", "region", "connection")
"""Names of other arguments: what is assigned to one of them is no secret."""
PIECES = (
    *('"', "`", "=", "==", ":", ",", ".", ";", "?", "#", "//", "/*", "<<", "<<EOT", "${", "(", ")", "[", "]", "{", "}"),
    *("\n", " ", "EOT", "null", "5", "token", "env", "nonsense", '"text"', "`text`", *PLAIN),
)


def told(text: str) -> str:
    """All that is printed about a config."""
    try:
        missing = build_config([ConfigText("a.tpc", text)], REGISTRY, AROUND).unresolved
    except ConfigError as error:
        return render_diagnostics(error.diagnostics) + "\n".join(getattr(error, "__notes__", ()))
    return render_diagnostics(missing)


def mutations(tokens: list[str], place: int, piece: str) -> list[list[str]]:
    """The config with one token taken away, doubled, replaced, put before another, or changed with its neighbour."""
    before, token, after = tokens[:place], tokens[place], tokens[place + 1 :]
    is_renamed = piece in PLAIN and "".join(after).lstrip()[:1] in ("=", ":")
    return [
        [*before, *after],
        [*before, token, token, *after],
        [*before, token if is_renamed else piece, *after],
        [*before, piece, token, *after],
        [*before, piece, " ", token, *after],
        [*before, *after[:1], token, *after[1:]],
        [*before, token[:-1], *after],
        [*before, token[1:], *after],
    ]


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    config=st.sampled_from(CONFIGS),
    secret=st.from_regex(r"[a-z][a-z0-9]{7,15}|[A-Za-z][A-Za-z0-9+/]{19}", fullmatch=True),
    place=st.integers(0, 200),
    piece=st.sampled_from(PIECES),
)
def test_no_single_mistake_shows_a_secret(config: str, secret: str, place: int, piece: str) -> None:
    assume(secret not in told(config.replace("SECRET", "")) and secret not in config)
    tokens = TOKEN.findall(config)
    for mutated in mutations(tokens, place % len(tokens), piece):
        text = "".join(mutated).replace("SECRET", secret)
        assert secret not in told(text), text


@pytest.mark.slow
@pytest.mark.parametrize("config", campaign(CONFIGS, 5))
def test_no_mistake_of_any_place_shows_a_secret(config: str) -> None:
    config = config.replace("SECRET", "hunter2zz")
    tokens = TOKEN.findall(config)
    tried = {
        "".join(mutated)
        for place in range(len(tokens))
        for piece in PIECES[place % 3 :: 3]
        for mutated in mutations(tokens, place, piece)
    }
    for text in tried:
        assert "hunter2zz" not in told(text), text
