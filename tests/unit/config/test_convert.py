from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from tailpipe.config import syntax
from tailpipe.config.convert import Reference, convert
from tailpipe.config.text import Problem
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.option import Secret
from tests.unit.config.world import Acme

ACME = Reference("connection", ("acme", "prod"))
JSONL = Reference("format", ("jsonl", "default"))
WHOLE = (3, 9)


def to(annotation: Any, value: Any) -> Any:
    return convert(annotation, value, syntax.Literal("x", WHOLE), str)


@pytest.mark.parametrize(
    ("annotation", "value", "result"),
    [
        (str, "a", "a"),
        (bool, True, True),
        (int, 5, 5),
        (int, 5.0, 5),
        (int, 10**399, 10**399),
        (float, 5, 5.0),
        (float, 0.5, 0.5),
        (Secret, "a", Secret("a")),
        (Sequence[str], ["a"], ("a",)),
        (list[int], [1, 2.0], (1, 2)),
        (tuple[str, ...], [], ()),
        (Mapping[str, str], {"a": "b"}, {"a": "b"}),
        (dict[str, int], {"a": 1.0}, {"a": 1}),
        (Mapping[str, Sequence[str]], {"a": ["b"]}, {"a": ("b",)}),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], 2, 2),
        (str | None, None, None),
        (str | None, "a", "a"),
        (int | str, "a", "a"),
        (int | Sequence[str], ["a"], ("a",)),
        (Connection, ACME, "connection.acme.prod"),
        (Acme, ACME, "connection.acme.prod"),
        (Acme | None, None, None),
        (Format, JSONL, "format.jsonl.default"),
        (Sequence[Connection], [ACME], ("connection.acme.prod",)),
    ],
)
def test_a_value_becomes_what_the_option_declares(annotation: Any, value: Any, result: Any) -> None:
    found = to(annotation, value)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("annotation", "value", "message", "hint"),
    [
        (str, 5, "expected text, got a number", 'write it in quotes: "…"'),
        (str, True, "expected text, got a boolean", 'write it in quotes: "…"'),
        (str, None, "expected text, got null", ""),
        (str, ["a"], "expected text, got a list", ""),
        (str, ACME, "expected text, got a reference", ""),
        (bool, "true", "expected true or false, got text", "write true without quotes"),
        (bool, 1, "expected true or false, got a number", ""),
        (int, "5", "expected an integer, got text", "write it without quotes"),
        (int, "five", "expected an integer, got text", ""),
        (int, 1.5, "expected an integer, got 1.5", ""),
        (int, True, "expected an integer, got a boolean", ""),
        (float, "0.5", "expected a number, got text", "write it without quotes"),
        (float, False, "expected a number, got a boolean", ""),
        (float, 10**399, "the number is too large", ""),
        (Secret, 5, "expected text, got a number", 'write it in quotes: "…"'),
        (Sequence[str], "a", "expected a list, got text", "write it in brackets: […]"),
        (Sequence[str], 5, "expected a list, got a number", ""),
        (Sequence[str], {"a": 1}, "expected a list, got a map", ""),
        (Mapping[str, str], ["a"], "expected a map, got a list", "write { name = value }"),
        (Mapping[str, str], {"a": 1}, "expected text, got a number", 'write it in quotes: "…"'),
        (Literal["low", "high"], "hihg", 'expected one of "low", "high", got "hihg"', 'did you mean "high"?'),
        (Literal["1", "2"], 1, 'expected one of "1", "2", got a number', 'write "1"'),
        (Literal[1, 0], True, 'expected one of "1", "0", got a boolean', ""),
        (Literal["a"], ["a"], 'expected one of "a", got a list', ""),
        (int | Sequence[str], True, "expected integer or list of text, got a boolean", ""),
        (Connection, "x", "expected a connection, got text", "write connection.TYPE.NAME"),
        (Acme, "connection.acme.prod", "expected a connection, got text", "write it without quotes"),
        (Acme, JSONL, "expected a connection, got format.jsonl.default", "write connection.acme.NAME"),
        (
            Acme,
            Reference("connection", ("aws", "prod")),
            'expected a connection of type "acme", got connection.aws.prod',
            "write connection.acme.NAME",
        ),
        (Format, ACME, "expected a format, got connection.acme.prod", "write format.TYPE.NAME"),
        (Format, None, "expected a format, got null", "write format.TYPE.NAME"),
        (Format, "nothing", "expected a format, got text", "write format.TYPE.NAME"),
    ],
)
def test_a_value_of_another_type_is_refused(annotation: Any, value: Any, message: str, hint: str) -> None:
    with pytest.raises(Problem) as caught:
        to(annotation, value)
    assert (caught.value.message, caught.value.hint, caught.value.span) == (message, hint, WHOLE)


def test_the_problem_is_at_the_item_that_is_wrong() -> None:
    items: list[syntax.Expression] = [syntax.Literal("a", (1, 4)), syntax.Literal(5, (6, 7))]
    with pytest.raises(Problem) as caught:
        convert(Sequence[str], ["a", 5], syntax.List(items, (0, 8)), str)
    assert caught.value.span == (6, 7)
    pair: list[tuple[syntax.Expression, syntax.Expression]] = [(syntax.Literal("k", (2, 3)), syntax.Literal(5, (6, 7)))]
    with pytest.raises(Problem) as caught:
        convert(Mapping[str, str], {"k": 5}, syntax.Map(pair, (0, 9)), str)
    assert caught.value.span == (6, 7)


def test_a_secret_is_never_part_of_the_message() -> None:
    for value in (12345678, ["hunter2"], {"a": "hunter2"}):
        with pytest.raises(Problem) as caught:
            to(Secret, value)
        assert "hunter2" not in caught.value.message + caught.value.hint
        assert "12345678" not in caught.value.message + caught.value.hint


def test_a_reference_that_cannot_be_made_is_a_problem_at_its_place() -> None:
    def refuse(_: Reference) -> None:
        raise ValueError("it depends on itself")

    with pytest.raises(Problem, match="it depends on itself") as caught:
        convert(Acme, ACME, syntax.Name(["x"], WHOLE), refuse)
    assert caught.value.span == WHOLE
