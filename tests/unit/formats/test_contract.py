"""Every built-in format by the public API alone: golden bytes in, rows and rejected rows out."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailpipe.formats import (
    ApacheAccessLog,
    Auditd,
    Cef,
    Cri,
    Delimited,
    Docker,
    Evtx,
    FirstByte,
    Grok,
    Journald,
    Json,
    Jsonl,
    Leef,
    Logfmt,
    Multiline,
    MysqlSlowLog,
    NginxAccessLog,
    Parquet,
    PostgresqlLog,
    Regex,
    Syslog,
    W3cLog,
    Zeek,
)
from tailpipe.plugin import DocumentParser, Format, ParseContext, Registry
from tailpipe.testing import check_format, read_bytes
from tests.unit.formats.evtx_files import Element, evtx_file


class Golden(NamedTuple):
    format: Format
    data: bytes
    rows: Sequence[Mapping[str, Any]]
    rejected: Sequence[tuple[str, str]] = ()


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


GOLDEN = {
    "delimited": Golden(
        Delimited(header=True),
        b"a,b\n1,x\n2\n\n3,y\n",
        [{"a": 1, "b": "x"}, {"a": 3, "b": "y"}],
        [("line 3", "has 1 value for 2 fields")],
    ),
    "csv": Golden(
        Registry.installed().formats["csv"](),
        b'name,n\nAda,"1,5"\nBob,\n',
        [{"name": "Ada", "n": "1,5"}, {"name": "Bob"}],
    ),
    "regex": Golden(
        Regex(layout=r"^(?P<level>[A-Z]+): (?P<text>.*)$", multiline=Multiline(start="^[A-Z]+:")),
        b"ERROR: one\n  two\nINFO: three\n",
        [{"level": "ERROR", "text": "one\n  two"}, {"level": "INFO", "text": "three"}],
    ),
    "first_byte": Golden(
        FirstByte(formats={"{": Jsonl()}, otherwise=Delimited(header=True)),
        b'{"a": "x", "n": 1}\n{\n',
        [{"a": "x", "n": 1}],
        [("line 2", "the line is not JSON")],
    ),
    "grok": Golden(
        Grok(layout="%{WORD:verb} %{INT:size}"),
        b"GET 7\n-\n",
        [{"verb": "GET", "size": 7}],
        [("line 2", "does not match the layout")],
    ),
    "nginx_access_log": Golden(
        NginxAccessLog(layout="$status [$http_x]"),
        b"200 [a b]\n-\n",
        [{"status": 200, "http_x": "a b"}],
        [("line 2", "does not match the layout")],
    ),
    "apache_access_log": Golden(
        ApacheAccessLog(layout='%>s "%{X}i"'),
        b'200 "a\\"b"\n-\n',
        [{"status": 200, "http_x": 'a"b'}],
        [("line 2", "does not match the layout")],
    ),
    "cri": Golden(
        Cri(),
        b"2024-01-31T10:00:00Z stdout P a \n2024-01-31T10:00:01Z stdout F b\n-\n",
        [{"is_partial": False, "time": "2024-01-31T10:00:00Z", "stream": "stdout", "message": "a b"}],
        [("line 3", "does not match the layout")],
    ),
    "docker": Golden(
        Docker(),
        b'{"log":"a ","stream":"stdout","time":"t"}\n{"log":"b\\n","stream":"stdout","time":"u"}\n-\n',
        [{"is_partial": False, "time": "t", "stream": "stdout", "message": "a b"}],
        [("line 3", 'is no JSON object with a text "log"')],
    ),
    "auditd": Golden(
        Auditd(),
        b"type=CWD msg=audit(1.000:7): cwd=2F61\ntype=PROCTITLE msg=audit(1.000:7): proctitle=7800\n-\n",
        [
            {
                "timestamp": Decimal("1.000"),
                "serial": 7,
                "raw": "type=CWD msg=audit(1.000:7): cwd=2F61\ntype=PROCTITLE msg=audit(1.000:7): proctitle=7800",
                "type": "CWD",
                "record_types": '["CWD", "PROCTITLE"]',
                "cwd": "/a",
                "proctitle": "x",
                "records": '[{"type": "CWD", "cwd": "/a"}, {"type": "PROCTITLE", "proctitle": "x"}]',
            }
        ],
        [("line 3", "is no audit record")],
    ),
    "cef": Golden(
        Cef(),
        b"CEF:0|v|p|1|7|n|5|src=10.0.0.1\n-\n",
        [
            {
                "cef_version": 0,
                "device_vendor": "v",
                "device_product": "p",
                "device_version": 1,
                "device_event_class_id": 7,
                "name": "n",
                "severity": 5,
                "src": "10.0.0.1",
                "extension": '{"src": "10.0.0.1"}',
            }
        ],
        [("line 2", "has no header CEF:0|…")],
    ),
    "leef": Golden(
        Leef(),
        b"LEEF:1.0|v|p|1|7|src=10.0.0.1\n-\n",
        [
            {
                "leef_version": 1.0,
                "device_vendor": "v",
                "device_product": "p",
                "device_version": 1,
                "event_id": 7,
                "src": "10.0.0.1",
                "extension": '{"src": "10.0.0.1"}',
            }
        ],
        [("line 2", "has no header LEEF:1.0|… or LEEF:2.0|…")],
    ),
    "evtx": Golden(
        Evtx(),
        evtx_file([Element("Event", children=[Element("System", children=[Element("EventID", text="7")])])]),
        [{"event_id": 7}],
    ),
    "journald": Golden(
        Journald(), b'{"MESSAGE":[104,105]}\n[]\n', [{"MESSAGE": "hi"}], [("entry 2", "is no JSON object")]
    ),
    "mysql_slow_log": Golden(
        MysqlSlowLog(),
        b"# User@Host: a[a] @ h []\nSELECT 1;\n# User@Host: x\n",
        [{"user": "a", "host": "h", "query": "SELECT 1;"}],
        [("line 3", "has no # User@Host")],
    ),
    "postgresql_log": Golden(
        PostgresqlLog(),
        b"2024-01-31 10:00:00 UTC [7] LOG:  hi\n2024-01-31 10:00:00 ABC [7] LOG:  hi\n",
        [{"timestamp": "2024-01-31 10:00:00+00", "pid": 7, "severity": "LOG", "message": "hi"}],
        [("line 2", 'has the unknown time zone "ABC"; set the timezone of the format')],
    ),
    "w3c": Golden(
        W3cLog(),
        b"#Fields: date cs(User-Agent)\n2024-01-31 a+b\n2024-01-31\n",
        [{"date": "2024-01-31", "cs_user_agent": "a b"}],
        [("line 3", "has 1 value for 2 fields")],
    ),
    "zeek": Golden(
        Zeek(),
        b"#fields\tuid\tn\n#types\tstring\tcount\nC1\t7\nC2\n",
        [{"uid": "C1", "n": 7}],
        [("line 4", "has 1 value for 2 fields")],
    ),
    "logfmt": Golden(
        Logfmt(), b'a=1 b="x y"\nnothing\n', [{"a": 1, "b": "x y"}], [("line 2", "has no key=value pair")]
    ),
    "syslog": Golden(
        Syslog(),
        b"<34>Oct 11 22:14:15 host su[7]: failed\n\twith code 7\nagain\n<999>late\n",
        [{"host": "host", "app": "su", "procid": 7, "message": "failed\n\twith code 7\nagain"}],
        [("line 4", "the priority is above 191")],
    ),
    "jsonl": Golden(
        Jsonl(field_map={"at": "time"}),
        b'{"time": "x", "n": 1}\n[1]\n{"n": 2}\n{\n',
        [{"at": "x", "n": 1}, {"n": 2}],
        [("line 2", "the line is a JSON array, not an object"), ("line 4", "the line is not JSON")],
    ),
    "json": Golden(
        Json(records="Records"),
        b'{"Records": [{"n": 1}, 7, {"n": 2}]}\n{"Records": [{"n": 3',
        [{"n": 1}, {"n": 2}],
        [
            ("record 2", "the record is a JSON number, not an object"),
            ("record 4", "the document ends inside a record"),
        ],
    ),
    "parquet": Golden(Parquet(), parquet(a=[1, 2], _raw=["x", None]), [{"a": 1, "_raw_2": "x"}, {"a": 2}]),
}


def test_every_built_in_format_has_golden_bytes() -> None:
    assert set(GOLDEN) == {name for name in Registry.installed().formats if not name.startswith("aws_")}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_format_reads_what_is_golden(name: str) -> None:
    golden = GOLDEN[name]
    given = read_bytes(golden.format, golden.data)
    shown = set().union(*(row.keys() for row in golden.rows)) if name == "syslog" else None
    rows = [{key: value for key, value in row.items() if shown is None or key in shown} for row in given.rows]
    assert [{key: value for key, value in row.items() if value is not None} for row in rows] == golden.rows
    assert list(given.rejected) == list(golden.rejected)
    assert given.error is None


@pytest.mark.parametrize("name", GOLDEN)
def test_a_format_gives_a_parser_of_lines_or_of_documents(name: str) -> None:
    parser = GOLDEN[name].format.read_as().parser(ParseContext())
    assert isinstance(parser, DocumentParser) == (name in ("evtx", "journald", "json", "parquet"))
    assert callable(parser.parse)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_two_parsers_of_a_format_know_nothing_of_each_other(name: str) -> None:
    golden = GOLDEN[name]
    assert read_bytes(golden.format, golden.data) == read_bytes(golden.format, golden.data)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name not in ("evtx", "journald", "json", "parquet")])
def test_a_line_that_is_rejected_costs_no_other(name: str) -> None:
    golden = GOLDEN[name]
    once = read_bytes(golden.format, golden.data)
    lines = golden.data.splitlines(keepends=True)
    head = lines[: {"delimited": 1, "csv": 1, "w3c": 1, "zeek": 2}.get(name, 0)]
    twice = read_bytes(golden.format, b"".join([*head, *(2 * lines[len(head) :])]))
    assert len(twice.rows) == 2 * len(once.rows)
    assert len(twice.rejected) == 2 * len(once.rejected)


def test_the_check_tells_what_is_read_and_what_was_expected() -> None:
    golden = GOLDEN["logfmt"]
    check_format(*golden)
    with pytest.raises(AssertionError, match=r"'a': 1.*\nexpected"):
        check_format(golden.format, golden.data, [{"a": 2}], golden.rejected)
    with pytest.raises(AssertionError, match="rejects"):
        check_format(golden.format, golden.data, golden.rows)
    with pytest.raises(AssertionError, match="not a readable parquet file"):
        check_format(Parquet(), b"text", [])


def test_a_parquet_file_in_an_archive_is_read_too() -> None:
    data = GOLDEN["parquet"].data
    packed = gzip.compress(data)
    assert read_bytes(Parquet(), packed, name="/a.parquet.gz") == read_bytes(Parquet(), data)
    damaged = read_bytes(Parquet(), gzip.compress(data[:-9]), name="/a.parquet.gz")
    assert str(damaged.error).startswith('"/a.parquet.gz" is not a readable parquet file')


def test_columns_of_a_parquet_file_that_differ_in_case_alone_are_kept_apart() -> None:
    assert read_bytes(Parquet(), parquet(a=[1], A=[2])).rows == [{"a": 1, "A_2": 2}]


def test_json_that_a_format_of_lines_rejects_is_read_by_one_of_documents() -> None:
    text = json.dumps([{"n": 1}, {"n": 2}], indent=1).encode()
    assert read_bytes(Jsonl(), text).rows == []
    assert read_bytes(Json(), text).rows == [{"n": 1}, {"n": 2}]


def test_what_a_rejected_line_holds_does_not_widen_the_type_of_a_field() -> None:
    read = read_bytes(Regex(layout=r"^(?P<n>\d*)x$"), b"1x\nbad\n2x\n")
    assert read.rows == [{"n": 1}, {"n": 2}]
    assert read.rejected == [("line 2", "does not match the layout")]
