from __future__ import annotations

import pytest

from tailpipe.config.parser import parse
from tailpipe.config.syntax import Call, Expression, Literal, Name, Template


def read(text: str) -> Expression:
    body, problems = parse(f"a = {text}\n")
    assert not problems, [problem.message for problem in problems]
    return body.attributes[0].value


def mistake(text: str) -> str:
    return parse(f"a = {text}\n")[1][0].message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('""', ""),
        ('"plain"', "plain"),
        (r'"tab\tquote\"back\\slash"', 'tab\tquote"back\\slash'),
        (r'"line\nend\r"', "line\nend\r"),
        (r'"\u00e9 \U0001F600"', "é 😀"),
        ('"%{YEAR:year} is plain text"', "%{YEAR:year} is plain text"),
        ('"$${not} a value"', "${not} a value"),
        ('"costs $5 or $"', "costs $5 or $"),
        ('"$$ and $$${"', "$$ and $${"),
        ('"// no comment # here /* either */"', "// no comment # here /* either */"),
        ('"日本語"', "日本語"),
    ],
)
def test_quoted_text_means_this(text: str, value: str) -> None:
    assert read(text) == Literal(value)


def test_values_stand_in_text() -> None:
    assert read('"a ${b.c} d"') == Template(["a ", Name(["b", "c"]), " d"])
    assert read('"${b}"') == Template([Name(["b"])])
    assert read('"${b}${c}"') == Template([Name(["b"]), Name(["c"])])
    assert read('"${ f("x${y}") }"') == Template([Call("f", [Template(["x", Name(["y"])])])])
    assert read('"a\\t${b}\\n"') == Template(["a\t", Name(["b"]), "\n"])


def test_a_value_in_text_may_take_many_lines() -> None:
    assert read('"${\n  b\n}"') == Template([Name(["b"])])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r'"\d"', r'"\d" is not an escape'),
        ('"\\', r'"\" is not an escape'),
        (r'"\u12"', r'"\u" is not an escape'),
        (r'"\ud800"', "no such character"),
        (r'"\U00110000"', "no such character"),
        ('"abc', "the text is not closed on its line"),
        ('"${b', "the ${…} is not closed"),
        ("`abc", "the raw text is not closed"),
        ("<<", "a heredoc begins with <<WORD at the end of a line"),
        ("<<1A\n1A", "a heredoc begins with <<WORD at the end of a line"),
        ("<<A b\nA", "a heredoc begins with <<WORD at the end of a line"),
        ("<<A\nb", "the heredoc is not closed"),
        ("<<A\n${b\nA\n}", "the ${…} is not closed"),
        ('<<A\n${f("\nA\n")}\nA', "the text is not closed on its line"),
        ("<<A\n${[\nA\n]}", "the value runs past the end of the heredoc"),
    ],
)
def test_a_mistake_in_text_is_told(text: str, message: str) -> None:
    assert mistake(text) == message


def test_raw_text_means_every_character_itself() -> None:
    assert read(r"`^\d+ \"${x}\" %{YEAR:year}$`") == Literal(r"^\d+ \"${x}\" %{YEAR:year}$")
    assert read("`two\nlines`") == Literal("two\nlines")
    assert read("``") == Literal("")


def test_a_heredoc_keeps_its_lines_and_the_last_newline() -> None:
    assert read("<<EOT\n  one\n\n  two\nEOT") == Literal("  one\n\n  two\n")
    assert read("<<EOT\nEOT") == Literal("")


def test_a_heredoc_may_be_indented_by_its_last_line_too() -> None:
    assert read("<<EOT\n  one\n    EOT  ") == Literal("  one\n")


def test_a_heredoc_ends_only_at_a_line_that_holds_nothing_but_its_word() -> None:
    assert read("<<EOT\nEOT is the word\nEOTS\nthe EOT\nEOT") == Literal("EOT is the word\nEOTS\nthe EOT\n")


def test_a_heredoc_with_a_dash_loses_its_common_indent() -> None:
    assert read("<<-EOT\n    one\n      two\n\n    three\n  EOT") == Literal("one\n  two\n\nthree\n")
    assert read("<<-EOT\n\t\tone\n\t\ttwo\n\tEOT") == Literal("one\ntwo\n")
    assert read("<<-EOT\nnone\n  EOT") == Literal("none\n")


def test_values_in_a_heredoc_and_its_indent_do_not_disturb_each_other() -> None:
    found = read("<<-EOT\n    a ${b}\n    ${c} $ d\n      $${e}\n  EOT")
    assert found == Template(["a ", Name(["b"]), "\n", Name(["c"]), " $ d\n  ${e}\n"])


def test_quotes_and_backslashes_in_a_heredoc_mean_themselves() -> None:
    assert read('<<EOT\n"\\d" `x` # no comment\nEOT') == Literal('"\\d" `x` # no comment\n')


def test_a_heredoc_of_a_windows_file_ends_too() -> None:
    assert read("<<EOT\r\none\r\nEOT\r") == Literal("one\r\n")


def test_a_heredoc_stands_in_a_list() -> None:
    body, problems = parse("a = [<<X\none\nX\n, <<Y\ntwo\nY\n]\nb = 1\n")
    assert not problems
    assert [attribute.name for attribute in body.attributes] == ["a", "b"]
