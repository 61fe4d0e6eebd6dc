from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.formats import Cri, Docker
from tailpipe.plugin import Column
from tailpipe.testing import read_bytes
from tailpipe.unpack.text import LineSplitter, TextOptions
from tests.unit.formats.growing import grown_rows
from tests.unit.formats.parsing import Row, parse

CRI = b"""\
2024-01-31T10:00:00.123456789Z stdout F hello
2024-01-31T10:00:01Z stdout P one\x20
2024-01-31T10:00:02+01:00 stderr F mixed in
2024-01-31T10:00:03Z stdout P:tag two\x20
2024-01-31T10:00:04Z stdout F three
2024-01-31T10:00:05Z stdout F
2024-01-31T10:00:06Z other F x
2024-01-31T10:00:07Z stderr P cut off
"""
CRI_ROWS = [
    ("2024-01-31T10:00:00.123456789Z", "stdout", False, "hello"),
    ("2024-01-31T10:00:01Z", "stdout", False, "one two three"),
    ("2024-01-31T10:00:02+01:00", "stderr", False, "mixed in"),
    ("2024-01-31T10:00:05Z", "stdout", False, ""),
    ("2024-01-31T10:00:07Z", "stderr", True, "cut off"),
]


def entry(log: str, stream: str = "stdout", time: str = "2024-01-31T10:00:00Z") -> bytes:
    """A line as Docker writes it."""
    return json.dumps({"log": log, "stream": stream, "time": time}, separators=(",", ":")).encode() + b"\n"


DOCKER = (
    entry("hello\n")
    + entry('one "1" ', time="2024-01-31T10:00:01Z")
    + entry("mixed\\n\n", "stderr", "2024-01-31T10:00:02Z")
    + entry("two\n", time="2024-01-31T10:00:03Z")
    + b"nope\n"
    + entry("\n", time="2024-01-31T10:00:04Z")
    + entry("cut off", time="2024-01-31T10:00:05Z")
)
DOCKER_ROWS = [
    ("2024-01-31T10:00:00Z", "stdout", False, "hello"),
    ("2024-01-31T10:00:01Z", "stdout", False, 'one "1" two'),
    ("2024-01-31T10:00:02Z", "stderr", False, "mixed\\n"),
    ("2024-01-31T10:00:04Z", "stdout", False, ""),
    ("2024-01-31T10:00:05Z", "stdout", True, "cut off"),
]
NAMES = ("time", "stream", "is_partial", "message")


def test_the_parts_of_a_message_are_joined() -> None:
    found = read_bytes(Cri(), CRI)
    assert [tuple(row[name] for name in NAMES) for row in found.rows] == CRI_ROWS
    assert found.rejected == [("line 7", "does not match the layout")]


def test_the_parts_of_a_docker_message_are_joined() -> None:
    found = read_bytes(Docker(), DOCKER)
    assert [tuple(row[name] for name in NAMES) for row in found.rows] == DOCKER_ROWS
    assert found.rejected == [("line 5", 'is no JSON object with a text "log"')]


def test_attributes_are_kept_as_json() -> None:
    line = b'{"log":"x\\n","stream":"stdout","attrs":{"tag":"web"},"time":"t"}\n'
    assert read_bytes(Docker(), line).rows[0]["attrs"] == '{"tag":"web"}'


@pytest.mark.parametrize("line", [b"[1]", b'{"log":7}', b'{"log":null}', b"{}", b'{"log":"x', b'"log"', b"\xff"])
def test_what_is_no_entry_of_docker_is_rejected(line: bytes) -> None:
    found = read_bytes(Docker(), line + b"\n" + entry("x\n"))
    assert (len(found.rows), len(found.rejected)) == (1, 1)


COLUMNS = [Column("stream", "varchar"), Column("message", "varchar"), Column("is_partial", "boolean")]


@pytest.mark.parametrize(("format", "data"), [(Cri(), CRI), (Docker(), DOCKER)], ids=["cri", "docker"])
@pytest.mark.parametrize("share", range(0, 101, 13))
def test_wherever_a_growing_log_is_cut_its_messages_are_the_same(format: Cri | Docker, data: bytes, share: int) -> None:
    both, whole = grown_rows(format, data, len(data) * share // 100, COLUMNS)
    assert both == whole
    assert len(whole) == 6


PARTS = st.lists(
    st.tuples(st.sampled_from(["stdout", "stderr"]), st.booleans(), st.text('ab \\"é{', max_size=5)), max_size=12
)


def expected_of(parts: list[tuple[str, bool, str]]) -> list[tuple[str, bool, str]]:
    """Stream, whether the end is missing, and text of each message, in the order of their first parts."""
    messages: list[list[object]] = []
    open_: dict[str, list[object]] = {}
    for stream, is_full, text in parts:
        if stream not in open_:
            messages.append(open_.setdefault(stream, [stream, True, ""]))
        message = open_[stream]
        message[2] = f"{message[2]}{text}"
        if is_full:
            message[1] = False
            del open_[stream]
    return [(str(stream), bool(is_partial), str(text)) for stream, is_partial, text in messages]


def rows_in(format: Cri | Docker, data: bytes) -> list[Row]:
    splitter = LineSplitter(0, TextOptions(joining=format.joining), opening=data)
    splits = [*splitter.feed(data), *splitter.finish(is_complete=True)]
    return parse(format, *(split.lines for split in splits))


@given(parts=PARTS)
def test_no_part_is_lost(parts: list[tuple[str, bool, str]]) -> None:
    cri = "".join(f"2024-01-31T10:00:00Z {stream} {'PF'[full]} {text}\n" for stream, full, text in parts)
    docker = b"".join(entry(text + "\n" * full, stream) for stream, full, text in parts)
    for rows in (rows_in(Cri(), cri.encode()), rows_in(Docker(), docker)):
        assert [row["_bad"] for row in rows] == [None] * len(rows)
        assert [(row["stream"], row["is_partial"], row["message"]) for row in rows] == expected_of(parts)


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=40))
def test_no_line_makes_it_fail(text: str) -> None:
    for format in (Cri(), Docker()):
        assert len(parse(format, [text, "{" + text, '{"log":"' + text + '"}'])) == 3
