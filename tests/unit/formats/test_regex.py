from __future__ import annotations

import random
import re

import duckdb
import pytest

from tailpipe.errors import UsageError
from tailpipe.formats import Multiline, Regex
from tailpipe.formats.pattern_reader import parse_pattern
from tailpipe.formats.regex_parser import NO_MATCH, RegexParser
from tailpipe.plugin.linear import compile_linear
from tests.unit.formats.parsing import bad, parse, run_of, values


def regex(layout: str, **facts: object) -> Regex:
    return Regex(name="x", layout=layout, **facts)  # type: ignore[arg-type]


def test_named_groups_are_fields_and_other_lines_are_bad() -> None:
    rows = parse(regex(r"^(?P<level>[A-Z]+): (?P<text>.*)$"), ["INFO: it's on", "", "nothing", "WARN: "])
    assert values(rows) == [("INFO", "it's on"), ("WARN", "")]
    assert bad(rows) == [(3, NO_MATCH, "nothing")]
    assert [row["_ordinal"] for row in rows] == [1, 3, 4]


def test_a_layout_is_found_anywhere_unless_it_is_anchored() -> None:
    assert values(parse(regex(r"(?P<n>\d+)"), ["a 12 b 34"])) == [("12",)]
    assert bad(parse(regex(r"^(?P<n>\d+)$"), ["a 12 b 34"])) == [(1, NO_MATCH, "a 12 b 34")]


def test_a_group_that_took_no_part_is_null_if_it_cannot_be_empty() -> None:
    rows = parse(regex(r"^(?P<a>x)(?::(?P<b>\d+))?(?:=(?P<c>.*))?$"), ["x", "x:1", "x=", "x:2=y"])
    assert values(rows) == [("x", None, ""), ("x", "1", ""), ("x", None, ""), ("x", "2", "y")]


def test_a_layout_that_matches_nothing_at_all_still_tells_a_match() -> None:
    rows = parse(regex(r"(?P<word>[a-z]*)$"), ["ab", "AB"])
    assert values(rows) == [("ab",), ("",)]
    assert bad(parse(regex(r"^(?P<word>[a-z]*)$"), ["ab", "AB"])) == [(2, NO_MATCH, "AB")]


def test_groups_without_names_are_no_fields_and_quotes_are_harmless() -> None:
    rows = parse(regex(r"""(a|b)'(?P<x>[^']*)'(?<y>(c)+)"""), ["b'it'cc", 'a""'])
    assert values(rows) == [("it", "cc")]
    assert len(bad(rows)) == 1


def test_runs_of_several_artifacts_keep_their_order_and_numbers() -> None:
    rows = parse(regex("(?P<x>.+)"), run_of(["a", "b"], 3, 10), run_of([], 4), run_of(["c"], 1))
    assert [(row["_artifact"], row["_ordinal"], row["x"]) for row in rows] == [(3, 10, "a"), (3, 11, "b"), (1, 1, "c")]


def test_a_dot_matches_line_ends_in_events_of_many_lines_only() -> None:
    event = "ERROR: boom\n  at x\n  at y"
    rows = parse(regex("^(?P<level>[A-Z]+): (?P<text>.*)$", multiline=Multiline(start="^[A-Z]+:")), [event])
    assert values(rows) == [("ERROR", "boom\n  at x\n  at y")]
    assert len(bad(parse(regex("^(?P<level>[A-Z]+): (?P<text>.*)$"), [event]))) == 1


def test_odd_text_passes_as_it_is() -> None:
    lines = ["x=\0\x1b[31m", "x=ü€😀", "x='; DROP TABLE t; --", 'x="\\', "x=\r"]
    assert values(parse(regex("^x=(?P<x>(?s:.*))$"), lines)) == [(line[2:],) for line in lines]


REFUSED = {
    r"(?P<x>a)(?=b)": 'look-ahead "(?=" at character 9 is not supported in regular expressions (RE2)',
    r"(?<!a)(?P<x>b)": 'negative look-behind "(?<!"',
    r"(?P<x>a)\1": r'back-reference "\1"',
    r"(?P<x>a)(?P=x)": 'back-reference "(?P="',
    r"(?P<x>(?>a+))": 'atomic group "(?>"',
    r"(?P<x>a++)": 'possessive quantifier "++"',
    r"(?P<x>a{1001})": "repeats more than 1000 times",
    r"(?P<x>(?:a{100}){100})": "repeats more than 1000 times",
    r"(?P<x>a": 'a "(" is not closed, at character 1',
    r"(?P<x>a))": 'a ")" has no matching "(", at character 9',
    r"(?P<x>[a)": 'a "[" is not closed',
    r"(?P<x>a**)": "repeats a repetition",
    r"(?P<x>*)": "repeats nothing",
    r"(?P<x>[z-a])": "bad character range",
    r"(?P<x>\h)": r'"\h" means nothing',
    r"(?P<x>a)\Z": r"\Z",
    r"(?P<x>a{3,2})": "asks for more than it allows",
    r"(?P<x>[[:letter:]])": "there is no class",
    r"(?P<x-y>a)": "begins no group",
    r"(?#note)(?P<x>a)": 'comment "(?#"',
    "(?P<x>a)\\": "it ends with a backslash",
}


@pytest.mark.parametrize("layout", REFUSED)
def test_what_duckdb_cannot_do_is_refused_with_the_reason(layout: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_pattern(layout)
    assert REFUSED[layout] in refused.value.message
    with pytest.raises(duckdb.Error), duckdb.connect() as connection:
        connection.execute("SELECT regexp_matches('a', ?)", [layout])


ACCEPTED = [
    *(r"a\.b", r"\Aa\z", r"[[:alpha:]_-]+", r"[]a]", r"[^]a]", r"[\]a]", r"[a\-z]", r"\x41\x{1F600}", r"\pL\p{Greek}"),
    *(r"[\pN]", r"a{,3}", "a{", "}", "]", r"\0", r"\012", "(?i)ab(?-i:c)", "(?s:.)", "a|b|", "()", "(?:)", "x{2}?"),
    *(r"\"\/\ \_", "[&&||~~-]", "[[]", "(?P<ü>a)", "é+€", r"[^\s\"]", "a??b+?c*?", "(?im-s)a", "((a)|(b))*", r"\t\v\a"),
    *(r"[\w.:-]+", "^$", r"(?:^|,)x", r"[\x00-\x1f]", r"\*{2}", "(?P<a>b)(?P<c>d)"),
]


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_what_is_accepted_means_the_same_in_rows_and_in_names_of_files(pattern: str) -> None:
    read = parse_pattern(pattern)
    lines = [
        "",
        "a",
        "b",
        "ab",
        "a.b",
        "aab",
        "A😀",
        "αβ",
        "a{,3}",
        "x",
        "xx",
        "]",
        "&|~-",
        '"/ _',
        "\t\v\a",
        "**",
        "é€",
        "bd",
    ]
    with duckdb.connect() as connection:
        query = "SELECT list_transform(?::VARCHAR[], lambda x: regexp_matches(x, ?))"
        (found,) = connection.execute(query, [lines, read.re2()]).fetchone() or ()
    whole = compile_linear(f"(?:(?s:.*)(?:{read.named()})(?s:.*))")
    assert found == [whole.fullmatch(line) is not None for line in lines]


def test_groups_agree_with_python_on_random_lines() -> None:
    draw = random.Random(7)
    layout = r"(?P<a>\w+)[ :]*(?P<b>\d{1,3}|-)?(?: \[(?P<c>[^\]]*)\])?(?P<d>.*)"
    lines = ["".join(draw.choices("ab1-: []é\t", k=draw.randint(1, 20))) for _ in range(5000)]
    rows = parse(RegexParser(parse_pattern(layout)), lines)
    for row, line in zip(rows, lines, strict=True):
        found = re.search(layout, line, re.ASCII)
        assert (row["_bad"] is None) == (found is not None), line
        if found:
            assert (row["a"], row["b"], row["c"] or "", row["d"]) == (
                *found.group("a", "b"),
                found["c"] or "",
                found["d"],
            )


def test_a_set_that_python_and_re2_read_otherwise_is_refused() -> None:
    with pytest.raises(UsageError, match='"--" is unclear in a set'):
        parse_pattern("(?P<x>[+--])")


def test_a_field_needs_a_name_of_its_own() -> None:
    check = Regex.__dataclass_fields__["layout"].metadata["tailpipe"]["check"]
    for layout, message in {
        r"(\d+)": "the groups have no names",
        r"\d+": "no named group",
        "(?P<a>x)(?P<A>y)": 'the field "A" is duplicated',
        "(?P<_raw>x)": 'a field cannot be named "_raw"',
    }.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            check(layout)
