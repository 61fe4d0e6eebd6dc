from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.formats import Auditd
from tailpipe.formats.auditd_parser import audit_event
from tailpipe.formats.syscalls import syscall_name
from tailpipe.plugin import Column
from tailpipe.testing import read_bytes
from tests.unit.formats.growing import grown_rows
from tests.unit.formats.parsing import parse

EXECVE = "".join(
    [
        "type=SYSCALL msg=audit(1706691600.123:7): arch=c000003e syscall=59 success=yes exit=0 a0=AB a1=7ffe items",
        '=2 ppid=1 pid=42 auid=1000 uid=0 gid=0 euid=0 suid=0 fsuid=0 egid=0 sgid=0 fsgid=0 tty=pts0 ses=3 comm="s',
        'h" exe="/bin/sh" subj=unconfined key="exec"\x1dARCH=x86_64 SYSCALL=execve AUID="anna" UID="root"\n',
        'type=EXECVE msg=audit(1706691600.123:7): argc=4 a0="sh" a1="-c" a2[0]=6563686F a2[1]=2022612062 a3=41\n',
        'type=CWD msg=audit(1706691600.123:7): cwd="/root"\n',
        'type=PATH msg=audit(1706691600.123:7): item=0 name="/bin/sh" inode=12 dev=fe:01 mode=0100755 ouid=0 ogid=0\n',
        "type=PATH msg=audit(1706691600.123:7): item=1 name=2F746D702F6120C3A9 inode=13 dev=fe:01 nametype=NORMAL\n",
        "type=PROCTITLE msg=audit(1706691600.123:7): proctitle=7368002D63006563686F\n",
    ]
)
LOGIN = (
    "node=web1 type=USER_LOGIN msg=audit(1706691601.000:8): pid=50 uid=0 auid=4294967295 ses=4294967295"
    ' msg=\'op=login acct="root" exe="/usr/sbin/sshd" hostname=? addr=10.0.0.9 terminal=ssh res=failed\'\n'
)


def events(text: str) -> list[dict[str, Any]]:
    found = read_bytes(Auditd(), text.encode())
    assert (found.rejected, found.error) == ([], None)
    return [{name: value for name, value in row.items() if value is not None} for row in found.rows]


def test_the_records_of_an_event_are_one_row() -> None:
    (row,) = events(EXECVE)
    assert row.pop("raw") == EXECVE.removesuffix("\n")
    records = json.loads(row.pop("records"))
    assert [record["type"] for record in records] == ["SYSCALL", "EXECVE", "CWD", "PATH", "PATH", "PROCTITLE"]
    assert records[0]["a0"] == "AB"
    assert json.loads(row.pop("paths")) == [
        {"item": "0", "name": "/bin/sh", "inode": "12", "dev": "fe:01", "mode": "0100755", "ouid": "0", "ogid": "0"},
        {"item": "1", "name": "/tmp/a é", "inode": "13", "dev": "fe:01", "nametype": "NORMAL"},
    ]
    assert json.loads(row.pop("argv")) == ["sh", "-c", 'echo "a b', "A"]
    assert json.loads(row.pop("record_types")) == ["SYSCALL", "EXECVE", "CWD", "PATH", "PROCTITLE"]
    ids = dict.fromkeys(("uid", "gid", "euid", "suid", "fsuid", "egid", "sgid", "fsgid"), 0)
    assert {**row, "timestamp": float(row["timestamp"])} == {
        **ids,
        "timestamp": 1706691600.123,
        "serial": 7,
        "type": "SYSCALL",
        "arch": "x86_64",
        "syscall": 59,
        "syscall_name": "execve",
        "success": "true",
        "exit": 0,
        "key": "exec",
        "pid": 42,
        "ppid": 1,
        "auid": 1000,
        "auid_name": "anna",
        "uid_name": "root",
        "ses": 3,
        "tty": "pts0",
        "comm": "sh",
        "exe": "/bin/sh",
        "subj": "unconfined",
        "cwd": "/root",
        "proctitle": "sh -c echo",
        "command_line": 'sh -c echo "a b A',
    }


def test_a_message_of_a_program_is_taken_apart() -> None:
    (row,) = events(LOGIN)
    expected = {"node": "web1", "type": "USER_LOGIN", "op": "login", "acct": "root", "exe": "/usr/sbin/sshd"}
    expected |= {"addr": "10.0.0.9", "terminal": "ssh", "res": "failed"}
    assert {name: row.get(name) for name in expected} == expected
    assert not {"auid", "ses", "hostname"} & row.keys()


def test_mixed_events_are_told_apart_by_serial_and_node() -> None:
    lines = [
        'type=CWD msg=audit(1.000:1): cwd="/1"',
        'type=CWD msg=audit(1.000:2): cwd="/2"',
        'node=b type=CWD msg=audit(1.000:1): cwd="/b"',
        'type=PROCTITLE msg=audit(1.000:2): proctitle="two"',
        'type=PROCTITLE msg=audit(1.000:1): proctitle="one"',
        'node=b type=PROCTITLE msg=audit(1.000:1): proctitle="b"',
    ]
    found = [(row["cwd"], row["proctitle"]) for row in events("\n".join(lines))]
    assert found == [("/1", "one"), ("/2", "two"), ("/b", "b")]


def test_an_end_of_an_event_is_no_row() -> None:
    assert len(events(EXECVE + "type=EOE msg=audit(1706691600.123:7): \n" + LOGIN)) == 2


def test_an_event_without_an_end_ends_when_its_node_is_two_seconds_later() -> None:
    first = 'type=CWD msg=audit(10.000:1): cwd="/a"\n'
    rows = events(first + 'type=CWD msg=audit(12.001:2): cwd="/b"\n' + 'type=PATH msg=audit(10.000:1): name="/c"\n')
    assert [row["serial"] for row in rows] == [1, 2, 1]
    rows = events(first + 'type=CWD msg=audit(12.000:2): cwd="/b"\n' + 'type=PATH msg=audit(10.000:1): name="/c"\n')
    assert [row["serial"] for row in rows] == [1, 2]


@pytest.mark.parametrize(
    ("saddr", "expected"),
    [
        ("020001BBC00002010000000000000000", ("inet", "192.0.2.1", 443, None)),
        ("0A00005000000000" + "20010DB8000000000000000000000001" + "00000000", ("inet6", "2001:db8::1", 80, None)),
        ("0A00005000000000" + "00000000000000000000FFFFC0000201" + "00000000", ("inet6", "192.0.2.1", 80, None)),
        ("01002F72756E2F610000", ("unix", None, None, "/run/a")),
        ("010000616263", ("unix", None, None, "@abc")),
        ("100000000000", ("netlink", None, None, None)),
        ("1F00AABB", ("31", None, None, None)),
        ("0200", ("inet", None, None, None)),
        ("zz", (None, None, None, None)),
    ],
)
def test_socket_addresses_are_decoded(saddr: str, expected: tuple[object, ...]) -> None:
    row = audit_event(f"type=SOCKADDR msg=audit(1.0:1): saddr={saddr}")
    assert row is not None
    assert tuple(row[f"saddr_{part}"] for part in ("family", "ip", "port", "path")) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("comm=ABCD exe=/bin/a", {"comm": "��", "exe": "/bin/a"}),
        ("key=6101620A", {"key": "a,b\n"}),
        ("key=(null) tty=(none)", {"key": None, "tty": None}),
        ("a0=4142 syscall=3 arch=c00000b7", {"syscall_name": "io_cancel", "arch": "aarch64"}),
        ("arch=12345678 syscall=2", {"arch": "12345678", "syscall_name": None}),
        ("op=adding group to /etc/group id=7 res=1", {"op": "adding group to /etc/group", "res": "success"}),
        ("success=no exit=-13", {"success": False, "exit": "-13"}),
    ],
)
def test_values_are_read_as_they_are_meant(body: str, expected: dict[str, Any]) -> None:
    row = audit_event(f"type=SYSCALL msg=audit(1.0:1): {body}")
    assert row is not None
    assert {name: row[name] for name in expected} == expected


def test_an_avc_tells_what_was_denied() -> None:
    row = audit_event(
        'type=AVC msg=audit(1.0:1): avc:  denied  { read write } for  pid=5 comm="x" tclass=file permissive=0'
    )
    assert row is not None
    assert row["avc"] == {
        "result": "denied",
        "permissions": ["read", "write"],
        "pid": "5",
        "comm": "x",
        "tclass": "file",
        "permissive": "0",
    }


def test_lines_of_other_logs_are_rejected() -> None:
    found = read_bytes(Auditd(), b"hello\n" + LOGIN.encode() + b"type=CWD msg=g\n")
    assert len(found.rows) == 1
    assert found.rejected == [("line 1", "is no audit record"), ("line 3", "is no audit record")]


def test_system_calls_have_their_names() -> None:
    assert [syscall_name("x86_64", number) for number in ("0", "59", "257", "424", "999")] == [
        *("read", "execve", "openat", "pidfd_send_signal", None),
    ]
    assert [syscall_name("aarch64", number) for number in ("56", "221")] == ["openat", "execve"]


MIXED = (
    b'type=CWD msg=audit(1.000:1): time=2024-01-01 cwd="/1"\n'
    b'type=CWD msg=audit(1.000:2): cwd="/2"\nbad\n'
    b'type=PROCTITLE msg=audit(1.000:1): proctitle="one"\n'
    b'type=PROCTITLE msg=audit(1.000:2): proctitle="two"\n'
    b"type=EOE msg=audit(1.000:2): \n"
    b'type=CWD msg=audit(2.000:3): cwd="/3"\n'
)
COLUMNS = [Column("cwd", "varchar"), Column("proctitle", "varchar")]


@pytest.mark.parametrize("cut", range(0, len(MIXED) + 1, 37))
def test_wherever_a_growing_log_is_cut_its_events_are_the_same(cut: int) -> None:
    both, whole = grown_rows(Auditd(), MIXED, cut, COLUMNS)
    assert both == whole
    assert [values[1:] for values in whole] == [("/1", "one"), ("/2", "two"), ("/3", None), ("is no audit record",)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("connect", (None, "192.0.2.1")),
        ("sendto", (None, "192.0.2.1")),
        ("accept4", ("192.0.2.1", None)),
        ("recvfrom", ("192.0.2.1", None)),
        ("bind", (None, None)),
        ("listen", (None, None)),
        ("getpeername", (None, None)),
    ],
)
def test_the_call_says_whether_an_address_is_source_or_destination(call: str, expected: tuple[object, object]) -> None:
    records = (f"SYSCALL msg=audit(1.0:1): SYSCALL={call}", "SOCKADDR msg=audit(1.0:1): saddr=02000050C0000201")
    row = audit_event("\n".join(f"type={record}" for record in records))
    assert row is not None
    assert (row["source_ip"], row["destination_ip"]) == expected
    assert row["ips"] == ["192.0.2.1"]


def test_separators_of_older_programs_are_no_part_of_values() -> None:
    message = 'PAM: setcred acct=root : exe="/bin/su" (hostname=a, addr=?, tty=(none) res=success)'
    row = audit_event(f"type=CRED_ACQ msg=audit(1.0:1): msg='{message}'")
    assert row is not None
    assert (row["acct"], row["hostname"], row["tty"], row["res"]) == ("root", "a", None, "success")


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=60))
def test_no_record_makes_it_fail(text: str) -> None:
    lines = [text, f"type=EXECVE msg=audit(1.0:1): {text}", f"type=SOCKADDR msg=audit(1.0:1): saddr={text}"]
    assert len(parse(Auditd(), lines)) == sum(1 for line in lines if line)
