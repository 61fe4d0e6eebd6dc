from __future__ import annotations

import duckdb
import pytest

from tailpipe.errors import UsageError
from tailpipe.formats import Grok
from tailpipe.formats.grok import check_patterns, compile_grok, compile_layout
from tailpipe.formats.grok_patterns import PATTERNS
from tailpipe.plugin.linear import compile_linear
from tests.unit.formats.parsing import bad, parse, values

FITS = {
    "USERNAME": (["a.b-c_1"], ["a b", ""]),
    "INT": (["0", "-12", "+7"], ["1.5", "a"]),
    "NUMBER": (["0", "-1.5", ".5", "1e-9", "12."], ["", "-", "1.2.3"]),
    "BASE16NUM": (["0xFF", "ff", "-A0"], ["xyz"]),
    "POSINT": (["1", "120"], ["0", "-1", "01"]),
    "NONNEGINT": (["0", "12"], ["-1"]),
    "WORD": (["ab_1"], ["a b", "-"]),
    "NOTSPACE": (["a/b:é"], ["a b", ""]),
    "SPACE": (["", "  \t"], ["a"]),
    "QS": (['"a b"', "'x'", "`y`", r'"a \" b"', '""'], ['"', "a", '"a" b']),
    "UUID": (["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]),
    "URN": (["urn:isbn:0451450523"], ["isbn:1", "urn::x"]),
    "MAC": (["00:1B:44:11:3a:b7", "00-1B-44-11-3A-B7", "001b.4411.3ab7"], ["00:1B:44"]),
    "IPV4": (["1.2.3.4", "255.255.255.255"], ["256.1.1.1", "1.2.3", "01.2.3.4"]),
    "IPV6": (
        ["::", "::1", "1::", "2001:db8::1", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3::4:5:6:7"],
        ["1:2:3", "12345::", "1:2:3:4:5:6:7:8:9", "1::2::3", ":::"],
    ),
    "IP": (["1.2.3.4", "::1"], ["host"]),
    "HOSTNAME": (["a", "a-b.example.org", "x_1.local.", "10-0-0-1"], ["-a", "a..b", "a b"]),
    "IPORHOST": (["1.2.3.4", "::1", "a.b"], ["a b"]),
    "HOSTPORT": (["a.b:80", "1.2.3.4:443"], ["a.b", "a:b"]),
    "UNIXPATH": (["/", "/var/log/x.log"], ["var/log", "/a b"]),
    "WINPATH": ([r"C:\Windows\x.log", r"\\host\share"], ["/a", "C:"]),
    "URI": (["http://a.b/c?d=e#f", "s3://bucket/key", "https://u:p@h:8443/", "ftp://h"], ["a.b/c"]),
    "URIPARAM": (["?a=b&c[]=d"], ["a=b"]),
    "MONTH": (["Jan", "january", "Dec", "May", "September"], ["Foo"]),
    "MONTHNUM": (["1", "01", "12"], ["0", "13"]),
    "MONTHDAY": (["1", "01", "31"], ["0", "32"]),
    "DAY": (["Mon", "Sunday"], ["Mo"]),
    "YEAR": (["2024", "99"], ["1"]),
    "HOUR": (["0", "09", "23"], ["24"]),
    "MINUTE": (["00", "59"], ["60", "5"]),
    "SECOND": (["00", "60", "59.999", "9,1"], ["61"]),
    "TIME": (["10:20", "10:20:30", "10:20:30.5"], ["10", "25:00"]),
    "DATE_US": (["12/31/2024", "1-2-99"], ["31/12/2024"]),
    "DATE_EU": (["31.12.2024", "1/2/99"], ["12/31/2024"]),
    "TIMESTAMP_ISO8601": (
        ["2024-01-31T10:20:30Z", "2024-01-31 10:20", "2024-01-31T10:20:30.123+02:00", "2024-01-31T10:20:30,5-0100"],
        ["24-01-31T10:20", "2024-13-01T00:00"],
    ),
    "DATESTAMP": (["31.12.2024 10:20:30", "12/31/2024-10:20"], ["2024"]),
    "HTTPDATE": (["17/May/2015:10:05:03 +0000"], ["17/05/2015:10:05:03 +0000"]),
    "TZ": (["UTC", "CEST"], ["utc", "Z"]),
    "SYSLOGTIMESTAMP": (["Dec 10 06:55:46", "Dec  1 06:55:46"], ["10 Dec 06:55:46"]),
    "SYSLOGPROG": (["sshd[24200]", "kernel", "postfix/smtpd[1]"], ["a b", "x[]"]),
    "LOGLEVEL": (["INFO", "warn", "Error", "CRITICAL", "emerg"], ["loud"]),
    "HTTPDUSER": (["a@b.org", "bob", "-"], ["a b"]),
    "EMAILADDRESS": (["a.b+c@example.org"], ["@b", "a@"]),
    "SYSLOGBASE": (["Dec 10 06:55:46 LabSZ sshd[24200]:", "Dec 10 06:55:46 1.2.3.4 su:"], ["Dec 10 LabSZ su:"]),
}


@pytest.mark.parametrize("name", FITS)
def test_a_pattern_of_the_library_matches_what_its_name_says(name: str) -> None:
    good, wrong = FITS[name]
    pattern = compile_grok(f"%{{{name}}}")
    linear = compile_linear(pattern.re2())
    with duckdb.connect() as connection:
        for text in good + wrong:
            (found,) = connection.execute("SELECT regexp_full_match(?, ?)", [text, pattern.re2()]).fetchone() or ()
            assert found == (text in good), text
            assert (linear.fullmatch(text) is not None) == found, text


def test_every_pattern_of_the_library_is_known_to_duckdb() -> None:
    with duckdb.connect() as connection:
        for name in PATTERNS:
            connection.execute("SELECT regexp_matches('', ?)", [compile_grok(f"%{{{name}:x}}").re2()])


def test_a_layout_becomes_fields() -> None:
    layout = "%{IP:client} %{WORD:method} %{URIPATHPARAM:request} %{NUMBER:bytes:int} %{NUMBER:duration:float}"
    rows = parse(Grok(name="x", layout=layout), ["55.3.244.1 GET /index.html?x=1 15824 0.043", "no"])
    assert values(rows) == [("55.3.244.1", "GET", "/index.html?x=1", "15824", "0.043")]
    assert bad(rows) == [(2, "does not match the layout", "no")]


def test_the_combined_log_of_apache() -> None:
    lines = [
        '1.2.3.4 - bob [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 12 "-" "curl"',
        r'a.b - - [17/May/2015:10:05:03 +0000] "\x16\x03" 400 - "-" "say \"hi\""',
    ]
    first, second = parse(Grok(name="x", layout="%{COMBINEDAPACHELOG}"), lines)
    assert first["_bad"] is second["_bad"] is None
    assert (first["clientip"], first["auth"], first["verb"], first["request"]) == ("1.2.3.4", "bob", "GET", "/a")
    assert (first["httpversion"], first["response"], first["bytes"], first["agent"]) == ("1.1", "200", "12", "curl")
    assert (second["verb"], second["rawrequest"], second["bytes"]) == (None, r"\x16\x03", None)
    assert second["agent"] == r"say \"hi\""


def test_own_patterns_nest_and_win_over_the_library() -> None:
    own = {"ID": "[A-Z]+-%{DIGITS}", "DIGITS": r"\d+", "WORD": "[a-z]+"}
    rows = parse(Grok(name="x", layout="^%{ID:id} %{WORD:word}$", patterns=own), ["AB-12 cd", "AB-12 CD"])
    assert values(rows) == [("AB-12", "cd")]
    assert len(bad(rows)) == 1


def test_a_field_may_be_in_several_places() -> None:
    rows = parse(Grok(name="x", layout="^(?:a=%{INT:n}|b=%{INT:n}|%{WORD:word})$"), ["a=1", "b=2", "c"])
    assert values(rows) == [("1", None), ("2", None), (None, "c")]


def test_names_with_dots_and_brackets_become_names_of_columns() -> None:
    assert compile_grok("%{IP:source.ip} %{WORD:[http][request]}").fields == ("source_ip", "http_request")


REFUSED = {
    "%{IPP:x}": ('there is no pattern "IPP"', 'did you mean "IP"?'),
    "%{greedydata:x}": ('there is no pattern "greedydata"', 'did you mean "GREEDYDATA"?'),
    "%{:x}": ('"%{:x}" is not a pattern', "write %{NAME} or %{NAME:field}"),
    "%{INT:x:money}": ('there is no type "money" in "%{INT:x:money}"', "remove it: the table defines the types"),
    "%{INT:..}": ('".." is not a name of a field', ""),
    "%{A:x}": ('the pattern "A" refers to itself: A → B → A', ""),
    "(?!x)%{INT:x}": ('negative look-ahead "(?!"', "match the allowed characters instead, such as [^ ]+"),
    "%{INT}": ("the layout has no named pattern, so no field", "write %{PATTERN:name}"),
    "%{INT:a} %{INT:A}": ('the field "A" is duplicated', ""),
}


@pytest.mark.parametrize("layout", REFUSED)
def test_a_mistake_in_a_layout_is_refused_with_what_to_do(layout: str) -> None:
    message, hint = REFUSED[layout]
    with pytest.raises(UsageError) as refused:
        Grok(name="x", layout=layout, patterns={"A": "%{B}", "B": "%{A}"} if "{A:" in layout else {})
    assert message in refused.value.message
    assert refused.value.hint == hint


def test_a_mistake_in_a_pattern_is_refused_with_its_name() -> None:
    for patterns, message in (
        ({"X": "("}, 'pattern "X": not a regular expression'),
        ({"X": "%{Y}", "Y": "%{NONE}"}, 'pattern "X": there is no pattern "NONE"'),
        ({"a b": "x"}, '"a b" is not a name of a pattern'),
    ):
        with pytest.raises(UsageError) as refused:
            check_patterns(patterns)
        assert message in refused.value.message


def test_patterns_that_grow_beyond_measure_are_refused() -> None:
    patterns = {f"P{number}": f"%{{P{number + 1}}}" * 10 for number in range(9)} | {"P9": "x"}
    with pytest.raises(UsageError, match="too long when written out"):
        compile_grok("%{P0:x}", patterns)


def test_a_layout_of_file_names_has_parts_that_may_be_missing() -> None:
    layout = compile_layout(
        "AWSLogs/(%{DATA:org}/)?%{NUMBER:account}/CloudTrail/%{NOTSPACE:region}/%{YEAR:year}/%{MONTHNUM:month}"
        "/%{MONTHDAY:day}/%{DATA}.json.gz"
    )
    with_org = layout.fullmatch("AWSLogs/o-1/123/CloudTrail/us-east-1/2024/01/31/x_y.json.gz")
    without = layout.fullmatch("AWSLogs/123/CloudTrail/us-east-1/2024/01/31/x.json.gz")
    assert with_org is not None
    assert without is not None
    assert with_org.groupdict() == {
        "org": "o-1",
        "account": "123",
        "region": "us-east-1",
        "year": "2024",
        "month": "01",
        "day": "31",
    }
    assert without.groupdict()["org"] is None
    assert layout.fullmatch("AWSLogs/123/CloudTrail/us-east-1/2024/01/31/x.json") is None
    with pytest.raises(UsageError, match='the field "a" is duplicated'):
        compile_layout("%{INT:a}/%{INT:a}")


def test_a_layout_that_would_backtrack_answers_at_once() -> None:
    layout = compile_layout(r"((\w+)*-)*(?P<tp_source_name>x)")
    assert layout.fullmatch("a" * 50_000) is None
