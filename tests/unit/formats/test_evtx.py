from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from evtx import PyEvtxParser
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.errors import TailpipeError
from tailpipe.formats import Evtx
from tailpipe.formats.windows_json import element_fields
from tailpipe.testing import read_bytes
from tests.unit.formats.evtx_files import CHUNK, event, evtx_file

TWO_CHUNKS = evtx_file(
    [event(11, 4624, {"TargetUserName": "anna", "Odd": 'é "q" <x>'}, UserID="S-1-5-18"), event(12, 4625, {})],
    [event(13, 4672, {"A": "b"})],
)


def dumped(data: bytes) -> Iterator[dict[str, Any]]:
    """What the library's own dump as XML says of each event."""
    for record in PyEvtxParser(io.BytesIO(data)).records():
        assert record is not None
        system, *rest = ElementTree.fromstring(record["data"])
        found = {child.tag: child for child in system}
        pairs = {one.get("Name"): one.text or "" for part in rest for one in part}
        yield {
            "event_id": found["EventID"].text,
            "qualifiers": found["EventID"].get("Qualifiers"),
            "channel": found["Channel"].text,
            "computer": found["Computer"].text,
            "provider_name": found["Provider"].get("Name"),
            "provider_guid": found["Provider"].get("Guid"),
            "event_record_id": found["EventRecordID"].text,
            "time_created": found["TimeCreated"].get("SystemTime"),
            "process_id": found["Execution"].get("ProcessID"),
            "thread_id": found["Execution"].get("ThreadID"),
            "security_user_id": found["Security"].get("UserID"),
            "keywords": found["Keywords"].text,
            "level": found["Level"].text,
            "event_data": pairs or None,
        }


def read(data: bytes) -> list[dict[str, Any]]:
    found = read_bytes(Evtx(), data, name="/a.evtx")
    assert (found.rejected, found.error) == ([], None)
    return [dict(row) for row in found.rows]


def test_the_rows_are_those_of_the_library_s_own_dump() -> None:
    expected = list(dumped(TWO_CHUNKS))
    assert [row["event_record_id"] for row in expected] == ["11", "12", "13"]
    for row, truth in zip(read(TWO_CHUNKS), expected, strict=True):
        found = {name: None if row.get(name) is None else str(row[name]) for name in truth if name != "event_data"}
        assert found == {name: value for name, value in truth.items() if name != "event_data"}
        assert (json.loads(row["event_data"]) if row["event_data"] else None) == truth["event_data"]


def test_a_packed_file_is_read_too() -> None:
    assert read(gzip.compress(TWO_CHUNKS)) == read(TWO_CHUNKS)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it does not begin with ElfFile"),
        (b"text\n" * 2000, "it does not begin with ElfFile"),
        (TWO_CHUNKS[:100], "it is cut off"),
        (TWO_CHUNKS[: -CHUNK // 2], "it is cut off"),
    ],
)
def test_a_file_that_is_cut_off_or_no_event_log_is_damaged(data: bytes, reason: str) -> None:
    found = read_bytes(Evtx(), data, name="/a.evtx")
    assert (found.rows, found.rejected) == ([], [])
    assert found.error == f'"/a.evtx" is not a readable event log: {reason}'


def test_a_damaged_event_is_rejected_and_the_others_are_read() -> None:
    damaged = bytearray(TWO_CHUNKS)
    place = damaged.index("Test-Provider".encode("utf-16-le"))
    damaged[place - 40 : place - 8] = b"\xee" * 32
    found = read_bytes(Evtx(), bytes(damaged), name="/a.evtx")
    assert found.error is None
    assert [reason.startswith("cannot be read: ") for _, reason in found.rejected] == [True]
    assert 13 in [row["event_record_id"] for row in found.rows]


@pytest.mark.parametrize("document", [None, [], {}, {"Event": None}, {"Event": {"System": None}}])
def test_an_event_without_its_system_part_is_refused(document: Any) -> None:
    with pytest.raises(ValueError, match="has no element Event"):
        element_fields(document)


def test_without_the_package_the_way_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evtx", None)
    with pytest.raises(TailpipeError) as refused:
        read_bytes(Evtx(), TWO_CHUNKS, name="/a.evtx")
    missing = "Windows event logs need the package evtx, which is not installed; run: pip install 'tailpipe[evtx]'"
    assert str(refused.value) == missing


@settings(max_examples=15)
@given(place=st.integers(0, len(TWO_CHUNKS) - 1), junk=st.binary(min_size=1, max_size=40))
def test_no_damage_makes_it_fail(place: int, junk: bytes) -> None:
    data = TWO_CHUNKS[:place] + junk + TWO_CHUNKS[place + len(junk) :]
    found = read_bytes(Evtx(), data, name="/a.evtx")
    assert found.error is not None or len(found.rows) <= 3


def test_events_as_json_may_be_lines_an_array_or_documents_over_many_lines() -> None:
    events = [{"EventID": number, "Channel": "Security", "Image": "a"} for number in (1, 2)]
    lines = "".join(json.dumps(one) + "\n" for one in events)
    array = json.dumps(events)
    spread = json.dumps(events, indent=2) + "\n"
    documents = "".join(f"Record {one['EventID']}\n{json.dumps(one, indent=2)}\n" for one in events)
    (expected,) = {str(read(text.encode())) for text in (lines, array, spread, documents)}
    assert [row["event_id"] for row in read(lines.encode())] == [1, 2]
    assert expected == str(read(("\ufeff" + lines).encode()))


def test_a_document_of_json_that_is_cut_off_is_rejected_alone() -> None:
    found = read_bytes(Evtx(), b'{"EventID": 1,\n{"EventID": 2}\n{"a": 1}\n7\n', name="/a.json")
    assert [row["event_id"] for row in found.rows] == [2]
    assert [reason for _, reason in found.rejected] == [
        "is not JSON",
        "has no element Event, no winlog and no EventID",
        "is no JSON object",
    ]
