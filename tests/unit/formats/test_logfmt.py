from __future__ import annotations

import pytest

from tailpipe.formats import Logfmt
from tailpipe.formats.key_limit import FIELDS_LIMIT
from tests.unit.formats.parsing import bad, line_parser, parse, run_of, values

FORMAT = Logfmt(name="x")


def test_pairs_are_fields() -> None:
    lines = ['time=2024-01-31T10:00:00Z level=info msg="it is on" took=1.5ms', "", "level=warn user=ann@x.org ok"]
    first, second = parse(FORMAT, lines)
    assert (first["level"], first["msg"], first["took"], first["user"]) == ("info", "it is on", "1.5ms", None)
    assert (second["_ordinal"], second["user"], second["ok"], second["msg"]) == (3, "ann@x.org", "true", None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("a=", ""), ('a=""', ""), ("a=b=c", "b=c"), ('a=b"c"', 'b"c"'), ("a", "true"), ('a="x=y z"', "x=y z")],
        *[(r'a="\"q\" \\ \n\t\u00e9\ud83d\ude00"', '"q" \\ \n\té😀'), (r'a="\x \ud83d"', "\\x \ufffd"), ("a=é€", "é€")],
        *[
            ("  a=1\tb=2  ", "1"),
            ("a=1 a=2 A=3", "1"),
            (r"a=\n", r"\n"),
            ('a="line\nend"', "line\nend"),
            ("a=\0", "\0"),
        ],
    ],
)
def test_a_value_is_read(text: str, value: str) -> None:
    (row,) = parse(FORMAT, [text + " x=1"])
    assert row["_bad"] is None
    assert row["a"] == value


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("just some words", "has no key=value pair"),
        ("=1 a=2", "a value has no key"),
        ('a="open b=1', "a quote is not closed, or out of place"),
        ('a="x"y', "a quote is not closed, or out of place"),
        ('a=1 "b"', "a quote is not closed, or out of place"),
    ],
)
def test_a_line_that_is_no_pairs_is_bad(line: str, reason: str) -> None:
    rows = parse(FORMAT, ["k=v", line])
    assert bad(rows) == [(2, reason, line)]


def test_names_of_the_row_itself_are_not_taken_away() -> None:
    (row,) = parse(FORMAT, ["_raw=1 _raw_2=2 _BAD=3"])
    assert list(row.values())[3:] == ["_raw=1 _raw_2=2 _BAD=3", "1", "2", "3"]
    assert list(row)[4:] == ["_raw_2", "_raw_2_2", "_BAD_2"]


def test_fields_keep_their_place_from_batch_to_batch() -> None:
    parser = line_parser(FORMAT)
    parse(parser, run_of(["a=1 b=2"]))
    assert values(parse(parser, run_of(["c=3"], first=2))) == [(None, None, "3")]


def test_keys_without_end_are_stopped() -> None:
    rows = parse(FORMAT, [f"k{number}=1" for number in range(FIELDS_LIMIT)] + ["more=1", "k0=2"])
    assert bad(rows) == [(FIELDS_LIMIT + 1, "brings more than 2000 different keys", "more=1")]
    assert rows[-1]["k0"] == "2"
