from __future__ import annotations

import pytest

from tailpipe.config.parser import parse
from tailpipe.config.printer import literal, print_body, print_expression, quote
from tailpipe.config.syntax import Binary, Body, Expression, List, Literal, Map, Name, Template, Unary


def again(value: Expression) -> Expression:
    """The value, printed and read."""
    body, problems = parse(f"a = {print_expression(value)}\n")
    assert not problems, [problem.message for problem in problems]
    return body.attributes[0].value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Literal("a"), '"a"'),
        (Literal('say "hi"'), '`say "hi"`'),
        (Literal("back\\slash"), "`back\\slash`"),
        (Literal('`"`'), '"`\\"`"'),
        (Literal("two\nlines"), '"two\\nlines"'),
        (Literal("${a} %{b} $"), '"$${a} %{b} $"'),
        (Literal("\x1b\u202e\U000e0001"), '"\\u001b\\u202e\\U000e0001"'),
        (Literal(5), "5"),
        (Literal(-0.5), "-0.5"),
        (Literal(1e100), "1e+100"),
        (Literal(True), "true"),
        (Literal(None), "null"),
        (Template(["a$", Name(["b"]), "c"]), '"a\\u0024${b}c"'),
        (List([Literal(1), Literal(2)]), "[1, 2]"),
        (Map([]), "{}"),
        (Map([(Literal("a"), Literal(1)), (Literal("b c"), Literal(2))]), '{ a = 1, "b c" = 2 }'),
        (Map([(Literal(True), Literal(1)), (Name(["x"]), Literal(2))]), "{ (true) = 1, (x) = 2 }"),
        (Unary("-", Literal(5)), "-(5)"),
        (Binary("-", Literal(1), Literal(-5)), "1 - (-5)"),
        (Binary("*", Binary("+", Literal(1), Literal(2)), Literal(3)), "(1 + 2) * 3"),
    ],
)
def test_an_expression_is_printed_so_that_it_is_read_back(value: Expression, text: str) -> None:
    assert print_expression(value) == text
    assert again(value) == value


def test_a_long_list_or_map_takes_a_line_for_each_item() -> None:
    items: list[Expression] = [Literal("x" * 30)] * 4
    assert print_expression(List(items), "  ") == "[\n" + f'    "{"x" * 30}",\n' * 4 + "  ]"
    pairs: list[tuple[Expression, Expression]] = [(Literal(f"k{n}"), Literal("x" * 30)) for n in range(4)]
    assert print_expression(Map(pairs)).splitlines()[1] == f'  k0 = "{"x" * 30}",'
    assert again(List(items)) == List(items)
    assert again(Map(pairs)) == Map(pairs)


def test_a_body_is_printed_with_one_column_of_equals_signs_and_blank_lines_between_blocks() -> None:
    text = 'a {\n  b   = 1\n  cde = "x"\n\n  f "g" {\n  }\n\n  h {\n    i = 2\n  }\n}\n\nj {\n}\n'
    body, problems = parse(text)
    assert not problems
    assert print_body(body) == text


def test_an_empty_body_is_nothing() -> None:
    assert print_body(Body()) == ""


def test_plain_values_become_literals() -> None:
    found = literal({"a": [1, 2.5, None, True], 5: "x"})
    assert print_expression(found) == '{ a = [1, 2.5, null, true], "5" = "x" }'
    with pytest.raises(TypeError, match="object has no place in a config"):
        literal(object())


def test_quotes_are_escaped_and_printable_characters_are_kept() -> None:
    assert quote('é "日本" \\ \t') == '"é \\"日本\\" \\\\ \\t"'
