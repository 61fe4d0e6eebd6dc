"""Windows event logs made for tests: plain elements and attributes with text, no templates."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

CHUNK = 65536
_RECORDS = 512
_FILETIME = 133_511_544_000_000_000  # 2024-01-31T10:00:00Z


@dataclass
class Element:
    """An element of XML: attributes, then children or a text."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: Sequence[Element] = ()


def event(number: int, event_id: int, data: dict[str, str], **attributes: str) -> Element:
    """An event of the channel Security, as Windows writes it."""
    system = [
        Element("Provider", {"Name": "Test-Provider", "Guid": "{0f0f}"}),
        Element("EventID", {"Qualifiers": "7"}, str(event_id)),
        Element("Level", text="4"),
        Element("Keywords", text="0x8020000000000000"),
        Element("TimeCreated", {"SystemTime": "2024-01-31T10:00:00.123456Z"}),
        Element("EventRecordID", text=str(number)),
        Element("Execution", {"ProcessID": "4", "ThreadID": "80"}),
        Element("Channel", text="Security"),
        Element("Computer", text="pc1.example"),
        Element("Security", attributes),
    ]
    pairs = [Element("Data", {"Name": name}, value) for name, value in data.items()]
    return Element("Event", children=[Element("System", children=system), Element("EventData", children=pairs)])


def evtx_file(*chunks: Sequence[Element]) -> bytes:
    """A file of these events, chunk by chunk."""
    first, bodies = 1, []
    for events in chunks:
        bodies.append(_chunk(events, first))
        first += len(events)
    head = struct.pack("<8sQQQIHHHH76xI", b"ElfFile\0", 0, len(chunks) - 1, first, 128, 1, 3, 4096, len(chunks), 0)
    head += struct.pack("<I", zlib.crc32(head[:120]))
    return head.ljust(4096, b"\0") + b"".join(bodies)


def _chunk(events: Sequence[Element], first: int) -> bytes:
    records, last = b"", 0
    for number, one in enumerate(events, first):
        last = _RECORDS + len(records)
        body = b"\x0f\x01\x01\x00" + _element(one, last + 24 + 4) + b"\0"
        size = 24 + len(body) + 4
        records += struct.pack("<IIQQ", 0x2A2A, size, number, _FILETIME) + body + struct.pack("<I", size)
    end = first + len(events) - 1
    head = struct.pack("<8sQQQQIIII64xI", b"ElfChnk\0", first, end, first, end, 128, last,
                       _RECORDS + len(records), zlib.crc32(records), 0)  # fmt: skip
    tables = bytes(_RECORDS - 128)
    head += struct.pack("<I", zlib.crc32(head[:120] + tables))
    return (head + tables + records).ljust(CHUNK, b"\0")


def _element(element: Element, place: int) -> bytes:
    """An element that begins at this place of its chunk."""
    inner = place + 5
    body = _name(element.name, inner)
    if element.attributes:
        start = inner + len(body) + 4
        attributes = b""
        for number, (name, value) in enumerate(element.attributes.items(), 1):
            attributes += b"\x46" if number < len(element.attributes) else b"\x06"
            attributes += _name(name, start + len(attributes)) + _value(value)
        body += struct.pack("<I", len(attributes)) + attributes
    if element.text or element.children:
        body += b"\x02" + (_value(element.text) if element.text else b"")
        for child in element.children:
            body += _element(child, inner + len(body))
        body += b"\x04"
    else:
        body += b"\x03"
    token = b"\x41" if element.attributes else b"\x01"
    return token + struct.pack("<I", len(body)) + body


def _name(name: str, place: int) -> bytes:
    """A name, at the place where it is met for the first time."""
    hashed = 0
    for character in name:
        hashed = (hashed * 65599 + ord(character)) & 0xFFFFFFFF
    text = name.encode("utf-16-le")
    return struct.pack("<IIHH", place + 4, 0, hashed & 0xFFFF, len(name)) + text + b"\0\0"


def _value(text: str) -> bytes:
    data = text.encode("utf-16-le")
    return b"\x05\x01" + struct.pack("<H", len(data) // 2) + data
