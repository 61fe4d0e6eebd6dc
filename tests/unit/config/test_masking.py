from __future__ import annotations

import pytest

from tailpipe.config.masking import masked


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('secret_key = "hunter2"', 'secret_key = "•••••••"'),
        ('  password="hunter2" # x', '  password="•••••••" # x'),
        ('token: "hunter2", b = "c"', 'token: "•••••••", b = "c"'),
        ('{ "api_key" = "hunter2" }', '{ "api_key" = "•••••••" }'),
        ("my_apikey = `hunter2`", "my_apikey = `•••••••`"),
        ('session_token = "a\\"b" c = "d"', 'session_token = "••••" c = "d"'),
        ('token = "hunter2', 'token = "•••••••'),
        ('token = "', 'token = "'),
        ("token = `hunter2", "token = `•••••••"),
        ("token = hunter2", "token = •••••••"),
        ("token = 12345", "token = •••••"),
        ("token = ab/cd+ef== # x", "token = •••••••••• # x"),
        ('tokens = ["ab", "cd"] x = 1', 'tokens = ["••", "••"] x = 1'),
        ('PASSWORD = "hunter2"', 'PASSWORD = "•••••••"'),
        ('token = "日本"', 'token = "••"'),
        ('door = "hunter2"', 'door = "•••••••"'),
        ('"door" : "hunter2"', '"door" : "•••••••"'),
    ],
)
def test_the_value_of_a_secret_is_dots_and_keeps_its_columns(line: str, shown: str) -> None:
    assert masked(line, frozenset({"door"})) == shown
    assert len(shown) == len(line)


@pytest.mark.parametrize(
    "line",
    [
        'token = env("NAME")',
        "has_token = true",
        "token = null",
        'region = "eu-west-1"',
        'doors = "open"',
        'front-door = "open"',
        "# the token is in the vault",
        'secret "label" {',
        "",
    ],
)
def test_everything_else_is_shown(line: str) -> None:
    assert masked(line, frozenset({"door"})) == line


@pytest.mark.parametrize("piece", ["a", "secret", "token ", 'token="', "token=[ ", "token = a", "password\\", "-", " "])
def test_a_line_of_a_megabyte_takes_one_pass(piece: str) -> None:
    line = piece * (1_000_000 // len(piece))
    assert len(masked(line)) == len(line)
