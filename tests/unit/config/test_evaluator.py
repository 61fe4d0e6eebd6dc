from __future__ import annotations

from typing import Any

import pytest

from tailpipe.config.evaluator import Evaluator
from tailpipe.config.parser import parse
from tailpipe.config.syntax import Name
from tailpipe.config.text import Problem
from tests.unit.config.world import AROUND

KNOWN = {"x": 5, "items": ["a", "b"], "map": {"a": 1, "deep": {"b": [10, 20]}}, "nothing": None}


def resolve(name: Name) -> Any:
    return KNOWN[name.parts[0]]


def evaluate(text: str) -> Any:
    body, problems = parse(f"a = {text}\n")
    assert not problems, [problem.message for problem in problems]
    return Evaluator(AROUND, resolve).value(body.attributes[0].value)


def mistake(text: str) -> tuple[str, str]:
    """The message, and the part of the text that it points at."""
    with pytest.raises(Problem) as caught:
        evaluate(text)
    return caught.value.message, f"a = {text}\n"[slice(*caught.value.span)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 / 2", 3.5),
        ("6 / 2", 3),
        ("7 % 3", 1),
        ("-7 % 3", 2),
        ("-x", -5),
        ("1.5 + 1.5", 3.0),
        ("1e3", 1000.0),
        ("2 * 4611686018427387904", 9223372036854775808),
        ("1 < 2", True),
        ("2 <= 1.5", False),
        ("2 > 1 && 2 >= 2", True),
        ("!true", False),
        ("1 == 1.0", True),
        ('1 == "1"', False),
        ("true == 1", False),
        ("null == null", True),
        ('["a"] == ["a"]', True),
        ("{ a = 1 } != { a = 2 }", True),
        ("true ? 1 : 2", 1),
        ('x == 5 ? "five" : "other"', "five"),
        ("false ? nowhere : 2", 2),
        ("true || 1 / 0 == 1", True),
        ("false && 1 / 0 == 1", False),
        ("items[1]", "b"),
        ('map["a"]', 1),
        ("[1, [2, 3]][1][0]", 2),
        ('map["deep"].b[1]', 20),
        ("{ a = { b = 5 } }.a.b", 5),
        ('"a${x}b"', "a5b"),
        ('"${x}"', 5),
        ('"${items}"', ["a", "b"]),
        ('"${true}-${1.0}-${0.5}"', "true-1-0.5"),
        ('{ (upper("k")) = 1, 5 = 2, 1.0 = 3 }', {"K": 1, "5": 2, "1": 3}),
        ("null", None),
    ],
)
def test_an_expression_gives(text: str, value: object) -> None:
    found = evaluate(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ('1 + "a"', "expected a number, got text", '"a"'),
        ("true + 1", "expected a number, got a boolean", "true"),
        ("-null", "expected a number, got null", "null"),
        ('"a" < "b"', "expected a number, got text", '"a"'),
        ("!1", "expected true or false, got a number", "1"),
        ('true && "yes"', "expected true or false, got text", '"yes"'),
        ("nothing ? 1 : 2", "expected true or false, got null", "nothing"),
        ("1 / 0", "division by zero", "0"),
        ("1 % (1 - 1)", "division by zero", "1 - 1"),
        ("1e308 * 10", "the number is too large", "1e308 * 10"),
        ("1e308 * 10 - 1e308 * 10", "the number is too large", "1e308 * 10"),
        (f"{'9' * 300} * {'9' * 300}", "the number is too large", f"{'9' * 300} * {'9' * 300}"),
        (f"{'9' * 350} * 0.5", "the number is too large", f"{'9' * 350} * 0.5"),
        (f"{'9' * 350} / 3", "the number is too large", f"{'9' * 350} / 3"),
        ("items[2]", "the list has 2 items, none at 2", "2"),
        ("items[-1]", "the list has 2 items, none at -1", "-1"),
        ("[1][1]", "the list has 1 item, none at 1", "1"),
        ('items["a"]', "expected an integer as the list index, got text", '"a"'),
        ("items[true]", "expected an integer as the list index, got a boolean", "true"),
        ("items[0.5]", "expected an integer as the list index, got a number", "0.5"),
        ('map["b"]', 'the map has no key "b"', '"b"'),
        ("map[0]", "expected text as the key, got a number", "0"),
        ("{ a = 1 }.b", 'the map has no key "b"', "b"),
        ("x[0]", "a number has no parts", "x"),
        ("nothing[0]", "null has no parts", "nothing"),
        ('"a"[0]', "text has no parts", '"a"'),
        ("{ a = 1, a = 2 }", 'the key "a" is duplicated', "a"),
        ("{ 1 = 1, (1.0) = 2 }", 'the key "1" is duplicated', "1.0"),
        ("{ (null) = 1 }", "expected text as the key, got null", "null"),
        ("{ (true) = 1 }", "expected text as the key, got a boolean", "true"),
        ('"a${items}"', "a list cannot be part of a text", "items"),
        ('"a${nothing}"', "null cannot be part of a text", "nothing"),
        ('"a${map}"', "a map cannot be part of a text", "map"),
        ("lowr(1)", 'there is no function "lowr"', "lowr"),
        ("lower(1, 2)", '"lower" takes 1 argument, not 2', "lower(1, 2)"),
        ("lower(x)", "lower: expected text, got a number", "lower(x)"),
    ],
)
def test_a_mistake_is_told_at_the_part_that_is_wrong(text: str, message: str, where: str) -> None:
    assert mistake(text) == (message, where)


def test_a_key_that_is_there_twice_notes_the_first() -> None:
    with pytest.raises(Problem) as caught:
        evaluate("{ a = 1, b = 2, a = 3 }")
    assert caught.value.note == ("first here", (6, 7))


def test_text_that_grows_too_large_is_refused() -> None:
    text = "a" * 600_000
    assert mistake(f'"{text}${{"{text}"}}"')[0] == "the value is larger than 1,000,000"
