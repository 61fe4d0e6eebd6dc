from __future__ import annotations

import json
from datetime import datetime

import pytest

from tailpipe.formats import Syslog
from tailpipe.plugin import Column, Table
from tailpipe.testing import read_bytes
from tests.unit.formats.parsing import Row, bad, parse
from tests.unit.kernel.support import run

FORMAT = Syslog(name="x")


def one(line: str) -> Row:
    (row,) = parse(FORMAT, [line])
    assert row["_bad"] is None
    return {name: value for name, value in row.items() if not name.startswith("_") and value is not None}


def test_a_line_of_rfc_5424() -> None:
    assert one(
        "<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 ID47"
        r' [a@1 iut="3" text="q\"b\]s\\"][b@2] ' + "\ufeffAn event\nof two lines"
    ) == {
        "priority": 165,
        "facility": "local4",
        "severity": "notice",
        "version": 1,
        "timestamp": "2003-08-24T05:14:15.000003-07:00",
        "host": "192.0.2.1",
        "app": "myproc",
        "procid": "8710",
        "msgid": "ID47",
        "structured_data": r'{"a@1":{"iut":"3","text":"q\"b]s\\"},"b@2":{}}',
        "message": "An event\nof two lines",
    }


def test_what_rfc_5424_leaves_out_is_null() -> None:
    assert one("<0>1 - - - - - -") == {"priority": 0, "facility": "kern", "severity": "emerg", "version": 1}


def test_a_line_of_rfc_3164() -> None:
    assert one("<34>Oct 11 22:14:15 mymachine su[77]: 'su root' failed") == {
        "priority": 34,
        "facility": "auth",
        "severity": "crit",
        "timestamp": "Oct 11 22:14:15",
        "month_day_time": "10-11 22:14:15",
        "host": "mymachine",
        "app": "su",
        "procid": "77",
        "message": "'su root' failed",
    }


SHORT = {
    "Dec  1 06:55:46 LabSZ sshd[24200]: Invalid user x from 1.2.3.4": (
        "LabSZ",
        "sshd",
        "24200",
        "Invalid user x from 1.2.3.4",
    ),
    "Dec 10 06:55:46 h last message repeated 2 times": ("h", None, None, "last message repeated 2 times"),
    "Dec 10 06:55:46 h kernel: [  1.5] a: b": ("h", "kernel", None, "[  1.5] a: b"),
    "<13>Dec 10 06:55:46 su[3]: no host": (None, "su", "3", "no host"),
    "Dec 10 06:55:46 ::1 postfix/smtpd[9]: x": ("::1", "postfix/smtpd", "9", "x"),
    "Dec 10 06:55:46 h": ("h", None, None, None),
    "Dec 10 06:55:46 h app:": ("h", "app", None, None),
    "<13>anything at all": (None, None, None, "anything at all"),
    "2024-05-01T10:00:00.123+02:00 h cron[1]: m": ("h", "cron", "1", "m"),
}


@pytest.mark.parametrize("line", SHORT)
def test_rfc_3164_as_it_is_practised(line: str) -> None:
    row = one(line)
    assert (row.get("host"), row.get("app"), row.get("procid"), row.get("message")) == SHORT[line]


def test_times_of_rfc_3164() -> None:
    assert one("Dec  1 06:55:46.5 h a: b")["month_day_time"] == "12-01 06:55:46.5"
    assert one("<189>Oct 11 2024 22:14:15: %SYS-5: x")["timestamp"] == "2024-10-11 22:14:15"
    row = one("2024-05-01T10:00:00Z h a: b")
    assert (row["timestamp"], "month_day_time" in row) == ("2024-05-01T10:00:00Z", False)


def test_other_lines_are_bad() -> None:
    lines = ["hello", "<192>Dec 10 06:55:46 h a: b", '<34>1 2003-10-11T22:14:15Z m su - - [x y="', "<13>fine"]
    assert bad(parse(FORMAT, lines)) == [
        (1, "is no syslog line", "hello"),
        (2, "the priority is above 191", lines[1]),
        (3, "begins like RFC 5424 but does not go on so", lines[2]),
    ]


def test_the_other_rfc_is_bad_if_one_is_asked_for() -> None:
    new, old = "<34>1 - h a - - - x", "<34>Oct 11 22:14:15 h a: x"
    assert bad(parse(Syslog(name="x", rfc="5424"), [new, old])) == [(2, "is no line of RFC 5424", old)]
    rows = parse(Syslog(name="x", rfc="3164"), [new, old, "?"])
    assert [row["message"] for row in rows[:2]] == ["1 - h a - - - x", "x"]
    assert bad(rows) == [(3, "is no line of RFC 3164", "?")]


def test_structured_data_is_json_whatever_it_holds() -> None:
    text = 'a "quoted" \\ ] \t é 😀 = [b]'
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
    row = one(f'<1>1 - - - - - [x@1 k="{escaped}" l=""] m')
    assert json.loads(row["structured_data"]) == {"x@1": {"k": text, "l": ""}}
    assert row["message"] == "m"


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("app[1] ([2]): hello", ("app", "1", "[2]", "hello")),
        ("launchd[1] (com.example.x[97]): Exited", ("launchd", "1", "com.example.x[97]", "Exited")),
        ("launchd[1] (com.example.x) <Notice>: Exited", ("launchd", "1", "com.example.x", "Exited")),
        ("peruser.501 (com.example.x[97]): gone", ("peruser.501", None, "com.example.x[97]", "gone")),
        ("app[1]: Started (x): y", ("app", "1", None, "Started (x): y")),
        ("error (5): text", (None, None, None, "error (5): text")),
    ],
)
def test_a_tag_may_have_more_in_round_brackets(rest: str, expected: tuple[str | None, ...]) -> None:
    for line in (f"Jan 31 10:00:00 web1 {rest}", f"<13>Jan 31 10:00:00 web1 {rest}"):
        row = one(line)
        assert row["host"] == "web1"
        assert tuple(row.get(name) for name in ("app", "procid", "detail", "message")) == expected


def test_a_repeated_message_of_macos_has_no_host() -> None:
    row = one("Apr 4 03:39:57 --- last message repeated 1 time ---")
    assert (row.get("host"), row["message"]) == (None, "--- last message repeated 1 time ---")


def test_a_line_with_an_odd_tag_and_no_year_gets_the_year_of_its_file() -> None:
    table = Table(name="t", columns=[Column("tp_timestamp", source="timestamp")])
    done = run(b"Jan 31 10:00:00 web1 app[1] ([2]): hello\n", of=table, format=Syslog())
    assert done.column("tp_timestamp") == [datetime(2024, 1, 31, 10)]


def test_a_line_without_a_header_belongs_to_the_message_before() -> None:
    log = b"alone\nMar  5 10:00:00 web1 app: first\n\tat x\n\n  end\n2024-03-05T10:00:01Z web1 app: second\nmore\n"
    found = read_bytes(FORMAT, log)
    assert [row["message"] for row in found.rows] == ["first\n\tat x\n\n  end", "second\nmore"]
    assert list(found.rejected) == [("line 1", "is no syslog line")]
