"""Entries of systemd's journal: JSON lines, or the export format, in which an empty line ends an entry.

A field that holds anything but text is a list of bytes in JSON; in the export format, its length stands before it.
Bytes that are no text become `�`. A field that an entry has several times is a list.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from tailpipe.plugin import Rejected

_NAME = re.compile(rb"[A-Z0-9_]{1,64}")
_FIELD_BYTES = 768 * 1024 * 1024
"""The journal itself allows no longer field."""


def journal_entries(file: BinaryIO) -> Iterator[Mapping[str, Any] | Rejected]:
    """The fields of each entry."""
    is_json = file.read(1) in (b"{", b"")
    file.seek(0)
    yield from json_entries(file) if is_json else _exported(file)


def json_entries(file: BinaryIO) -> Iterator[Mapping[str, Any] | Rejected]:
    """The fields of each entry of `journalctl -o json`; the file may be a pipe."""
    for line in file:
        text = line.decode("utf-8", "replace").strip("\x1e\r\n ")
        if not text:
            continue
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            yield Rejected("is not JSON", text, is_unfinished=not line.endswith(b"\n"))
            continue
        if isinstance(found, dict):
            yield {name: _plain(value) for name, value in found.items() if name}
        else:
            yield Rejected("is no JSON object", text)


def _plain(value: Any) -> Any:
    """Text, where JSON has bytes or a list of one value."""
    if not isinstance(value, list):
        return value
    if value and all(isinstance(one, int) and 0 <= one < 256 for one in value):
        return bytes(value).decode("utf-8", "replace")
    return [_plain(one) for one in value]


def _exported(file: BinaryIO) -> Iterator[Mapping[str, Any] | Rejected]:
    entry: dict[str, Any] = {}
    while line := file.readline():
        if line == b"\n":
            if entry:
                yield entry
            entry = {}
            continue
        name, sign, value = line.removesuffix(b"\n").partition(b"=")
        if not line.endswith(b"\n") or _NAME.fullmatch(name) is None:
            yield from _broken(file, line)
            entry = {}
            continue
        if not sign:
            found = _binary(file)
            if found is None:
                yield Rejected("is cut off", name.decode(), is_unfinished=True)
                return
            value = found
        _add(entry, name.decode(), value.decode("utf-8", "replace"))
    if entry:
        yield entry


def _binary(file: BinaryIO) -> bytes | None:
    head = file.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack("<Q", head)
    if length > _FIELD_BYTES:
        return None
    value = file.read(length + 1)
    return value[:-1] if len(value) == length + 1 else None


def _broken(file: BinaryIO, line: bytes) -> Iterator[Rejected]:
    """Leave the rest of an entry out that cannot be read."""
    text = line.decode("utf-8", "replace").rstrip("\n")
    yield Rejected("is no field of the export format", text, is_unfinished=not line.endswith(b"\n"))
    while (line := file.readline()) and line != b"\n":
        pass


def _add(entry: dict[str, Any], name: str, value: str) -> None:
    if name not in entry:
        entry[name] = value
    elif isinstance(entry[name], list):
        entry[name].append(value)
    else:
        entry[name] = [entry[name], value]
