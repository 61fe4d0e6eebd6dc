from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import apachelogs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.formats import ApacheAccessLog
from tailpipe.formats.apache_access_log import NICKNAMES
from tailpipe.formats.layout_parser import LayoutParser
from tailpipe.formats.mapped_parser import MappedParser
from tailpipe.model.option import options_of
from tailpipe.testing import check_format, read_bytes
from tests.unit.formats.parsing import Row, line_parser, parse

LINE = r'10.0.0.1 - anna [31/Jan/2024:10:00:00 +0100] "GET /a?b=1 HTTP/1.1" 200 512 "-" "curl/8 \"x\""'
EVERY = {
    # directive: field, text in the log, value
    "%a": ("remote_addr", "10.0.0.1", "10.0.0.1"),
    "%{c}a": ("connection_addr", "::1", "::1"),
    "%A": ("local_addr", "10.0.0.2", "10.0.0.2"),
    "%B": ("body_bytes_sent", "0", "0"),
    "%b": ("body_bytes_sent", "-", None),
    "%{sid}C": ("cookie_sid", "abc", "abc"),
    "%D": ("request_time_us", "1234", "1234"),
    "%{UNIQUE_ID}e": ("env_unique_id", "x1", "x1"),
    "%f": ("filename", "/var/www/a b", "/var/www/a b"),
    "%h": ("remote_host", "host.example", "host.example"),
    "%{c}h": ("connection_host", "peer.example", "peer.example"),
    "%H": ("server_protocol", "HTTP/1.1", "HTTP/1.1"),
    "%{X-Forwarded-For}i": ("http_x_forwarded_for", "10.0.0.3", "10.0.0.3"),
    "%k": ("keepalive_requests", "3", "3"),
    "%l": ("remote_logname", "-", None),
    "%L": ("log_id", "ZZ+a", "ZZ+a"),
    "%m": ("request_method", "GET", "GET"),
    "%{ratio}n": ("note_ratio", "50", "50"),
    "%{Content-Type}o": ("sent_http_content_type", "text/html", "text/html"),
    "%p": ("server_port", "80", "80"),
    "%{canonical}p": ("server_port", "80", "80"),
    "%{local}p": ("apache_port", "8080", "8080"),
    "%{remote}p": ("client_port", "51000", "51000"),
    "%P": ("pid", "77", "77"),
    "%{pid}P": ("pid", "77", "77"),
    "%{tid}P": ("thread_id", "140000000", "140000000"),
    "%{hextid}P": ("hex_thread_id", "7f00", "7f00"),
    "%q": ("query_string", "?a=b", "?a=b"),
    "%r": ("request", "GET / HTTP/1.1", "GET / HTTP/1.1"),
    "%R": ("handler", "proxy:http://a/", "proxy:http://a/"),
    "%s": ("original_status", "301", "301"),
    "%<s": ("original_status", "301", "301"),
    "%>s": ("status", "200", "200"),
    "%T": ("request_time", "2", "2"),
    "%{s}T": ("request_time", "2", "2"),
    "%{ms}T": ("request_time_ms", "2000", "2000"),
    "%{us}T": ("request_time_us", "2000000", "2000000"),
    "%u": ("remote_user", '""', ""),
    "%<u": ("original_remote_user", "bob", "bob"),
    "%U": ("uri", "/a", "/a"),
    "%>U": ("final_uri", "/b", "/b"),
    "%v": ("server_name", "a.example", "a.example"),
    "%V": ("host", "b.example", "b.example"),
    "%X": ("connection_status", "+", "+"),
    "%I": ("bytes_received", "10", "10"),
    "%O": ("bytes_sent", "20", "20"),
    "%S": ("bytes_transferred", "30", "30"),
    "%{Expires}^ti": ("http_trailer_expires", "now", "now"),
    "%{Digest}^to": ("sent_trailer_digest", "d1", "d1"),
    "%^FB": ("first_byte_time_us", "99", "99"),
    "%{SSL_PROTOCOL}x": ("ssl_protocol", "TLSv1.3", "TLSv1.3"),
    "%400,501{User-agent}i": ("http_user_agent", "curl", "curl"),
    "%!200,304,302{Referer}i": ("http_referer", "-", None),
}


def one(layout: str, line: str) -> Row:
    (row,) = parse(ApacheAccessLog(name="x", layout=layout), [line])
    assert row["_bad"] is None, row
    return row


def test_combined_is_the_default() -> None:
    check_format(
        ApacheAccessLog(name="x"),
        LINE.encode(),
        [
            {
                "remote_host": "10.0.0.1",
                "remote_user": "anna",
                "timestamp": datetime(2024, 1, 31, 9),
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


@pytest.mark.parametrize("layout", ["common", "combined", "vhost_common"])
def test_plain_layouts_are_read_as_delimited_values(layout: str) -> None:
    parser = line_parser(ApacheAccessLog(name="x", layout=layout))
    assert isinstance(parser, MappedParser)
    assert isinstance(parser.lines, LayoutParser)


@pytest.mark.parametrize("directive", EVERY)
def test_every_directive_has_a_field_of_its_own(directive: str) -> None:
    name, text, value = EVERY[directive]
    row = one(f"<{directive}> %%", f"<{text}> %")
    assert [*row][4] == name
    assert row[name] == value
    assert one(f'"{directive}" %h', f'"{text}" h')[name] == value


TIMES = {
    # directives: text, time
    "%t": ("[31/Jan/2024:10:00:00 +0100]", datetime(2024, 1, 31, 9)),
    "%{sec}t": ("1706691600", datetime(2024, 1, 31, 9)),
    "%{%s}t": ("1706691600", datetime(2024, 1, 31, 9)),
    "%{msec}t": ("1706691600123", datetime(2024, 1, 31, 9, 0, 0, 123000)),
    "%{usec}t": ("1706691600123456", datetime(2024, 1, 31, 9, 0, 0, 123456)),
    "%{begin:sec}t.%{begin:usec_frac}t": ("1706691600.000456", datetime(2024, 1, 31, 9, 0, 0, 456)),
    "[%{%d/%b/%Y:%H:%M:%S}t.%{msec_frac}t %{%z}t]": (
        "[31/Jan/2024:10:00:00.123 +0100]",
        datetime(2024, 1, 31, 9, 0, 0, 123000),
    ),
    "%{%F %T}t %{usec_frac}t": ("2024-01-31 10:00:00 000456", "2024-01-31 10:00:00.000456"),
    "%{%c}t": ("Wed Jan 31 10:00:00 2024", "2024-01-31 10:00:00.000000"),
    "%{%a, %e %b %y %r %Z}t": ("Thu,  1 Feb 24 10:00:00 PM CET", "2024-02-01 22:00:00.000000"),
    "%{%D %R}t": ("01/31/24 10:05", "2024-01-31 10:05:00.000000"),
    "%{%H:%M}t": ("10:05", "10:05"),
}


@pytest.mark.parametrize("layout", TIMES)
def test_times_of_any_layout_are_read(layout: str) -> None:
    text, time = TIMES[layout]
    row = one(f"%h {layout} %>s", f"h {text} 200")
    assert row["timestamp"] == time
    assert (row["remote_host"], row["status"]) == ("h", "200")


def test_begin_and_end_of_a_request_are_two_times() -> None:
    row = one("%{begin:sec}t %{end:sec}t.%{end:msec_frac}t", "1706691600 1706691601.005")
    assert row["timestamp"] == datetime(2024, 1, 31, 9)
    assert row["end_timestamp"] == datetime(2024, 1, 31, 9, 0, 1, 5000)


def test_a_time_without_a_zone_is_in_the_zone_of_the_format() -> None:
    format = ApacheAccessLog(name="x", layout="%{%F %T}t %h", timezone="Europe/Berlin")
    assert one(format.layout, "2024-01-31 10:00:00 h")["timestamp"] == "2024-01-31 10:00:00.000000"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-", None),
        ("", ""),
        (r"\"\\\n\t\r\v\b", '"\\\n\t\r\v\b'),
        (r"\\n\\x41", r"\n\x41"),
        (r"\xc3\xa9", "é"),
        (r"\x16\x8f", r"\x16\x8f"),
    ],
)
def test_escapes_are_undone_and_bytes_that_are_no_text_stay_escaped(text: str, value: str | None) -> None:
    assert one('%>s "%{X}i"', f'200 "{text}"')["http_x"] == value


def test_a_quote_with_a_backslash_does_not_end_a_value() -> None:
    found = read_bytes(ApacheAccessLog(name="x", layout='"%{A}i" "%{B}i"'), b'"a\\" "b"\n"a\\" \\"b" "c"\n')
    assert found.rows == [{"http_a": 'a" "b', "http_b": "c"}]
    assert found.rejected == [("line 1", "does not match the layout")]


def test_the_layout_may_be_copied_with_its_backslashes() -> None:
    assert one(r"%h \"%r\" %>s", 'h "GET / HTTP/1.1" 200')["request_method"] == "GET"


def test_uri_and_query_may_touch() -> None:
    row = one('%m "%U%q" %H', 'GET "/a?b=c" HTTP/1.1')
    assert (row["uri"], row["query_string"]) == ("/a", "?b=c")


def test_lines_of_another_layout_are_rejected() -> None:
    lines = ["hello", "a.example:80 " + LINE, LINE + " 5", LINE[:60], LINE]
    found = read_bytes(ApacheAccessLog(name="x"), "\n".join(lines).encode())
    assert len(found.rows) == 1
    assert found.rejected == [(f"line {number}", "does not match the layout") for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    "layout",
    ["", "combinde", "%", "%y", "%{x}a", "%{}i", "%i", "%h%l", "%h\\n%l", "%{%Q}t", "%{x}T"],
)
def test_a_layout_that_cannot_be_read_back_is_refused(layout: str) -> None:
    check = options_of(ApacheAccessLog)["layout"].check
    assert check is not None
    with pytest.raises(UsageError):
        check(layout)


ORACLE = {
    "remote_host": "remote_host",
    "remote_logname": "remote_logname",
    "remote_user": "remote_user",
    "request": "request_line",
    "status": "final_status",
    "body_bytes_sent": "bytes_sent",
    "server_name": "virtual_host",
    "server_port": "server_port",
    "bytes_sent": "bytes_out",
    "bytes_received": "bytes_in",
    "request_time_us": "request_duration_microseconds",
}
"""Our fields, and the attributes of `apachelogs`."""


def of_oracle(layout: str, line: str) -> dict[str, Any]:
    entry = apachelogs.LogParser(NICKNAMES.get(layout, layout), encoding="utf-8").parse(line)
    found = {ours: getattr(entry, theirs) for ours, theirs in ORACLE.items() if hasattr(entry, theirs)}
    for name, value in getattr(entry, "headers_in", {}).items():
        found["http_" + name.lower().replace("-", "_")] = value
    found["timestamp"] = entry.request_time.astimezone(UTC).replace(tzinfo=None)
    return {name: value if value is None or name == "timestamp" else str(value) for name, value in found.items()}


PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
UNICODE = st.text(st.characters(exclude_categories=["Cs"], min_codepoint=1), max_size=8)


def written(text: str) -> str:
    """A text as Apache writes it."""
    short = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x09: "\\t", 0x0D: "\\r", 0x0B: "\\v", 0x08: "\\b"}
    return "".join(short.get(byte, chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in text.encode())


@pytest.mark.slow
@given(
    layout=st.sampled_from(["common", "combined", "vhost_common", "vhost_combined", "combinedio"]),
    line_=PRINTABLE | UNICODE,
    agent=PRINTABLE | UNICODE,
    user=st.sampled_from(["-", '""', "anna", "anna b"]),
    status=st.integers(100, 599),
    size=st.none() | st.integers(0, 10**12),
    time=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
)
def test_apachelogs_reads_the_same(
    layout: str, line_: str, agent: str, user: str, status: int, size: int | None, time: datetime
) -> None:
    first = {"vhost_common": "a.example ", "vhost_combined": "a.example:80 "}.get(layout, "")
    length = "-" if size is None and layout != "vhost_combined" else str(size or 0)
    stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0200")
    line = f'{first}10.0.0.1 - {user} [{stamp}] "{written(line_)}" {status} {length}'
    if layout in ("combined", "vhost_combined", "combinedio"):
        line += f' "-" "{written(agent)}"'
    if layout == "combinedio":
        line += " 10 20"
    row = one(layout, line)
    expected = of_oracle(layout, line)
    assert {name: row[name] for name in expected} == expected


@given(text=st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_no_line_makes_it_fail(text: str) -> None:
    for layout in ("common", "%h|%{X}i|%{%F}t", "%t %{sec}t"):
        assert len(parse(ApacheAccessLog(name="x", layout=layout), [text])) == 1


def test_lines_may_go_on_behind_the_layout() -> None:
    form = ApacheAccessLog(layout="%h %>s", may_follow=[' "%{Referer}i"', ' "%{User-Agent}i"'], rest="rest")
    lines = ["a 200", 'b 200 "x y"', 'c 200 "-" "q \\" r"', 'd 200 "-" "u" 7 8']
    for order in (lines, lines[::-1]):
        rows = sorted(read_bytes(form, "\n".join(order).encode()).rows, key=lambda row: str(row["remote_host"]))
        assert [(row.get("http_referer"), row.get("http_user_agent"), row.get("rest")) for row in rows] == [
            (None, None, None),
            ("x y", None, None),
            (None, 'q " r', None),
            (None, "u", "7 8"),
        ]


@pytest.mark.parametrize("part", ["%s", " [%t]", " text"])
def test_a_part_that_may_follow_begins_with_text_and_has_no_time(part: str) -> None:
    check = options_of(ApacheAccessLog)["may_follow"].check
    assert check is not None
    with pytest.raises(UsageError):
        check([part])
