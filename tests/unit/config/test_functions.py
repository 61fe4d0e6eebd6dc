from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from tailpipe.config.evaluator import Evaluator
from tailpipe.config.functions import FUNCTIONS, arity, kind_of
from tailpipe.config.parser import parse
from tailpipe.config.syntax import Name
from tailpipe.config.text import Problem
from tests.unit.config.world import AROUND


def evaluate(text: str, directory: Path | None = None) -> Any:
    """The value of an expression; a name stands for null."""
    body, problems = parse(f"a = {text}\n")
    assert not problems, [problem.message for problem in problems]

    def resolve(_: Name) -> None:
        return None

    return Evaluator(dataclasses.replace(AROUND, directory=directory), resolve).value(body.attributes[0].value)


def mistake(text: str, directory: Path | None = None) -> str:
    with pytest.raises(Problem) as caught:
        evaluate(text, directory)
    return caught.value.message


def test_these_are_the_functions_and_no_others() -> None:
    assert " ".join(sorted(FUNCTIONS)) == (
        "coalesce concat env file format formatdate join jsondecode lower pathexpand replace split timeadd timestamp "
        "trimspace upper"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('env("BUCKET")', "my-logs"),
        ('env("EMPTY")', ""),
        ('env("EMPTY", "x")', ""),
        ('env("NOT_SET", "x")', "x"),
        ('env("NOT_SET", 5)', 5),
        ("timestamp()", "2024-03-01T12:00:00Z"),
        ('timeadd(timestamp(), "-168h")', "2024-02-23T12:00:00Z"),
        ('timeadd(timestamp(), "-365d")', "2023-03-02T12:00:00Z"),
        ('timeadd(timestamp(), "1w")', "2024-03-08T12:00:00Z"),
        ('timeadd("2024-03-01T12:00:00+02:00", "0s")', "2024-03-01T10:00:00Z"),
        ('timeadd("0999-12-31", "1d")', "1000-01-01T00:00:00Z"),
        ('timeadd("0001-01-01", "1s")', "0001-01-01T00:00:01Z"),
        ('formatdate("YYYY-MM-DD", timeadd(timestamp(), "-168h"))', "2024-02-23"),
        ('formatdate("hh", "2024-03-01T12:00:00+02:00")', "12"),
        ('pathexpand("~")', "/home/me"),
        ('pathexpand("~/logs")', "/home/me/logs"),
        ('pathexpand("~root/logs")', "~root/logs"),
        ('pathexpand("/a/~/b")', "/a/~/b"),
        ('join(", ", ["a", 1, true, 1.5, 2.0])', "a, 1, true, 1.5, 2"),
        ('join(", ", [])', ""),
        ('split(",", "a,b,,c")', ["a", "b", "", "c"]),
        ('split(",", "")', [""]),
        ('split("", "abc")', ["a", "b", "c"]),
        ('concat(["a"], [], ["b", 1])', ["a", "b", 1]),
        ("concat()", []),
        ('lower("ÄB")', "äb"),
        ('upper("äb")', "ÄB"),
        ('trimspace("  a b\\n")', "a b"),
        ('replace("a.b.c", ".", "-")', "a-b-c"),
        ('replace("a1b22", "/[0-9]+/", "#")', "a#b#"),
        ('replace("john smith", "/(\\\\w+) (\\\\w+)/", "$2 $1")', "smith john"),
        ('replace("a/b", "/", "-")', "a-b"),
        ('replace("' + "a" * 40 + '!", "/(a+)+$/", "-")', "a" * 40 + "!"),  # Python's own would take days
        ('replace("ab", "//", "-")', "-a-b-"),
        ("replace(`a`, `/a/`, `C:\\dir`)", "C:\\dir"),
        ("replace(`[a]`, `/[[]/`, ``)", "a]"),
        ('format("%s-%d-%5.2f-%t-%%", "a", 5, 1.005, true)', "a-5- 1.00-true-%"),
        ('format("%03d|%-4s|%+d|%x|%X|%o", 7, "a", 7, 255, 255, 8)', "007|a   |+7|ff|FF|10"),
        ('format("%v %v %v", null == null, 1.0, "x")', "true 1 x"),
        ('format("%v %q", ["a", 1], "é\\"")', '["a", 1] "é\\""'),
        ('format("%v", { a = null })', '{"a": null}'),
        ('format("%d", 2.0)', "2"),
        ('format("%e %g", 12345.678, 0.5)', "1.234568e+04 0.5"),
        ('format("plain")', "plain"),
        ('coalesce(null, "", "a", "b")', "a"),
        ("coalesce(null, 0, 1)", 0),
        ("coalesce(null, false)", False),
        ('coalesce("", null)', None),
        ("coalesce()", None),
        ('jsondecode(`{"a": [1, 2.5, true, null, "x"]}`)', {"a": [1, 2.5, True, None, "x"]}),
        ('jsondecode("5")', 5),
    ],
)
def test_a_function_gives(text: str, value: object) -> None:
    found = evaluate(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('env("NOT_SET")', 'env: the environment variable "NOT_SET" is not set'),
        ('env("NOT_SET", null)', 'env: the environment variable "NOT_SET" is not set'),
        ("env(5)", "env: expected the name of a variable, got a number"),
        ("env()", '"env" takes 1 to 2 arguments, not 0'),
        ("timestamp(1)", '"timestamp" takes no arguments, not 1'),
        ('timeadd("x", "1d")', 'timeadd: "x" is not a time such as 2024-01-31T10:00:00Z'),
        ('timeadd(timestamp(), "x")', 'timeadd: "x" is not a duration such as -168h, 1h30m, 7d or 2w'),
        ('timeadd(timestamp(), "-9999999d")', "timeadd: the time is out of range"),
        ('timeadd("0001-01-01T00:00:00+10:00", "0s")', "timeadd: the time is out of range"),
        ("timeadd(timestamp(), 5)", "timeadd: expected text, got a number"),
        ("formatdate(null, timestamp())", "formatdate: expected text, got null"),
        ('formatdate("YYYY", 5)', "formatdate: expected text, got a number"),
        ("pathexpand([])", "pathexpand: expected text, got a list"),
        ('join("-", "a")', "join: expected a list, got text"),
        ('join("-", null)', "join: expected a list, got null"),
        ('join("-", [["a"]])', "join: a list cannot be part of a text"),
        ('join("-", [null])', "join: null cannot be part of a text"),
        ('split(",", ["a"])', "split: expected text, got a list"),
        ('concat(["a"], "b")', "concat: expected a list, got text"),
        ("lower(true)", "lower: expected text, got a boolean"),
        ("upper({})", "upper: expected text, got a map"),
        ("trimspace()", '"trimspace" takes 1 argument, not 0'),
        ('replace("a", "/(/", "")', "replace: invalid regular expression: missing ): ("),
        ('replace("a", "/a/", "$3")', "replace: invalid regular expression: there is no group $3"),
        ('replace("a", "/a(?=b)/", "")', "replace: invalid regular expression: invalid perl operator: (?="),
        ('replace("a", "/a{9999}/", "")', "replace: invalid regular expression: "),
        ('format("%d", "a")', 'format: "%d" takes a number, not text'),
        ('format("%d", true)', 'format: "%d" takes a number, not a boolean'),
        ('format("%t", 1)', 'format: "%t" takes true or false, not a number'),
        ('format("%s")', 'format: there is no value for "%s"'),
        ('format("x", 1)', "format: there is 1 value too many for the layout"),
        ('format("x", 1, 2)', "format: there are 2 values too many for the layout"),
        ('format("%y", 1)', 'format: there is no "%y"; use %s, %d, %f, %t, %x, %q or %%'),
        ('format("%99999d", 1)', 'format: "%99999d" is too wide'),
        ('format("%.9999f", 1)', 'format: "%.9999f" is too wide'),
        (f'format("%f", {"9" * 399})', 'format: the number is too large for "%f"'),
        ('format("%s", null)', "format: null cannot be part of a text"),
        ('jsondecode("")', "jsondecode: not JSON: expecting value at line 1, column 1 of it"),
        ('jsondecode("{a: 1}")', "jsondecode: not JSON: expecting property name enclosed in double quotes at line 1"),
        ('jsondecode("NaN")', "jsondecode: not JSON: NaN is no number there"),
        ('jsondecode("1e999")', "jsondecode: the number 1e999 is too large"),
        ("jsondecode(5)", "jsondecode: expected text, got a number"),
        ('file("a")', "file: there is no directory to read files from"),
        ("nothing()", 'there is no function "nothing"'),
    ],
)
def test_a_function_refuses(text: str, message: str) -> None:
    assert mistake(text).startswith(message)


def test_json_nested_too_deep_is_a_problem_and_not_a_crash() -> None:
    assert mistake('jsondecode("' + "[" * 100_000 + '")') == "jsondecode: the JSON is nested too deep"


def test_what_grows_too_large_is_refused() -> None:
    many = ", ".join(["x"] * 20)
    assert mistake('join(",", split("", replace("' + "a" * 600_000 + '", "a", "bb")))') == (
        "the value is larger than 1,000,000"
    )
    assert evaluate(f'join(",", split(", ", "{many}"))') == ",".join(["x"] * 20)


def test_an_environment_variable_that_is_missing_comes_with_what_to_do() -> None:
    with pytest.raises(Problem) as caught:
        evaluate('"${env("NOT_SET")}"')
    assert caught.value.hint == 'set it, or give a value for that case: env("NOT_SET", "…")'


# Files


def test_a_file_is_read_from_the_directory_of_the_config(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.txt").write_text("grüße\n", encoding="utf-8")
    assert evaluate('file("below/a.txt")', tmp_path) == "grüße\n"
    assert evaluate('file("./below/../below/a.txt")', tmp_path) == "grüße\n"


def test_a_file_outside_of_the_directory_is_refused_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    config = tmp_path / "config"
    config.mkdir()
    (config / "link.txt").symlink_to(tmp_path / "secret.txt")
    for path in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "~/secret.txt", "a/../../secret.txt"):
        assert mistake(f'file("{path}")', config) == f'file: "{path}" is outside the config directory'


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "latin.txt").write_bytes(b"gr\xfc\xdfe")
    (tmp_path / "large.txt").write_bytes(b"x" * 1_000_001)
    os.mkfifo(tmp_path / "pipe")
    assert mistake('file("none.txt")', tmp_path) == 'file: cannot read "none.txt": No such file or directory'
    assert mistake('file("loop")', tmp_path).startswith('file: cannot read "loop": ')
    assert mistake('file("latin.txt")', tmp_path) == 'file: "latin.txt" is not UTF-8 text'
    assert mistake('file("large.txt")', tmp_path) == 'file: "large.txt" is larger than 1,000,000 bytes'
    assert mistake('file(".")', tmp_path) == 'file: "." is not a file'
    assert mistake('file("pipe")', tmp_path) == 'file: "pipe" is not a file'
    assert mistake('file("a\\u0000b")', tmp_path).startswith("file: ")


# What functions are made of


def test_the_arity_follows_from_the_signature() -> None:
    assert arity(FUNCTIONS["timestamp"]) == (0, 0)
    assert arity(FUNCTIONS["env"]) == (1, 2)
    assert arity(FUNCTIONS["replace"]) == (3, 3)
    assert arity(FUNCTIONS["concat"]) == (0, None)
    assert arity(FUNCTIONS["format"]) == (1, None)


def test_every_value_has_a_name_for_its_type() -> None:
    kinds = {"null": None, "boolean": True, "text": "", "number": 1.5, "list": [], "map": {}, "reference": object()}
    assert {kind: kind_of(value) for kind, value in kinds.items()} == {kind: kind for kind in kinds}
