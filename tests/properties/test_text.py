"""Any bytes, cut anywhere: the lines are those of Python's own splitting."""

from __future__ import annotations

import hashlib
import re
from typing import Literal

from hypothesis import assume, given
from hypothesis import strategies as st

from tailpipe.unpack.text import LineSplitter, LongLine, TextOptions

ENDS = (b"\n", b"\r\n", b"\r")
PARTS = (b" ", b"S ", b"a", b"0123456789ab", b"0123456789abc", b"x" * 40, b"\0", b"\x1b[1m")
CHARACTERS = tuple(character.encode() for character in "é€😀�\ufeff")
WRONG = (b"\xff", b"\xe2\x82", b"\xed\xa0\x80")
PIECES = st.sampled_from((*ENDS, *PARTS, *CHARACTERS, *WRONG))
TEXTS = st.one_of(st.lists(PIECES, max_size=60).map(b"".join), st.binary(max_size=200))
CUTS = st.lists(st.integers(1, 50), min_size=1, max_size=8)

Result = tuple[list[tuple[int, str]], list[LongLine], list[int], int, bytes]
MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def split(data: bytes, cuts: list[int], options: TextOptions, *, is_complete: bool = True) -> Result:
    taken: list[bytes] = []
    splitter = LineSplitter(0, options, opening=data, take=lambda piece: taken.append(bytes(piece)))
    splits, place, turn = [], 0, 0
    while place < len(data):
        splits += splitter.feed(data[place : place + cuts[turn % len(cuts)]])
        place += cuts[turn % len(cuts)]
        turn += 1
    splits += splitter.finish(is_complete=is_complete)
    lines: list[tuple[int, str]] = []
    for one in splits:
        one.lines.text.validate(full=True)
        lines += zip(one.lines.ordinals.tolist(), one.lines.text.to_pylist(), strict=True)
    long = [line for one in splits for line in one.long_lines]
    repaired = [ordinal for one in splits if one.repaired is not None for ordinal in one.repaired.tolist()]
    done = b"".join(taken)
    assert data.startswith(done)
    assert len(done) + splitter.unread == len(data)
    return lines, long, repaired, splitter.ordinals, done


def physical(data: bytes, *, is_complete: bool = True) -> list[bytes]:
    """The lines by Python's own splitting, without carriage return before the line feed."""
    parts = data.removeprefix(MARK).split(b"\n")
    if not is_complete or not parts[-1]:
        parts.pop()
    return parts


def text_of(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")


def is_wrong(line: bytes) -> bool:
    return line.decode("utf-8", "replace").encode() != line


def events_of(parts: list[bytes], start: str, limit: int) -> list[tuple[int, str]]:
    """Events, one line after the other."""
    events: list[tuple[int, list[str]]] = []
    is_open = False
    for ordinal, part in enumerate(parts, 1):
        text = text_of(part)
        if len(part) > limit:
            is_open = False
        elif re.search(start, text):
            events.append((ordinal, [text]))
            is_open = True
        elif is_open and len("\n".join([*events[-1][1], text]).encode()) <= limit:
            events[-1][1].append(text)
        else:
            events.append((ordinal, [text]))
    joined = []
    for ordinal, lines in events:
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            joined.append((ordinal, "\n".join(lines)))
    return joined


@given(TEXTS, CUTS, st.booleans())
def test_lines_are_those_of_pythons_own_splitting(data: bytes, cuts: list[int], is_complete: bool) -> None:
    assume(not data.startswith(UTF16_MARKS))
    limit = 30
    parts = physical(data, is_complete=is_complete)
    rest = b"" if is_complete else data.removeprefix(MARK).rpartition(b"\n")[2]
    if len(rest) > limit:
        parts.append(rest)
    lines, long, repaired, ordinals, done = split(
        data, cuts, TextOptions(max_line_bytes=limit), is_complete=is_complete
    )
    kept = [(number, part) for number, part in enumerate(parts, 1) if len(part) <= limit]
    assert lines == [(number, text_of(part)) for number, part in kept if text_of(part)]
    assert repaired == [number for number, part in kept if is_wrong(part)]
    assert long == [
        LongLine(number, len(part), hashlib.sha256(part).hexdigest())
        for number, part in enumerate(parts, 1)
        if len(part) > limit
    ]
    assert ordinals == len(parts)
    assert is_complete == (done == data) or not rest or len(rest) > limit


@given(TEXTS, CUTS, st.sampled_from([12, 30, 1000]))
def test_events_are_those_of_joining_line_by_line(data: bytes, cuts: list[int], limit: int) -> None:
    assume(not data.startswith(UTF16_MARKS))
    options = TextOptions(start="^S", max_line_bytes=limit)
    lines, long, _, ordinals, done = split(data, cuts, options)
    parts = physical(data)
    assert lines == events_of(parts, "^S", limit)
    assert [line.ordinal for line in long] == [number for number, part in enumerate(parts, 1) if len(part) > limit]
    assert (ordinals, done) == (len(parts), data)


@given(
    TEXTS,
    CUTS,
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
    st.sampled_from([None, "^S", "a"]),
    st.booleans(),
    st.sampled_from([25, 1000]),
)
def test_the_chunks_make_no_difference(
    data: bytes,
    cuts: list[int],
    encoding: Literal["utf-8", "utf-16", "latin-1"],
    start: str | None,
    is_complete: bool,
    limit: int,
) -> None:
    options = TextOptions(encoding=encoding, start=start, max_line_bytes=limit)
    whole = split(data, [1_000_000], options, is_complete=is_complete)
    assert split(data, cuts, options, is_complete=is_complete) == whole


@given(st.text(max_size=100), CUTS, st.sampled_from(["utf-16-le", "utf-16-be"]))
def test_any_text_in_utf16_comes_back(text: str, cuts: list[int], codec: str) -> None:
    data = ("\ufeff" + text).encode(codec)
    lines, _, repaired, _, _ = split(data, cuts, TextOptions(encoding="utf-16"))
    expected = [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1)]
    assert lines == [(number, line) for number, line in expected if line]
    assert repaired == []


@given(st.binary(max_size=200), CUTS)
def test_any_bytes_in_latin1_come_back(data: bytes, cuts: list[int]) -> None:
    lines, _, repaired, _, _ = split(data, cuts, TextOptions(encoding="latin-1"))
    expected = [
        (number, line.removesuffix(b"\r").decode("latin-1")) for number, line in enumerate(data.split(b"\n"), 1)
    ]
    assert lines == [(number, line) for number, line in expected if line]
    assert repaired == []


@given(TEXTS, st.data(), st.sampled_from([None, "^S"]), st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_a_text_that_grows_gives_the_same_lines(
    data: bytes, draw: st.DataObject, start: str | None, encoding: Literal["utf-8", "utf-16", "latin-1"]
) -> None:
    options = TextOptions(encoding=encoding, start=start)
    decided = data if encoding == "utf-16" else b""  # the byte order is known from the beginning
    cut = draw.draw(st.integers(0, len(data)))
    before = LineSplitter(0, options, opening=decided or data[:cut])
    splits = before.feed(data[:cut]) + before.finish(is_complete=False)
    after = LineSplitter(0, options, opening=data, offset=before.taken, ordinals=before.ordinals)
    splits += after.feed(data[before.taken :]) + after.finish(is_complete=True)
    lines: list[tuple[int, str]] = []
    for one in splits:
        lines += zip(one.lines.ordinals.tolist(), one.lines.text.to_pylist(), strict=True)
    assert lines == split(data, [1_000_000], options)[0]
