"""Events of the Linux audit log: one row of all records with the same time and serial number.

Fields of the records are merged, the first that has one counts; those of PATH records are in `paths`, those of EXECVE
in `argv` and `command_line`, and `records` has all of them. Texts that the kernel wrote as hex digits are decoded.
`source_ip` and `destination_ip` are null unless the event says who sent and who received.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from tailpipe.formats.syscalls import ARCHITECTURES, syscall_name
from tailpipe.plugin import Joining

_HEAD = r"^(?:node=(?P<clock>\S+) )?type=\S+ msg=audit\((?P<id>(?P<seconds>[0-9]+\.[0-9]+):[0-9]+)\)"
JOINING = Joining(key=_HEAD, end=r"^(?:node=\S+ )?type=(?:PROCTITLE|EOE) |^(?:node=\S+ )?type=[^']* msg='")
"""Programs send whole messages (`msg='…'`). The audit daemon does not write EOE to its file, but PROCTITLE is last."""

_RECORD = re.compile(r"(?:node=(\S+) )?type=(\S+) msg=audit\(([0-9]+\.[0-9]+):([0-9]+)\)(?::\s*|\s+|$)(.*)", re.DOTALL)
_PAIR = re.compile(
    r"""([A-Za-z0-9_-]+(?:\[\d+\])?)=(?:"([^"]*)"|'([^']*)'|(\{[^}]*\})|"""
    r"""([^\s\x1d'"]*(?:[ ]+(?![A-Za-z0-9_-]+(?:\[\d+\])?=)[^\s\x1d'"]+)*))"""
)
_AVC = re.compile(r"avc:\s+(\w+)\s+\{([^}]*)\}")
_HEX = re.compile(r"(?:[0-9A-F]{2})+")
_ARGUMENT = re.compile(r"a(\d+)(?:\[(\d+)\])?")
_TEXTS = frozenset(
    ["proctitle", "name", "cwd", "comm", "exe", "cmd", "data", "path", "key", "acct", "dir", "file", "watch", "ocomm"]
)
"""Fields that are in quotes, or hex digits where they hold blanks, quotes or anything odd."""
_SEPARATED = re.compile(r"(.*?)(?:\s+:|,)|([^(]*)\)", re.DOTALL)
"""What older programs have behind a value: `acct=root : exe=…`, `(hostname=?, addr=?, terminal=cron res=success)`."""
_NOTHING = frozenset({"?", "(null)", "(none)", ""})
_UNSET = frozenset({"4294967295", "-1", "unset"})
_IDS = ("auid", "uid", "gid", "euid", "suid", "fsuid", "egid", "sgid", "fsgid", "ses")
_MERGED = (
    *("arch", "syscall", "success", "exit", "key", "pid", "ppid", *_IDS, "tty", "comm", "exe", "subj", "cwd"),
    *("proctitle", "op", "acct", "hostname", "addr", "terminal", "res", "grantors", "unit", "cmd"),
)
_NAMED = ("auid", "uid", "gid", "euid", "suid", "fsuid", "egid", "sgid", "fsgid")
_TO_PEER = frozenset({"connect", "send", "sendto", "sendmsg", "sendmmsg"})
_FROM_PEER = frozenset({"accept", "accept4", "recv", "recvfrom", "recvmsg", "recvmmsg"})
_SOCKETCALLS = {
    **dict.fromkeys(("3", "9", "b", "10", "14"), "sendto"),
    **dict.fromkeys(("5", "a", "c", "11", "12", "13"), "recvfrom"),
}
"""The direction of a `socketcall` by its first argument, in hex: connect, send, …; accept, recv, …."""
_LOCAL = re.compile(r"(?:ADD|DEL)_(?:USER|GROUP)|(?:USER|GRP|ROLE)_MGMT|ACCT_(?:UN)?LOCK|CHGRP_ID|CHUSER_ID|GRP_\w+")
"""Types of messages in which `addr` is an address of the machine itself."""
_RESULTS = {"1": "success", "yes": "success", "0": "failed", "no": "failed"}


def audit_event(text: str) -> Mapping[str, Any] | None:
    """The fields of an event, whose records are lines; None if it is an end without an event."""
    records: list[dict[str, Any]] = []
    head: tuple[str | None, str, str] | None = None
    for line in text.split("\n"):
        found = _RECORD.fullmatch(line)
        if found is None:
            raise ValueError("is no audit record")
        node, kind, time, serial, body = found.groups()
        head = head or (node, time, serial)
        if kind != "EOE":
            records.append({"type": kind, **_fields(kind, body)})
    if not records or head is None:
        return None
    merged: dict[str, Any] = {}
    for record in records:
        for name, value in record.items() if record["type"] not in ("PATH", "EXECVE") else ():
            if merged.get(name) is None:
                merged[name] = value
    socket = _address(merged.get("saddr"))
    interpreted = _interpreted(merged)
    return {
        "timestamp": head[1],
        "serial": head[2],
        "node": head[0],
        "type": records[0]["type"],
        "record_types": list(dict.fromkeys(record["type"] for record in records)),
        **{name: merged.get(name) for name in _MERGED},
        **{f"{name}_name": merged.get(name.upper()) for name in _NAMED},
        **interpreted,
        **_command(records),
        "paths": [_without_type(record) for record in records if record["type"] == "PATH"] or None,
        **socket,
        **_ends(merged, interpreted["syscall_name"], socket["saddr_ip"]),
        "avc": next((_without_type(record) for record in records if record["type"] in ("AVC", "USER_AVC")), None),
        "records": records,
        "raw": text,
    }


def _fields(kind: str, body: str) -> dict[str, Any]:
    """The fields of a record and of the message in it."""
    fields: dict[str, Any] = {}
    if avc := _AVC.search(body):
        fields["result"], fields["permissions"] = avc[1], avc[2].split()
    for pair in _PAIR.finditer(body):
        name, quoted, message, braces, bare = pair.groups()
        if name == "msg" and message is not None:
            for inner, value in _fields(kind, message).items():
                fields.setdefault(inner, value)
        elif quoted is not None:
            fields.setdefault(name, quoted)
        else:
            fields.setdefault(name, _bare(kind, name, message or braces or bare or ""))
    return fields


def _bare(kind: str, name: str, text: str) -> str | None:
    if found := _SEPARATED.fullmatch(text):
        text = found[1] or found[2] or ""
    if text in _NOTHING or (name in _IDS and text in _UNSET):
        return None
    if _HEX.fullmatch(text) and (name in _TEXTS or (kind == "EXECVE" and _ARGUMENT.fullmatch(name))):
        return _decoded(name, text)
    return text


def _decoded(name: str, text: str) -> str:
    """Decode hex digits to text; `\\x00` separates the words of a title, `\\x01` keys."""
    plain = bytes.fromhex(text).decode("utf-8", "replace")
    if name == "proctitle":
        return plain.rstrip("\0").replace("\0", " ")
    return plain.replace("\x01", ",") if name == "key" else plain


def _interpreted(merged: Mapping[str, Any]) -> dict[str, Any]:
    """What codes and words mean."""
    code = merged.get("arch")
    architecture = ARCHITECTURES.get(code or "", code)
    return {
        "arch": architecture,
        "syscall_name": merged.get("SYSCALL") or syscall_name(architecture, merged.get("syscall")),
        "success": {"yes": True, "no": False}.get(merged.get("success") or ""),
        "res": _RESULTS.get(merged.get("res") or "", merged.get("res")),
    }


def _command(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The arguments of EXECVE records; a long one comes in pieces, `a1[0]`, `a1[1]`."""
    pieces: dict[int, list[tuple[int, str]]] = {}
    for record in records:
        for name, value in record.items() if record["type"] == "EXECVE" else ():
            if (found := _ARGUMENT.fullmatch(name)) and len(found[1]) < 7:
                pieces.setdefault(int(found[1]), []).append((int((found[2] or "0")[:7]), value or ""))
    if not pieces:
        return {"argv": None, "command_line": None}
    argv = ["".join(text for _, text in sorted(pieces[number])) for number in sorted(pieces)]
    return {"argv": argv, "command_line": " ".join(argv)}


def _address(saddr: str | None) -> dict[str, Any]:
    """The parts of a socket address, which is a struct of C in hex digits."""
    found: dict[str, Any] = dict.fromkeys(("saddr_family", "saddr_ip", "saddr_port", "saddr_path"))
    try:
        data = bytes.fromhex(saddr or "")
    except ValueError:
        return found
    if len(data) < 2:
        return found
    family = int.from_bytes(data[:2], "little")
    found["saddr_family"] = {1: "unix", 2: "inet", 10: "inet6", 16: "netlink"}.get(family, str(family))
    if family == 1 and len(data) > 2:
        is_abstract = data[2:3] == b"\0"
        path = data[3:].rstrip(b"\0") if is_abstract else data[2:].partition(b"\0")[0]
        found["saddr_path"] = ("@" if is_abstract else "") + path.decode("utf-8", "replace")
    elif family == 2 and len(data) >= 8:
        found["saddr_port"], found["saddr_ip"] = int.from_bytes(data[2:4]), str(IPv4Address(data[4:8]))
    elif family == 10 and len(data) >= 24:
        address = IPv6Address(data[8:24])
        found["saddr_port"], found["saddr_ip"] = int.from_bytes(data[2:4]), str(address.ipv4_mapped or address)
    return found


def _ends(merged: Mapping[str, Any], syscall: str | None, peer: str | None) -> dict[str, Any]:
    """Who sent and who received: by the client of a message, the direction of a call, or the header of a packet.

    The address of `bind` is the machine's own, and that of other calls may be either.
    """
    call = _SOCKETCALLS.get(merged.get("a0") or "", "") if syscall == "socketcall" else syscall
    client = None if _LOCAL.fullmatch(merged.get("type") or "") else merged.get("addr")
    source, destination = client or (peer if call in _FROM_PEER else None), peer if call in _TO_PEER else None
    if merged.get("daddr"):
        source, destination = merged.get("saddr"), merged["daddr"]
    found = [source, destination, peer, *(merged.get(name) for name in ("addr", "laddr", "raddr", "faddr"))]
    specified = {text: _specified(text) for text in found if text}
    return {
        "source_ip": specified.get(source or ""),
        "destination_ip": specified.get(destination or ""),
        "ips": list(dict.fromkeys(filter(None, specified.values()))) or None,
    }


def _specified(text: str) -> str | None:
    """The address in a text; None for `0.0.0.0` and `::`, which mean any address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return None if address.is_unspecified else str(getattr(address, "ipv4_mapped", None) or address)


def _without_type(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "type"}
