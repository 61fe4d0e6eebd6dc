from __future__ import annotations

import csv
import io
import random
import zipfile

import pytest

from tailpipe.errors import UsageError
from tailpipe.formats import Delimited
from tailpipe.formats.delimited_splitter import Splitter
from tailpipe.formats.header import is_header, snake_name, unique_names
from tailpipe.kernel.task import Limits
from tailpipe.model.table import Column
from tests.unit.formats.parsing import bad, line_parser, parse, rows_of, run_of, values
from tests.unit.kernel.support import run


def delimited(**facts: object) -> Delimited:
    return Delimited(name="x", **facts)  # type: ignore[arg-type]


def test_a_header_names_the_fields_and_is_no_row() -> None:
    rows = parse(delimited(), ["id,name", "1,ann", "", '2,"bob, ""b"""', "3,"])
    assert [(row["_ordinal"], row["id"], row["name"]) for row in rows] == [
        *[(2, "1", "ann"), (4, "2", 'bob, "b"'), (5, "3", None)]
    ]


def test_each_artifact_has_its_own_header() -> None:
    rows = parse(delimited(header=True), ["a,b", "1,2"], ["B,c", "3,4"], ["a,b", "5,6"])
    assert values(rows) == [("1", "2", None), (None, "3", "4"), ("5", "6", None)]
    assert list(rows[0])[4:] == ["a", "b", "c"]


def test_a_run_that_begins_later_takes_the_header_from_the_head() -> None:
    head = ["# made by x", "", "a,b", "1,2", "3,4"]
    parser = line_parser(delimited(comment="#"))
    rows = parse(parser, run_of(["5,6", "#", "7,8"], first=6, head=head))
    assert [(row["_ordinal"], row["a"], row["b"]) for row in rows] == [(6, "5", "6"), (8, "7", "8")]


def test_the_header_is_remembered_from_run_to_run() -> None:
    parser = line_parser(delimited())
    assert values(parse(parser, run_of(["a,b", "1,2"]))) == [("1", "2")]
    assert values(parse(parser, run_of(["3,4"], first=3, head=["a,b", "1,2"]))) == [("3", "4")]


def test_the_next_member_of_an_archive_has_its_own_header() -> None:
    parser = line_parser(delimited(header=True, skip_lines=1))
    first, second = run_of(["junk", "a,b", "1,2"]), run_of(["junk", "c,d", "3,4"], first=4)
    rows = rows_of(parser.parse([first, second]))
    assert [(row["_ordinal"], *list(row.values())[4:]) for row in rows] == [
        *[(3, "1", "2", None, None), (6, None, None, "3", "4")]
    ]


def test_fields_win_over_a_header() -> None:
    assert values(parse(delimited(fields=["x", "y"], header=True), ["a,b", "1,2"])) == [("1", "2")]
    assert values(parse(delimited(fields=["x", "y"]), ["X, Y", "1,2"])) == [("1", "2")]
    assert values(parse(delimited(fields=["x", "y"]), ["a,b", "1,2"])) == [("a", "b"), ("1", "2")]


def test_without_header_fields_are_numbered() -> None:
    rows = parse(delimited(header=False), ["a,b", "1,2"])
    assert rows[0]["column_1"] == "a"
    assert values(rows) == [("a", "b"), ("1", "2")]


@pytest.mark.parametrize(
    ("lines", "has_header"),
    [
        (["id,name", "1,ann"], True),
        (["name,city", "ann,paris"], True),
        (["name,city"], True),
        (["GET,/a,200", "GET,/b,404"], False),
        (["ann,paris", "ann,rome"], False),
        (["1,2", "3,4"], False),
        (["2024-01-01,x", "2024-01-02,y"], False),
        ([",a,a", "0,1,2"], True),
        (["true,false", "1,2"], False),
        (["a,a", "x,y"], False),
    ],
)
def test_a_header_is_found_out_from_the_text(lines: list[str], has_header: bool) -> None:
    values = [line.split(",") for line in lines]
    assert is_header(values[0], values[1:]) is has_header


def test_names_are_made_unique() -> None:
    assert unique_names(["a", "A", " b ", "", "a", "_raw"]) == ("a", "A_2", "b", "column_4", "a_3", "_raw_2")
    assert unique_names(["a\0", "\x1b[31m"]) == ("a_", "_[31m")


def test_a_line_of_another_length_is_bad_and_nothing_moves() -> None:
    rows = parse(delimited(), ["a,b,c", "1,2", "1,2,3,4", "1,2,3"])
    assert bad(rows) == [(2, "has 2 values for 3 fields", "1,2"), (3, "has 4 values for 3 fields", "1,2,3,4")]
    assert values(rows) == [("1", "2", "3")]


def test_a_quote_spoils_its_own_line_only() -> None:
    lines = ["a,b", '"1,2', '3,4"', '5,"6"x', '7,"8"', '9" x,10"', "11\r,12", '"",""']
    rows = parse(delimited(null_if=[]), lines)
    assert bad(rows) == [*[(2, "a quote is not closed", '"1,2'), (4, "text follows a closing quote", '5,"6"x')]]
    assert values(rows) == [("3", '4"'), ("7", "8"), ('9" x', '10"'), ("11\r", "12"), ("", "")]


def test_an_escape_stands_for_itself_before_other_text() -> None:
    lines = ["a,b", r'"x \"y\"",1', r'"C:\new\\",2', r"C:\new,3", '"a""b",4']
    rows = parse(delimited(escape="\\"), lines)
    assert values(rows) == [('x "y"', "1"), ("C:\\new\\", "2"), (r"C:\new", "3")]
    assert bad(rows) == [(5, "text follows a closing quote", '"a""b",4')]
    assert values(parse(delimited(escape="\\", quote="'"), ["a,b", r"'x, \'y\'',\""])) == [("x, 'y'", '\\"')]


def test_without_quote_everything_is_text() -> None:
    assert values(parse(delimited(quote=""), ["a,b", '"1,2"'])) == [('"1', '2"')]


def test_texts_that_mean_null() -> None:
    rows = parse(delimited(null_if=["-", "N/A"]), ["a,b,c", '-,"N/A",', '"x\ry",-,"-"'])
    assert values(rows) == [(None, None, ""), ("x\ry", None, None)]


def test_comments_and_skipped_lines_are_no_rows() -> None:
    lines = ["export of 2024", "", "## x", "a,b", "## y", "1,2", "# 3,4"]
    rows = parse(delimited(comment="##", skip_lines=1), lines)
    assert [(row["_ordinal"], row["a"]) for row in rows] == [(6, "1"), (7, "# 3")]


def test_runs_of_blanks_delimit() -> None:
    lines = ["a b  c", " 1\t2   3 ", '"x  y" 2 3', '"x  y"  2 3', "1 2", "  ", "1\x0b2\x0c3", '4 "5" 6']
    rows = parse(delimited(delimiter=r"\s+"), lines)
    assert values(rows) == [("1", "2", "3"), ("x  y", "2", "3"), ("x  y", "2", "3"), ("1", "2", "3"), ("4", "5", "6")]
    assert [(ordinal, reason) for ordinal, reason, _ in bad(rows)] == [
        *[(5, "has 2 values for 3 fields"), (6, "has 1 value for 3 fields")]
    ]


@pytest.mark.parametrize("delimiter", ["||", "::", "¦", ", ", "\0", "\r", "|", ";", "\x1f", "ab"])
def test_any_text_delimits(delimiter: str) -> None:
    lines = [delimiter.join(cells) for cells in (["x", "y", "z"], ["1", "", "3"], ["4", f'"{delimiter}"', "é"])]
    rows = parse(delimited(delimiter=delimiter), lines)
    assert values(rows) == [("1", None, "3"), ("4", delimiter, "é")]


def test_a_tab_may_be_written_as_in_a_raw_string() -> None:
    assert values(parse(delimited(delimiter=r"\t"), ["a\tb", "1\t2"])) == [("1", "2")]


def test_nothing_but_a_header_gives_no_rows() -> None:
    assert parse(delimited(header=True), ["a,b"], []) == []
    assert parse(delimited()) == []


def test_a_byte_order_mark_in_the_text_stays() -> None:
    assert values(parse(delimited(header=False), ["\ufeffa,b"])) == [("\ufeffa", "b")]


def test_many_columns_and_long_lines() -> None:
    names = [f"n{number}" for number in range(2000)]
    cells = [names, list(map(str, range(2000))), ["x" * 3000] * 2000]
    rows = parse(delimited(header=True), [",".join(line) for line in cells])
    assert rows[0]["n1999"] == "1999"
    assert rows[1]["n0"] == "x" * 3000


def test_a_quote_that_is_part_of_the_delimiter_is_refused() -> None:
    with pytest.raises(UsageError, match='the quote "," is part of the delimiter'):
        delimited(quote=",")


@pytest.mark.parametrize("delimiter", [",", " ", "\t", "||", r"\s+"])
@pytest.mark.parametrize("escape", ['"', "\\", ""])
def test_plain_lines_and_odd_lines_are_read_alike(delimiter: str, escape: str) -> None:
    """The fast way against the careful one, on lines of anything."""
    draw = random.Random(f"{delimiter}{escape}")
    pieces = [delimiter.replace(r"\s+", " "), '"', '"', "a", "b c", "é", "\\", "\r", "\0", "\t", " ", "1", ""]
    separator = pieces[0]
    splitter = Splitter("" if delimiter == r"\s+" else delimiter, '"', escape)
    lines = []
    for _ in range(4000):
        cells = ["".join(draw.choices(pieces, k=draw.randint(0, 3))) for _ in range(3)]
        if draw.random() < 0.5:
            cells = [f'"{cell}"' if draw.random() < 0.5 else cell for cell in cells]
        lines.append(separator.join(cells) or "x")
    rows = parse(delimited(delimiter=delimiter, escape=escape, header=False, fields=["a", "b", "c"], null_if=[]), lines)
    for row, line in zip(rows, lines, strict=True):
        try:
            wanted, reason = splitter.split(line), ""
        except ValueError as error:
            wanted, reason = [], str(error)
        if len(wanted) != 3 and not reason:
            reason = f"has {len(wanted)} value{'s' * (len(wanted) != 1)} for 3 fields"
        assert (row["_bad"] or "") == reason, line
        assert reason or [row["a"], row["b"], row["c"]] == wanted, line
        assert row["_raw"] == line


def test_what_python_writes_is_read_back() -> None:
    draw = random.Random(5)
    table = [["".join(draw.choices(",\"'a é;\t", k=draw.randint(0, 5))) for _ in range(4)] for _ in range(2000)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    fields = ["a", "b", "c", "d"]
    rows = parse(delimited(header=False, fields=fields, null_if=[]), text.getvalue().split("\n"))
    assert [list(row) for row in values(rows)] == table


NUMBERS = [
    *("007", "+5", " 5", "0x10", "1_0", "1e3", "5.0", "5.5", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "2147483648", "", "-", "abc", '"6"'),
]


@pytest.mark.parametrize("kind", ["integer", "timestamp"])
@pytest.mark.parametrize("odd", NUMBERS)
def test_numbers_are_the_same_whether_they_are_read_as_such_or_as_text(odd: str, kind: str) -> None:
    lines = ["time,n,s", *(f"1706695200,{n},x" for n in range(40)), f"1706695200,{odd},y", "1706695200,7,z,1"]
    content = "\n".join(lines).encode()
    format = delimited(header=True, null_if=["-"])
    column = Column("n", kind)
    done = run(content, [column, Column("s", "varchar")], format)
    # A transform wants the text, so that here everything is read as text.
    other = run(content, [column, Column("s", "varchar"), Column("t", "varchar", transform="n || time")], format)
    assert done.accounts == other.accounts == (42, 41, 0, 1, 0)
    assert done.column("n") == other.column("n")
    assert done.outcome.results[0].nulls == other.outcome.results[0].nulls
    assert [row["ordinal"] for row in done.rejected] == [43]


def test_a_number_that_fails_later_makes_text_of_all() -> None:
    lines = ["time,n", *(f"1706695200,{n}" for n in range(5000)), "1706695200,many", "soon,1"]
    limits = Limits(chunk_bytes=4000, batch_bytes=9000)
    done = run("\n".join(lines).encode(), [Column("n", "bigint")], delimited(header=True), limits=limits)
    assert done.accounts == (5002, 5001, 0, 1, 0)
    assert done.column("n") == [*range(5000), None]
    assert done.outcome.results[0].nulls == {"n": 1}
    assert [(row["ordinal"], row["reason"]) for row in done.rejected] == [(5003, '"time" is not a time: soon')]


def test_each_file_in_an_archive_has_its_own_header() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("one.csv", "time,n,s\n1706695200,1,a\n1706695200,2,b\n")
        archive.writestr("two.csv", "s,time,n\nc,1706695200,3\n")
        archive.writestr("three.csv", "s,time,n\nd,1706695200,4\n")
    columns = [Column("n", "bigint"), Column("s", "varchar")]
    for limits in (Limits(), Limits(chunk_bytes=10, batch_bytes=10)):
        done = run(packed.getvalue(), columns, delimited(), limits=limits)
        assert done.accounts == (4, 4, 0, 0, 0)
        assert [(row["n"], row["s"]) for row in done.rows] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
        assert [row["tp_id"][17:] for row in done.rows] == ["2", "3", "5", "7"]


W3C = delimited(delimiter=r"\t", comment="#", header_prefix="#Fields:", quote="", header=False, snake_case=True)


def test_a_line_with_the_prefix_names_the_fields_from_there_on() -> None:
    rows = parse(
        W3C, ["#Version: 1.0", "#Fields: date c-ip cs(User-Agent)", "a\tb\tc", "#x", "#Fields: c-ip n", "d\te"]
    )
    assert [(row["_ordinal"], row["date"], row["c_ip"], row["cs_user_agent"], row["n"]) for row in rows] == [
        *[(3, "a", "b", "c", None), (6, None, "d", None, "e")]
    ]


def test_the_names_of_a_prefix_are_remembered_and_found_in_the_head() -> None:
    parser = line_parser(W3C)
    assert values(parse(parser, run_of(["#Version: 1.0", "#Fields: x y", "1\t2"]))) == [("1", "2")]
    head = ["#Version: 1.0", "#Fields: x y", "1\t2"]
    assert values(parse(parser, run_of(["3\t4"], first=4, head=head)), "y") == [("4",)]
    assert values(parse(line_parser(W3C), run_of(["3\t4"], first=4, head=head)), "y") == [("4",)]


def test_values_may_be_added_at_the_end() -> None:
    grows = delimited(delimiter=" ", fields=["a", "b", "c"], min_values=2, header=False)
    lines = ["1 2 3", "1 2", "1", '1 2 3 "4 5" 6', "1 2 3"]
    rows = parse(grows, lines)
    assert [(row["_ordinal"], row["c"], row["column_4"], row["column_5"]) for row in rows if not row["_bad"]] == [
        *[(1, "3", None, None), (2, None, None, None), (4, "3", "4 5", "6"), (5, "3", None, None)]
    ]
    assert bad(rows) == [(3, "has 1 value, expected at least 2", "1")]


@pytest.mark.parametrize("first", ["1 2", "1 2 3", "1 2 3 4", "1"])
def test_what_becomes_of_a_line_does_not_hang_on_the_first_one(first: str) -> None:
    grows = delimited(delimiter=" ", fields=["a", "b", "c"], min_values=2, header=False)
    others = ["5 6 7", "5 6", "5 6 7 8", "5"]
    rows = parse(grows, [first, *others])[1:]
    found = [(row["a"], row["b"], row.get("c"), row.get("column_4")) for row in rows if not row["_bad"]]
    assert found == [("5", "6", "7", None), ("5", "6", None, None), ("5", "6", "7", "8")]


def test_a_quote_inside_quotes_may_be_text() -> None:
    loose = delimited(delimiter=" ", escape="\\", fields=["a", "b", "c"], header=False, loose_quotes=True)
    rows = parse(loose, ['1 "x y" 2', '1 "x "y"z" 2', r'1 "x \" y" 2', '1 "h2","http/1.1" 2', '1 "x y 2', '1 "x" y" 2'])
    assert values(rows, "b") == [("x y",), ('x "y"z',), ('x " y',), ('h2","http/1.1',)]
    assert [(ordinal, reason) for ordinal, reason, _ in bad(rows)] == [
        *[(5, "a quote is not closed"), (6, "unexpected quote inside a value")]
    ]


def test_a_header_of_known_names_wins_over_the_fields() -> None:
    known = delimited(delimiter=" ", fields=["a", "b"], known_fields=["a", "b", "c_d"], snake_case=True)
    assert values(parse(known, ["c-d a", "1 2"])) == [("1", "2")]
    assert parse(known, ["c-d a", "1 2"])[0]["c_d"] == "1"
    assert parse(known, ["c-d a new", "1 2 3"])[0]["new"] == "3"
    assert values(parse(known, ["1 2", "3 4"])) == [("1", "2"), ("3", "4")]


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("lineItem/UsageAccountId", "line_item_usage_account_id"),
        ("reservation/ReservationARN", "reservation_reservation_arn"),
        ("resourceTags/user:Cost Center", "resource_tags_user_cost_center"),
        ("cs(User-Agent)", "cs_user_agent"),
        ("timestamp(ms)", "timestamp_ms"),
        ("x_CostCategories", "x_cost_categories"),
        ("pkt-srcaddr", "pkt_srcaddr"),
        ("already_snake", "already_snake"),
        ("EC2Instance", "ec2_instance"),
        ("()", ""),
    ],
)
def test_names_in_snake_case(name: str, snake: str) -> None:
    assert snake_name(name) == snake
