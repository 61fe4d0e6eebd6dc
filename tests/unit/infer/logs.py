"""Small logs of many kinds, each with what has to become of it."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["LOGS", "Log", "write_logs"]


@dataclass(frozen=True)
class Log:
    """A file, the format that it is, how many rows it has, and the types of some columns."""

    name: str
    data: bytes
    format: str
    rows: int
    types: dict[str, str] = field(default_factory=dict)
    first: str = "2024-01-31 10:00:00"
    """The time of its first row, in UTC."""


def _lines(pattern: str, count: int = 6) -> bytes:
    """Lines with a number each, which stands for `#`."""
    return "".join(pattern.replace("#", str(number)) + "\n" for number in range(count)).encode()


def _parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"time": ["2024-01-31T10:00:00Z"] * 5, "amount": list(range(5))}), sink)
    return bytes(sink.getvalue())


_ACCESS = '10.0.0.# - anna [31/Jan/2024:10:00:0# +0000] "GET /# HTTP/1.1" 200 512'

LOGS = (
    Log(
        "events.jsonl",
        _lines('{"time": "2024-01-31T10:00:0#Z", "status": 20#, "ok": true, "took": #.5, "user": {"id": #}}'),
        "jsonl",
        6,
        {"status": "BIGINT", "ok": "BOOLEAN", "took": "DOUBLE", "time": "TIMESTAMP", "user": "JSON"},
    ),
    Log(
        "trail.json",
        b'{"Items": [%s]}' % b", ".join(_lines('{"at": 170669520#, "name": "n#"}').split(b"\n")[:-1]),
        "json",
        6,
        {"name": "VARCHAR", "at": "TIMESTAMP"},
    ),
    Log(
        "orders.csv",
        b"booked,customer,amount,zip\n" + _lines("2024-01-31 10:00:0#,c#,#.25,0123#"),
        "delimited",
        6,
        {"amount": "DOUBLE", "zip": "VARCHAR", "booked": "TIMESTAMP"},
    ),
    Log(
        "flows.tsv.gz",
        gzip.compress(_lines("31.01.2024 10:00:0#\t10.0.0.#\t44#")),
        "delimited",
        6,
        {"time": "TIMESTAMP", "ip": "VARCHAR", "column_3": "BIGINT"},
    ),
    Log(
        "app.logfmt",
        _lines('time=2024-01-31T10:00:0#Z level=info msg="hello #" took=#'),
        "logfmt",
        6,
        {"took": "BIGINT", "level": "VARCHAR"},
    ),
    Log(
        "daemon.log",
        _lines("<13>1 2024-01-31T10:00:0#Z web1 cron 41# - - started #"),
        "syslog",
        6,
        {"procid": "BIGINT", "message": "VARCHAR", "timestamp": "TIMESTAMP"},
    ),
    Log("www.log", _lines(_ACCESS + ' "-" "curl/8"'), "apache_access_log", 6, {"status": "BIGINT"}),
    Log("short.log", _lines(_ACCESS), "apache_access_log", 6, {"body_bytes_sent": "BIGINT"}),
    Log(
        "wall.cef",
        _lines("CEF:0|Acme|Wall|1.0|10#|scan|7|src=10.0.0.# rt=170669520#000 msg=port #"),
        "cef",
        6,
        {"src": "VARCHAR", "rt": "TIMESTAMP"},
    ),
    Log(
        "proxy.leef",
        _lines("LEEF:1.0|Acme|Proxy|1.1|seen|src=10.0.0.#\tdevTime=2024-01-31T10:00:0#Z\tbytes=#"),
        "leef",
        6,
        {"bytes": "BIGINT"},
    ),
    Log(
        "iis.log",
        b"#Software: a server\n#Fields: date time c-ip sc-status\n" + _lines("2024-01-31 10:00:0# 10.0.0.# 200"),
        "w3c",
        6,
        {"sc_status": "BIGINT"},
    ),
    Log(
        "conn.log",
        b"#separator \\x09\n#fields\tts\tuid\tid.orig_h\n#types\ttime\tstring\taddr\n"
        + _lines("170669520#.5\tC#\t10.0.0.#"),
        "zeek",
        6,
        {"id_orig_h": "VARCHAR"},
        "2024-01-31 10:00:00.5",
    ),
    Log(
        "audit.log",
        _lines(
            'type=CWD msg=audit(170669520#.000:7#): cwd="/root"\n'
            "type=PROCTITLE msg=audit(170669520#.000:7#): proctitle=6C73"
        ),
        "auditd",
        6,
        {"cwd": "VARCHAR", "serial": "BIGINT"},
    ),
    Log(
        "pod.log",
        _lines("2024-01-31T10:00:0#.000000000Z stdout F line #"),
        "cri",
        6,
        {"stream": "VARCHAR"},
    ),
    Log(
        "container.log",
        _lines('{"log":"line #\\n","stream":"stdout","time":"2024-01-31T10:00:0#Z"}'),
        "docker",
        6,
        {"message": "VARCHAR"},
    ),
    Log(
        "java.log",
        _lines("2024-01-31 10:00:0#,125 ERROR [main-#] com.example.Shop - it broke #\n\tat Shop.pay(Shop.java:#)"),
        "regex",
        6,
        {"level": "VARCHAR", "thread": "VARCHAR", "logger": "VARCHAR", "time": "TIMESTAMP"},
        "2024-01-31 10:00:00.125",
    ),
    Log("archive.parquet", _parquet(), "parquet", 5, {"amount": "BIGINT"}),
)


_WRITTEN = 1_706_745_600
"""2024-02-01: the end of a log that was written to just now may wait for the next run."""


def write_logs(directory: Path) -> None:
    """Write all of them into a directory, as files that nobody writes any more."""
    directory.mkdir()
    for log in LOGS:
        (directory / log.name).write_bytes(log.data)
        os.utime(directory / log.name, (_WRITTEN, _WRITTEN))
