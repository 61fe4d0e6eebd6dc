"""Logs of databases and of systemd's journal; the samples of their packs have more of each."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from tailpipe.formats import Journald, MysqlSlowLog, PostgresqlLog
from tailpipe.formats.postgresql_parser import prefix_pattern
from tailpipe.model.option import options_of
from tailpipe.plugin import Format, UsageError
from tailpipe.testing import check_format, read_bytes


def fields(form: Format, text: str | bytes, *names: str) -> list[tuple[Any, ...]]:
    found = read_bytes(form, text.encode() if isinstance(text, str) else text)
    assert (found.rejected, found.error) == ([], None)
    return [tuple(row.get(name) for name in names) for row in found.rows]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        (Journald(), '{"MESSAGE":"a"}\n', {"MESSAGE": "a"}),
        (MysqlSlowLog(), "# User@Host: a[a] @ h []\nSELECT 1;\n", {"user": "a", "host": "h", "query": "SELECT 1;"}),
        (
            PostgresqlLog(),
            "2024-01-31 10:00:00 UTC [7] LOG:  hi\n",
            {"timestamp": "2024-01-31 10:00:00+00", "pid": 7, "severity": "LOG", "message": "hi"},
        ),
    ],
)
def test_they_keep_the_rules_of_formats(form: Format, text: str, expected: dict[str, Any]) -> None:
    check_format(form, text.encode(), [expected])


@pytest.mark.parametrize(
    ("layout", "line", "expected"),
    [
        ("%m [%p] %q%u@%d ", "2024-01-31 10:00:00.5 UTC [7] LOG:  hi", ("2024-01-31 10:00:00.5+00", "7", None, None)),
        ("%t [%-6p] %q%u@%d ", "2024-01-31 10:00:00 UTC [7     ] a b@c LOG:  hi", (..., "7", "a b", "c")),
        ("%n %p %u %d %%", "1706695200.123 7 anna shop %LOG:  hi", ("1706695200.123", "7", "anna", "shop")),
        ("%t:%r:%u@%d:[%p]: ", "2024-01-31 10:00:00 UTC:10.0.0.1(5000):u@d:[7]: LOG:  hi", (..., "7", "u", "d")),
    ],
)
def test_a_layout_is_read_as_log_line_prefix(layout: str, line: str, expected: tuple[Any, ...]) -> None:
    ((time, *rest),) = fields(PostgresqlLog(layout=layout), line, "timestamp", "pid", "user", "database")
    assert expected[0] in (..., str(time))
    assert tuple(None if one is None else str(one) for one in rest) == expected[1:]


@pytest.mark.parametrize("layout", ["%p ", "%y %t", "no escape"])
def test_a_layout_has_a_time_and_no_unknown_escape(layout: str) -> None:
    check = options_of(PostgresqlLog)["layout"].check
    assert check is not None
    with pytest.raises(UsageError):
        check(layout)
    with pytest.raises(ValueError, match=r"time|escape"):
        prefix_pattern(layout)


def test_the_timezone_of_the_format_wins_over_names_of_zones() -> None:
    line = "2024-01-31 10:00:00.5 ABC [7] LOG:  hi"
    assert fields(PostgresqlLog(timezone="Europe/Berlin"), line, "timestamp") == [("2024-01-31 10:00:00.5",)]


def test_a_detail_without_its_message_is_rejected() -> None:
    found = read_bytes(PostgresqlLog(), b"2024-01-31 10:00:00 UTC [7] DETAIL:  of nothing\n")
    assert [reason for _, reason in found.rejected] == ["is a detail without its message"]


def test_the_last_time_of_a_slow_log_serves_the_entries_after_it() -> None:
    user = "# User@Host: a[a] @ h []\n# Query_time: 1\n"
    text = f"# Time: 2024-01-31T10:00:00Z\n{user}SELECT 1;\n{user}SELECT 2;\n# Time: 240131 11:00:00\n{user}SELECT 3;\n"
    assert fields(MysqlSlowLog(), text, "timestamp", "query") == [
        ("2024-01-31T10:00:00Z", "SELECT 1;"),
        ("2024-01-31T10:00:00Z", "SELECT 2;"),
        ("2024-01-31 11:00:00", "SELECT 3;"),
    ]


def test_both_forms_of_the_journal_give_the_same_rows() -> None:
    lines = json.dumps({"__CURSOR": "a", "MESSAGE": "x=y"}) + "\n" + json.dumps({"MESSAGE": [255, 10, 97]}) + "\n"
    export = b"__CURSOR=a\nMESSAGE=x=y\n\nMESSAGE\n" + struct.pack("<Q", 3) + b"\xff\na\n\n"
    expected = [("a", "x=y"), (None, "\ufffd\na")]
    for text in (lines.encode(), export):
        assert fields(Journald(), text, "__CURSOR", "MESSAGE") == expected


def test_an_export_that_is_cut_off_in_a_value_keeps_the_entries_before() -> None:
    found = read_bytes(Journald(), b"MESSAGE=one\n\nMESSAGE\n" + struct.pack("<Q", 99) + b"two")
    assert [row["MESSAGE"] for row in found.rows] == ["one"]
    assert [reason for _, reason in found.rejected] == ["is cut off"]
