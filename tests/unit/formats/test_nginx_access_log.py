from __future__ import annotations

import re
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.formats import NginxAccessLog
from tailpipe.formats.layout_parser import LayoutParser
from tailpipe.formats.mapped_parser import MappedParser
from tailpipe.formats.nginx_access_log import COMBINED_LAYOUT
from tailpipe.model.option import options_of
from tailpipe.testing import check_format, read_bytes
from tests.unit.formats.parsing import line_parser, parse, values

Escape = Literal["default", "json", "none"]
LINE = r'10.0.0.1 - anna [31/Jan/2024:10:00:00 +0100] "GET /a?b=1 HTTP/1.1" 200 512 "-" "curl/8 \x22x\x22"'


def one(layout: str, line: str, *names: str, escape: Escape = "default") -> tuple[object, ...]:
    rows = parse(NginxAccessLog(name="x", layout=layout, escape=escape), [line])
    assert rows[0]["_bad"] is None
    return values(rows, *names)[0]


def test_the_default_is_combined() -> None:
    check_format(
        NginxAccessLog(name="x"),
        LINE.encode(),
        [
            {
                "remote_addr": "10.0.0.1",
                "remote_user": "anna",
                "time_local": "31/Jan/2024:10:00:00 +0100",
                "request": "GET /a?b=1 HTTP/1.1",
                "status": 200,
                "body_bytes_sent": 512,
                "http_user_agent": 'curl/8 "x"',
                "request_method": "GET",
                "request_uri": "/a?b=1",
                "server_protocol": "HTTP/1.1",
            }
        ],
    )


def test_combined_is_read_as_delimited_values() -> None:
    parser = line_parser(NginxAccessLog(name="x"))
    assert isinstance(parser, MappedParser)
    assert isinstance(parser.lines, LayoutParser)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-", None),
        ("", ""),
        (r"\xC3\xA9\x5C\x22", 'é\\"'),
        (r"\x16\x03\x01", "\x16\x03\x01"),
        (r"\x16\x03\xFF", r"\x16\x03\xFF"),
        (r"a\q", r"a\q"),
    ],
)
def test_escapes_are_undone_and_bytes_that_are_no_text_stay_escaped(text: str, value: str | None) -> None:
    assert one('$status "$http_x"', f'200 "{text}"', "http_x") == (value,)


@pytest.mark.parametrize(
    ("text", "value"), [("", None), ("-", "-"), (r"a\"b\\c\n\u001Fé", 'a"b\\c\n\x1fé'), (r"\q", r"\q")]
)
def test_with_escape_json_an_empty_value_is_null(text: str, value: str | None) -> None:
    layout = '{"x":"$http_x","s":$status}'
    assert one(layout, f'{{"x":"{text}","s":200}}', escape="json") == (value, "200")


def test_with_escape_none_a_value_is_what_stands_there() -> None:
    assert one('"$http_x" $status', r'"a "b" \x22" 200', escape="none") == (r'a "b" \x22', "200")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("GET / HTTP/1.1", ("GET", "/", "HTTP/1.1")),
        ("GET /a b HTTP/1.0", ("GET", "/a b", "HTTP/1.0")),
        ("GET /old", ("GET", "/old", None)),
        (r"\x16\x03\x01 x", (None, "\x16\x03\x01 x", None)),
        ("hello", (None, "hello", None)),
        ("", (None, None, None)),
        ("-", (None, None, None)),
    ],
)
def test_a_request_is_taken_apart(text: str, parts: tuple[str | None, ...]) -> None:
    found = one('"$request" $status', f'"{text}" 400', "request_method", "request_uri", "server_protocol")
    assert found == parts


def test_variables_of_the_layout_win_over_the_parts_of_the_request() -> None:
    assert one('"$request" $request_uri', '"GET /a HTTP/1.1" /b', "request_uri") == ("/b",)


def test_lists_of_upstreams_are_told_from_their_neighbours_without_quotes() -> None:
    line = "10.0.0.1:80, [::1]:80 : unix:/a 502, 200 : 200 0.1, - : 0.2 /x"
    found = one("$upstream_addr $upstream_status $upstream_response_time $uri", line)
    assert found == ("10.0.0.1:80, [::1]:80 : unix:/a", "502, 200 : 200", "0.1, - : 0.2", "/x")


def test_a_value_with_blanks_is_told_from_numbers_around_it() -> None:
    assert one("$status $http_x_forwarded_for $bytes_sent", "200 10.0.0.1, 10.0.0.2 5") == (
        "200",
        "10.0.0.1, 10.0.0.2",
        "5",
    )


def test_variables_that_touch_are_told_apart_where_they_can_be() -> None:
    layout = "$scheme://$host$request_uri $uri$is_args$args $status"
    assert one(layout, "https://a.example/x?y=/z /x?y=/z 200") == (
        *("https", "a.example", "/x?y=/z", "/x", "?", "y=/z", "200"),
    )
    assert one(layout, "http://a.example/x /x 200")[3:6] == ("/x", "", "")


def test_times_without_brackets_are_one_value() -> None:
    line = "31/Jan/2024:10:00:00 +0100 2024-01-31T10:00:00+01:00 1706691600.123 a b"
    found = one("$time_local $time_iso8601 $msec $http_x", line)
    assert found == ("31/Jan/2024:10:00:00 +0100", "2024-01-31T10:00:00+01:00", "1706691600.123", "a b")


@pytest.mark.parametrize(
    "layout",
    [
        "'$remote_addr [$time_local] '\n  '\"$http_x\"'",
        "log_format main '$remote_addr [$time_local] '\n    '\"$http_x\"';",
        "log_format main escape=default '${remote_addr} [$time_local] \"$http_x\"';",
    ],
)
def test_a_layout_may_be_copied_from_the_config_of_nginx(layout: str) -> None:
    assert one(layout, '10.0.0.1 [now] "a b"') == ("10.0.0.1", "now", "a b")


def test_the_escaping_of_a_copied_layout_counts() -> None:
    assert one("log_format j escape=json '\"$http_x\" $status';", r'"a\"b" 200') == ('a"b', "200")


def test_lines_of_another_layout_are_rejected() -> None:
    lines = ["", "hello", LINE + ' "more"', "vhost " + LINE, LINE[:70], LINE]
    found = read_bytes(NginxAccessLog(name="x"), "\n".join(lines).encode())
    assert len(found.rows) == 1
    assert found.rejected == [(f"line {number}", "does not match the layout") for number in (2, 3, 4, 5)]


@pytest.mark.parametrize("layout", ["", "no variable", "$remote_addr$http_x", "$", "$a $", "$a\n$b", "$_raw $b"])
def test_a_layout_that_cannot_be_read_back_is_refused(layout: str) -> None:
    check = options_of(NginxAccessLog)["layout"].check
    assert check is not None
    with pytest.raises(UsageError):
        check(layout)


def test_an_unknown_escaping_in_a_copied_layout_is_refused() -> None:
    with pytest.raises(UsageError, match='no escaping "xml"'):
        NginxAccessLog(name="x", layout="log_format a escape=xml '$status $uri';")


def written(value: str | None) -> str:
    """A value as nginx writes it by default."""
    if value is None:
        return "-"
    data = value.encode()
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02X}" for byte in data)


TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(lambda text: text != "-")


@given(values_=st.lists(TEXT, min_size=4, max_size=4), status=st.integers(100, 599))
def test_whatever_nginx_writes_is_read_back(values_: list[str | None], status: int) -> None:
    texts = [written(value) for value in values_]
    layout = '"$http_a" [$http_b] "$http_c" x=$status "$http_d"'
    line = f'"{texts[0]}" [{texts[1].replace("]", "_")}] "{texts[2]}" x={status} "{texts[3]}"'
    expected = [value.replace("]", "_") if value and place == 1 else value for place, value in enumerate(values_)]
    assert one(layout, line) == (*expected[:3], str(status), expected[3])


@given(text=st.text(max_size=60))
def test_no_line_makes_it_fail(text: str) -> None:
    lines = [line for line in re.split(r"[\r\n]", text) if line]
    for layout in (COMBINED_LAYOUT, "$a|$status|$b", '"$a" $b'):
        assert len(parse(NginxAccessLog(name="x", layout=layout), lines)) == len(lines)


def test_lines_may_go_on_behind_the_layout() -> None:
    layout = "$remote_addr [$time_local] $status"
    form = NginxAccessLog(layout=layout, may_follow=[' "$http_referer"', " $request_time"], rest="rest")
    time = "[31/Jan/2024:10:00:00 +0100]"
    lines = [f"a {time} 200", f'b {time} 200 "x y"', f'c {time} 200 "-" 0.5', f'd {time} 200 "" 0.5 and "more" -']
    for order in (lines, lines[::-1]):  # the first line shows which length to expect
        found = read_bytes(form, "\n".join([*order, f"e {time}"]).encode())
        rows = sorted(found.rows, key=lambda row: str(row["remote_addr"]))
        assert [(row.get("http_referer"), row.get("request_time"), row.get("rest")) for row in rows] == [
            (None, None, None),
            ("x y", None, None),
            (None, 0.5, None),
            (None, 0.5, 'and "more" -'),
        ]
        assert len(found.rejected) == 1


@pytest.mark.parametrize("part", ["$status", " no variable", ""])
def test_a_part_that_may_follow_begins_with_text_and_has_a_variable(part: str) -> None:
    check = options_of(NginxAccessLog)["may_follow"].check
    assert check is not None
    with pytest.raises(UsageError):
        check([part])
