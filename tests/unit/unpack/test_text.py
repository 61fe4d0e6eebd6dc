"""Text becomes lines and events: each with its number, none lost, wherever the chunks are cut."""

from __future__ import annotations

import hashlib
import time
import tracemalloc
from collections.abc import Iterable
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pytest

from tailpipe.errors import UsageError
from tailpipe.unpack.text import LineSplitter, LongLine, Split, TextOptions

MEGABYTE = 1024 * 1024


@dataclass
class Found:
    lines: list[tuple[int, str]] = field(default_factory=list)
    long: list[LongLine] = field(default_factory=list)
    repaired: list[int] = field(default_factory=list)
    taken: bytes = b""
    ordinals: int = 0
    unread: int = 0

    def add(self, splits: Iterable[Split]) -> None:
        for split in splits:
            split.lines.text.validate(full=True)
            assert split.lines.text.type == pa.string_view()
            self.lines += zip(split.lines.ordinals.tolist(), split.lines.text.to_pylist(), strict=True)
            self.long += split.long_lines
            self.repaired += [] if split.repaired is None else split.repaired.tolist()


def split(data: bytes, size: int = 1 << 20, *, is_complete: bool = True, options: TextOptions | None = None) -> Found:
    found, pieces = Found(), list[bytes]()
    splitter = LineSplitter(
        3, options or TextOptions(), opening=data[:65536], take=lambda piece: pieces.append(bytes(piece))
    )
    for place in range(0, len(data), size):
        found.add(splitter.feed(data[place : place + size]))
    found.add(splitter.finish(is_complete=is_complete))
    found.taken, found.ordinals, found.unread = b"".join(pieces), splitter.ordinals, splitter.unread
    assert splitter.taken == len(found.taken)
    assert data.startswith(found.taken)
    assert len(found.taken) + found.unread == len(data)
    return found


def test_blank_lines_are_no_lines_but_count() -> None:
    found = split(b"one\n\n\r\ntwo\n \n")
    assert found.lines == [(1, "one"), (4, "two"), (5, " ")]
    assert found.ordinals == 5


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_carriage_return_belongs_to_the_line_end_only_before_a_line_feed(size: int) -> None:
    found = split(b"a\r\nb\rc\n\rd\r\r\nend\r", size)
    assert found.lines == [(1, "a"), (2, "b\rc"), (3, "\rd\r"), (4, "end")]


def test_a_last_line_without_a_line_feed_waits_unless_the_text_is_complete() -> None:
    assert split(b"a\nlast").lines == [(1, "a"), (2, "last")]
    waiting = split(b"a\nlast", is_complete=False)
    assert (waiting.lines, waiting.taken, waiting.unread, waiting.ordinals) == ([(1, "a")], b"a\n", 4, 1)


def test_an_empty_text_has_no_lines() -> None:
    assert split(b"") == Found()
    assert split(b"\n\n").lines == []


@pytest.mark.parametrize("text", [b"one\nt\xc3\xa9\nthree\n", b"\xef\xbb\xbfone\r\n\nthree\nfour\n"])
def test_a_grown_text_goes_on_at_the_right_byte_and_number(text: bytes) -> None:
    whole = split(text).lines
    for cut in range(len(text)):
        first = split(text[:cut], is_complete=False)
        splitter = LineSplitter(0, TextOptions(), opening=text, offset=len(first.taken), ordinals=first.ordinals)
        rest = Found()
        rest.add(splitter.feed(text[len(first.taken) :]))
        rest.add(splitter.finish(is_complete=True))
        assert first.lines + rest.lines == whole


def test_the_next_member_of_an_archive_goes_on_counting() -> None:
    splitter = LineSplitter(0, TextOptions(), opening=b"\xef\xbb\xbfx", ordinals=7)
    (only,) = splitter.feed(b"\xef\xbb\xbfx") + splitter.finish(is_complete=True)
    assert (only.lines.ordinals.tolist(), only.lines.text.to_pylist()) == ([8], ["x"])
    assert (splitter.ordinals, splitter.taken) == (8, 4)


def test_later_runs_carry_the_first_lines() -> None:
    splitter = LineSplitter(0, TextOptions(head_lines=2), opening=b"#\r\n\nname,age\nx,1\n")
    (first,) = splitter.feed(b"#\r\n\nname,age\n")
    (second,) = splitter.feed(b"x,1\n")
    assert (first.lines.head, second.lines.head) == ((), ("#", ""))
    resumed = LineSplitter(0, TextOptions(), opening=b"name,age\nx,1\ny", offset=13, ordinals=2)
    (more,) = resumed.feed(b"y,2\n")
    assert more.lines.head == ("name,age", "x,1")


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_wrong_bytes_are_repaired_and_told_with_their_lines(size: int) -> None:
    text = b"ok\nb\xffd\n\xe2\x82\nfine \xef\xbf\xbd\n\xed\xa0\x80\xc0\xaf\n\xf0\x9f\x98 end\n"
    found = split(text, size)
    assert [line for _, line in found.lines] == text.decode("utf-8", "replace").split("\n")[:-1]
    assert found.repaired == [2, 3, 5, 6]


def test_control_characters_and_nul_are_text_to_duckdb_too() -> None:
    line = 'a\x1b[31mred\x1b[0m\x07 \0 "quoted" \x85\u2028 and more'
    (only,) = LineSplitter(0, TextOptions(), opening=b"").feed(line.encode() + b"\nshort\0x\n")
    with duckdb.connect() as connection:
        connection.register("lines", pa.table({"line": only.lines.text}))
        rows = connection.sql("SELECT line, length(line), line || '!' FROM lines").fetchall()
    assert rows == [(line, len(line), line + "!"), ("short\0x", 7, "short\0x!")]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_read_with_and_without_a_byte_order_mark(codec: str, size: int) -> None:
    text = "first\r\nzwölf 😀\n\nlast"
    options = TextOptions(encoding="utf-16")
    found = split(text.encode(codec), size, options=options)
    assert found.lines == [(1, "first"), (2, "zwölf 😀"), (4, "last")]
    waiting = split(text.encode(codec), size, options=options, is_complete=False)
    assert waiting.lines == found.lines[:2]
    assert waiting.unread == len("last".encode("utf-16-le"))


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_wrong_utf16_is_repaired_and_told(size: int) -> None:
    data = "a".encode("utf-16-le") + b"\x3d\xd8" + "\nb\n".encode("utf-16-le") + b"\x00\xdcc"
    found = split(data, size, options=TextOptions(encoding="utf-16"))
    assert found.lines == [(1, "a�"), (2, "b"), (3, "��")]
    assert found.repaired == [1, 3]


def test_a_byte_order_mark_of_utf16_says_more_than_utf8() -> None:
    for codec in ("utf-16-le", "utf-16-be"):
        assert split("\ufeffzwölf\n".encode(codec)).lines == [(1, "zwölf")]


def test_latin1_is_read_by_its_name() -> None:
    found = split("zwölf\nÿþ\x85\n".encode("latin-1"), 1, options=TextOptions(encoding="latin-1"))
    assert found.lines == [(1, "zwölf"), (2, "ÿþ\x85")]
    assert found.repaired == []


@pytest.mark.parametrize("size", [1, 4, 30, 1000])
@pytest.mark.parametrize("is_last", [False, True])
def test_a_line_that_is_too_long_is_rejected_and_the_rest_goes_on(size: int, is_last: bool) -> None:
    long = b"x" * 21
    text = b"one\n\n" + long + (b"" if is_last else b"\nafter\n" + b"y" * 20 + b"\n")
    found = split(text, size, options=TextOptions(max_line_bytes=20))
    assert found.long == [LongLine(3, 21, hashlib.sha256(long).hexdigest())]
    assert found.lines == [(1, "one"), *([] if is_last else [(4, "after"), (5, "y" * 20)])]
    assert found.unread == 0


def test_a_line_of_64_mb_is_never_held() -> None:
    splitter = LineSplitter(0, TextOptions(), opening=b"")
    found, digest, piece = Found(), hashlib.sha256(), b"z" * MEGABYTE
    tracemalloc.start()
    found.add(splitter.feed(b"before\n"))
    for _ in range(64):
        digest.update(piece)
        found.add(splitter.feed(piece))
    found.add(splitter.feed(b"\nafter\n"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.lines == [(1, "before"), (3, "after")]
    assert found.long == [LongLine(2, 64 * MEGABYTE, digest.hexdigest())]
    assert peak < 24 * MEGABYTE


def test_a_line_too_long_is_done_with_even_if_it_may_go_on() -> None:
    found = split(b"a\n" + b"x" * 30, 8, options=TextOptions(max_line_bytes=20), is_complete=False)
    assert (found.unread, found.ordinals, found.long[0].length) == (0, 2, 30)


TRACE = b"""orphan

2024 first
  at a
\t
  at b\r

2024 second
2024 third
  at c
"""


@pytest.mark.parametrize("size", [1, 3, 17, 1000])
def test_lines_are_joined_to_events_that_begin_with_a_match(size: int) -> None:
    found = split(TRACE, size, options=TextOptions(start=r"^\d{4} "))
    events = [(1, "orphan"), (3, "2024 first\n  at a\n\t\n  at b"), (8, "2024 second"), (9, "2024 third\n  at c")]
    assert found.lines == events
    waiting = split(TRACE, size, options=TextOptions(start=r"^\d{4} "), is_complete=False)
    assert waiting.lines == events[:-1]
    assert waiting.unread == len(b"2024 third\n  at c\n")
    assert waiting.ordinals == 8


@pytest.mark.parametrize("size", [1, 3, 17, 1000])
def test_an_event_is_cut_before_the_line_that_makes_it_too_long(size: int) -> None:
    text = b"S 0\n" + b"".join(b" line %d\n" % number for number in range(6)) + b"S 1\n"
    found = split(text, size, options=TextOptions(start="^S", max_line_bytes=20))
    expected = [(1, "S 0\n line 0\n line 1"), (4, " line 2\n line 3"), (6, " line 4\n line 5"), (8, "S 1")]
    assert found.lines == expected


@pytest.mark.parametrize("size", [1, 3, 17, 1000])
def test_a_line_that_is_too_long_closes_its_event(size: int) -> None:
    text = b"S 0\n at\n" + b"x" * 40 + b"\n alone\n too\nS 1\n at\n"
    found = split(text, size, options=TextOptions(start="^S", max_line_bytes=20))
    assert found.lines == [(1, "S 0\n at"), (4, " alone"), (5, " too"), (6, "S 1\n at")]
    assert [line.ordinal for line in found.long] == [3]


def test_repairs_inside_events_are_told_once() -> None:
    found = split(b"S\n\xff\n\xff\nS\n", 2, options=TextOptions(start="^S"))
    assert found.lines == [(1, "S\n�\n�"), (4, "S")]
    assert found.repaired == [2, 3]


def test_a_start_that_re2_cannot_read_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="multiline start"):
        LineSplitter(0, TextOptions(start=r"(?!x)"), opening=b"")


def test_splitting_is_a_matter_of_milliseconds() -> None:
    text = b"".join(b"10.0.0.1 - - [10/Oct/2000:13:55:36] %d\n" % number for number in range(400_000))
    start = time.process_time()
    splitter = LineSplitter(0, TextOptions(), opening=text[:1000])
    (found,) = splitter.feed(text)
    assert len(found.lines.text) == 400_000
    assert time.process_time() - start < 0.5  # 0.02 s on an idle machine
