from __future__ import annotations

import pytest

from tailpipe.config.masking import mask
from tailpipe.config.vocabulary import Vocabulary

WORDS = Vocabulary(
    secrets=frozenset({"door", "doors"}),
    plain=frozenset({"region", "paths", "conf", "front"}),
    blocks=frozenset({"connection", "source"}),
    nested=frozenset({"doors"}),
)


def masked(line: str, words: Vocabulary | None = None) -> str:
    return mask(line, words).text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('secret_key = "hunter2"', 'secret_key = "•••••••"'),
        ('  password="hunter2" # x', '  password="•••••••" #••'),
        ('token: "hunter2", b = "c"', 'token: "•••••••", b = "•"'),
        ('{ "api_key" = "hunter2" }', '{ "api_key" = "•••••••" }'),
        ("my_apikey = `hunter2`", "my_apikey = `•••••••`"),
        ('session_token = "a\\"b" c = "d"', 'session_token = "••••" c = "•"'),
        ('token = "hunter2', 'token = "•••••••'),
        ('token = "', 'token = "'),
        ("token = `hunter2", "token = `•••••••"),
        ("token = hunter2", "token = •••••••"),
        ("token = 12345", "token = •••••"),
        ("token = ab/cd+ef== # x", "token = •••••••••• #••"),
        ('tokens = ["ab", "cd"] region = 1', 'tokens = ["••", "••"] region = 1'),
        ('PASSWORD = "hunter2"', 'PASSWORD = "•••••••"'),
        ('token = "日本"', 'token = "••"'),
        ('door = "hunter2"', 'door = "•••••••"'),
        ('"door" : "hunter2"', '"door" : "•••••••"'),
        ('door "hunter2"', 'door "•••••••"'),
        ('door "hunter2" {', 'door "•••••••" {'),
        ('door == "hunter2"', 'door == "•••••••"'),
        ('door hunter2 = "x"', 'door hunter2 = "•"'),
        ('= "hunter2"', '= "•••••••"'),
        ('"hunter2"', '"•••••••"'),
        ('region = "eu" "hunter2"', 'region = "eu" "•••••••"'),
        ('region = "eu" = "hunter2"', 'region = "eu" = "•••••••"'),
        ('regoin = "eu" unknown = "hunter2"', 'regoin = "eu" unknown = "•••••••"'),
        ('door = env("NAME", "hunter2")', 'door = env("NAME", "•••••••")'),
        ('door = lower("hunter2")', 'door = lower("•••••••")'),
        ('door = true ? "hunter2" : null', 'door = true ? "•••••••" : null'),
        ('doors = { region = "hunter2" } region = "eu"', 'doors = { region = "•••••••" } region = "eu"'),
        ('doors { region = "hunter2" }', 'doors { region = "•••••••" }'),
        ('conf = { "spark.secret" = "hunter2", a = "b" }', 'conf = { "spark.secret" = "•••••••", a = "b" }'),
        ('paths = ["a" door = "hunter2"', 'paths = ["a" door = "•••••••"'),
        ('region = "https://me:hunter2@host"', 'region = "https://me:•••••••@host"'),
    ],
)
def test_the_value_of_a_secret_is_dots_and_keeps_its_columns(line: str, shown: str) -> None:
    assert masked(line, WORDS) == shown
    assert len(shown) == len(line)


@pytest.mark.parametrize(
    "line",
    [
        'token = env("NAME")',
        "has_token = true",
        "token = null",
        'region = "eu-west-1"',
        'front = "open"',
        'connection "aws" "prod" {',
        "door = connection.aws.prod.door",
        'paths = ["a", lower("B")]',
        'conf = { a = "b" }',
        'front-door = "open"',
        "# the token is in the vault",
        "",
    ],
)
def test_everything_else_is_shown(line: str) -> None:
    assert masked(line, WORDS) == line


def test_a_name_in_quotes_is_never_taken_for_a_misspelling() -> None:
    assert masked('regoin = "eu-west-1"', WORDS) == 'regoin = "eu-west-1"'
    assert masked('"regoin" = "hunter2zz"', WORDS) == '"••••••" = "•••••••••"'


@pytest.mark.parametrize("piece", ["a", "secret", "token ", 'token="', "token=[ ", "token = a", "password\\", "-", " "])
def test_a_long_line_takes_one_pass(piece: str) -> None:
    line = piece * (200_000 // len(piece))
    assert len(masked(line)) == len(line)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('door =\n"hunter2"\nregion = "x"\n}\nregion = "eu"', 'door =\n"•••••••"\nregion = "•"\n}\nregion = "eu"'),
        ("door = <<EOT\nhunter2\nEOT\nregion = 1", "door = <<EOT\n•••••••\nEOT\nregion = 1"),
        ("door = <<EOT\nhunter2\n}", "door = <<•••\n•••••••\n•"),
        ('doors = [\n"hunter2"\n"x",\n]\nregion = 1', 'doors = [\n"•••••••"\n"•",\n]\nregion = 1'),
        ('doors = 5\nregion = "hunter2"', 'doors = •\nregion = "•••••••"'),
        ("region = `a\nhunter2` hunter2", "region = `•\n•••••••` •••••••"),
        ('doors = [\nconnection "a" "b" {\nregion = 1', 'doors = [\nconnection "a" "b" {\nregion = 1'),
    ],
)
def test_a_secret_may_take_several_lines(text: str, shown: str) -> None:
    assert masked(text, WORDS) == shown


@pytest.mark.parametrize("piece", ["a", "door ", 'door="', "doors={ ", 'x = "${', "a = `", "<<", "# a\n", "{", "door("])
def test_a_long_text_takes_one_pass_also_with_a_vocabulary(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    assert len(masked(text, WORDS)) == len(text)


def test_a_message_does_not_quote_what_is_hidden() -> None:
    found = mask('door = "hunter2 more" region = "prod" 8hunter', WORDS)
    assert found.message('"hunter2" or "prod" in hunter2 more') == '"•••" or "prod" in ••• more'
