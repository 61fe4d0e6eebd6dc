from __future__ import annotations

import random
from collections.abc import Iterator

import duckdb
import pytest

from tailpipe.formats import Grok, Regex
from tailpipe.formats.grok import compile_grok
from tailpipe.formats.layout import recognise
from tailpipe.formats.layout_parser import LayoutParser, pattern_parser
from tailpipe.formats.pattern import Pattern
from tailpipe.formats.pattern_reader import parse_pattern
from tailpipe.formats.regex_parser import RegexParser
from tests.unit.formats.parsing import bad, line_parser, parse, run_of, values

NGINX = (
    r'^(?P<addr>\S+) - (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<request>[^"]*)" (?P<status>\d+) (?P<size>\d+|-)'
    r' "(?P<referer>[^"]*)" "(?P<agent>[^"]*)"$'
)
LAYOUTS = {
    "nginx": NGINX,
    "nginx, open end": NGINX.removesuffix("$"),
    "nginx, open": NGINX.removeprefix("^").removesuffix("$"),
    "lazy": r'(?P<a>\S+?) \[(?P<b>.*?)\] "(?P<c>.*?)" (?P<d>\S*)',
    "composite": (
        r"^(?P<a>\S+) \[(?P<day>[^ :]+):(?P<rest>.+)\]"
        r' "(?:(?P<verb>[A-Z]+) (?P<path>\S+)(?: (?P<p>.*))?|(?P<raw>.*))"'
    ),
    "flow": r"^(?P<v>\d+) (?P<b>\S+) (?P<c>[^ ]*) (?P<d>\w+|-)$",
    "loose": r'^(?P<a>[^ ]*)\s+(?P<b>[^\s]+)\s"(?P<c>.+)"\s+\[(?P<d>[^\[\]]*)\]$',
    "brackets": r'\[(?P<a>[^]]*)\] \[(?P<b>\w*)\] "(?P<c>[^"]*)" \[(?P<d>.+?)\] (?P<e>[^ "]+)',
    "literals": r'^"(?P<a>[^"]*)" rt=(?P<b>[\d.]+) -$',
    "open end": r"(?P<a>\w+) (?P<b>\S+) (?:(?P<c>\d)(?P<d>\d*)|-|O|OK)",
}
PATTERNS: dict[str, Pattern] = {
    **{name: parse_pattern(text) for name, text in LAYOUTS.items()},
    "grok": compile_grok("%{COMBINEDAPACHELOG}"),
}

TOKENS = [
    *("-", "1.2.3.4", "bob", "200", "0", "::1", "a.example.org", "rt=0.5", "[x]", "[17/May/2015:10:05:03 +0000]", "[]"),
    *('"GET / HTTP/1.1"', '"-"', '""', '"a \\" b"', '"', '"open', 'close"', 'a"b', '""x', "[", "]", "[a", "b]", "é€😀"),
    *(
        '"[in] quotes"',
        "a\tb",
        "\r",
        "\0",
        "",
        "",
        "\x0b",
        "\x85",
        "\u00a0",
        "\ufeff",
        "'",
        "\\",
        '"two words" x',
        "a,b",
    ),
    *(
        '"a""b"',
        "[a b]",
        "[a]b",
        '"q"]',
        '["q"]',
        "\x7f",
        "\n",
        '"POST /x?q=1 HTTP/2"',
        '"\t"',
        "999999999999999999999",
    ),
]


def odd_lines(draw: random.Random, plain: list[str], count: int) -> Iterator[str]:
    """Lines that fit, lines with one thing wrong, and lines of anything."""
    for _ in range(count):
        kind = draw.random()
        line = draw.choice(plain)
        if kind < 0.3:
            yield line
        elif kind < 0.7:
            for _ in range(draw.randint(1, 2)):
                place = draw.randint(0, len(line))
                piece = draw.choice([draw.choice(TOKENS), draw.choice(' "[]\t\r\0x-\n\\')])
                line = line[:place] + piece + line[place + draw.choice([0, 0, 1, 1, 2, 5]) :]
            yield line or "x"
        else:
            yield " ".join(draw.choice(TOKENS) for _ in range(draw.randint(1, 11))) or "x"


PLAIN = [
    '1.2.3.4 - bob [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8 (x; y)"',
    'é - - [17/May/2015:10:05:03 +0000] "" 404 - "http://x/[1]" "Mozilla [en] é€"',
    'host-1 ident auth [01/Jan/2024:00:00:00 -0100] "POST /a?b=[c] HTTP/2" 301 0 "-" "-"',
    '::1 - - [01/Jan/2024:00:00:00 -0100] "rubbish" 301 0 "-" ""',
    'a [b c] "d e" f',
    'a [12/x:00] "GET /" tail',
    'a [12/x:00] "GET / HTTP/1.1"',
    "2 eni-1 - OK",
    "2 eni-1 12",
    "2 eni-1 O",
    "2 eni-1  -",
    'a b "c d" [e f]',
    '[a b] [c] "[d]" [e] f[g]',
    '[a b] [c] "[d]" [e f] g',
    '"a b" rt=0.5 -',
]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_delimited_layout_gives_what_the_pattern_gives(name: str) -> None:
    """100,000 lines in all, every oddity among them; the good, the bad, and each field."""
    pattern = PATTERNS[name]
    layout = recognise(pattern)
    assert layout is not None
    fitting = [row["_raw"] for row in parse(RegexParser(pattern), PLAIN) if row["_bad"] is None]
    lines = list(odd_lines(random.Random(name), [*PLAIN, *fitting * 9], 10_000))
    runs = [run_of(lines[:4000]), run_of(lines[4000:], 1)]
    fast, slow = LayoutParser(pattern, layout).parse(runs), RegexParser(pattern).parse(runs)
    with duckdb.connect(config={"threads": 1}) as connection:
        for table, rows in {**fast.tables, **slow.tables}.items():
            connection.register(table, rows)
        got, wanted = connection.execute(fast.sql).fetchall(), connection.execute(slow.sql).fetchall()
        fits = connection.execute("SELECT count(*) FILTER (_fits), count(*) FROM layout_lines").fetchone()
    for one, other in zip(got, wanted, strict=True):
        assert one[:4] == other[:4]
        assert one[2] is not None or one == other
    matched = sum(row[2] is None for row in wanted)
    assert 500 < matched < 9900, "the lines show nothing"
    assert fits is not None
    assert 500 < fits[0] < 9900, "the lines took one way only"


NOT_DELIMITED = [
    r"^(?P<a>.*) (?P<b>\S+)$",
    r"^(?P<a>\S+)$",
    r"(?P<a>\S+) (?P<b>\S+?)",
    r"^(?P<a>\S+) (?P<b>\S+)|x (?P<c>y)$",
    r"^(?P<a>\S+)(?: (?P<b>\S+))?$",
    r"^(?P<a>\S+ \S+) (?P<b>\S+)$",
    r'^(?P<a>\S+) "(?P<b>[^"]*)"(?P<c>\S+)$',
    r'^(?P<a>\S+) x"(?P<b>[^"]*)"$',
    r'^(?P<a>\S+) (?P<b>"[^"]*"|-)$',
    r"(?i)^(?P<a>\S+) (?P<b>x)$",
    r"^(?P<a>\S+) (?P<b>$|x) (?P<c>y)",
    r"^(?P<a>\S+)\s*(?P<b>\S+)$",
    r"^(?P<a>\S+) $",
    r"^(?P<a>\S+)  (?P<b>\S+)$",
]


@pytest.mark.parametrize("layout", NOT_DELIMITED)
def test_what_is_more_than_delimited_is_left_to_the_pattern(layout: str) -> None:
    assert recognise(parse_pattern(layout)) is None
    assert isinstance(pattern_parser(parse_pattern(layout)), RegexParser)


def test_formats_take_the_fast_way_when_they_can() -> None:
    assert isinstance(line_parser(Regex(name="x", layout=NGINX)), LayoutParser)
    assert isinstance(line_parser(Grok(name="x", layout="%{COMMONAPACHELOG}")), LayoutParser)
    assert isinstance(line_parser(Grok(name="x", layout="%{SYSLOGLINE}")), RegexParser)


def test_a_bad_line_is_told_with_its_place_and_text() -> None:
    lines = [PLAIN[0], "rubbish", PLAIN[1], 'x "', "", PLAIN[2]]
    rows = parse(Regex(name="x", layout=NGINX), lines)
    assert bad(rows) == [
        (2, "does not match the layout", "rubbish"),
        (4, "does not match the layout", 'x "'),
        (6, "does not match the layout", PLAIN[2]),
    ]
    assert values(rows, "addr", "size") == [("1.2.3.4", "12"), ("é", "-")]


def test_nothing_gives_nothing() -> None:
    assert parse(Regex(name="x", layout=NGINX)) == []
    assert parse(Regex(name="x", layout=NGINX), [], []) == []


def test_a_long_line_is_read() -> None:
    line = f'a - b [c] "{"x" * 6_000_000}" 200 1 "-" "-"'
    (row,) = parse(Regex(name="x", layout=NGINX), [line])
    assert row["_bad"] is None
    assert len(row["request"]) == 6_000_000


def test_fields_may_have_the_names_that_are_used_inside() -> None:
    layout = (
        r'^(?P<m>\S+) (?P<_odd>\S+) \[(?P<c0>\w+)=(?P<x2>\w+)\] (?P<_line>\S+) (?P<_fits>\S+) (?P<w>\S+) "(?P<g0>.*)"$'
    )
    lines = ['1 2 [3=4] 5 6 7 "8"', '1 2 [3=4] 5 6 7 "8" 9"', "rubbish"]
    pattern = parse_pattern(layout)
    fast, slow = parse(pattern_parser(pattern), lines), parse(RegexParser(pattern), lines)
    assert [tuple(row.values())[4:] for row in fast[:2]] == [(*"12345678",), (*"1234567", '8" 9')]
    assert fast[:2] == slow[:2]
    assert [row["_bad"] for row in fast] == [None, None, "does not match the layout"]
