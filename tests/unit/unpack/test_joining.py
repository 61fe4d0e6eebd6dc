"""Lines of mixed events: whatever the chunks, and wherever a reading goes on, the events are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.model.format import Joining
from tailpipe.unpack.text import LineSplitter, Split, TextOptions

PARTS = Joining(key=r"^(?P<key>\w)[:.]", end=r"^\w\.")
TIMED = Joining(key=r"^(?P<id>(?P<clock>\w)(?P<seconds>\d+))", end=r"!$", gap_seconds=2)


def events_of(splits: list[Split]) -> list[tuple[int, str]]:
    return [
        (int(ordinal), text)
        for split in splits
        for ordinal, text in zip(split.lines.ordinals, split.lines.text.to_pylist(), strict=True)
    ]


def split(text: bytes, joining: Joining, sizes: int = 1 << 20, limit: int = 1 << 20) -> list[tuple[int, str]]:
    splitter = LineSplitter(0, TextOptions(joining=joining, max_line_bytes=limit), opening=text[:100])
    found = [one for start in range(0, len(text), sizes) for one in splitter.feed(text[start : start + sizes])]
    return events_of([*found, *splitter.finish(is_complete=True)])


def test_lines_of_mixed_events_are_joined() -> None:
    text = b"a:1\nb:1\na.2\nc.only\nb:2\nother\nb.3\n"
    assert split(text, PARTS) == [(1, "a:1\na.2"), (2, "b:1\nb:2\nb.3"), (4, "c.only"), (6, "other")]


def test_where_every_line_is_an_event_nothing_is_joined() -> None:
    assert split(b"a.1\r\nb.2\r\n\r\na.3\r\n", PARTS) == [(1, "a.1"), (2, "b.2"), (4, "a.3")]


def test_an_event_ends_when_its_own_clock_has_gone_on() -> None:
    text = b"a10 x\nb99 x\na10 y\na12 x\na10 z\na13 x\na10 late\n"
    assert split(text, TIMED) == [(1, "a10 x\na10 y\na10 z"), (2, "b99 x"), (4, "a12 x"), (6, "a13 x"), (7, "a10 late")]


def test_what_is_open_at_the_end_waits_for_a_file_that_grows_and_is_taken_of_one_that_is_closed() -> None:
    text = b"a.1\nb:1\na.2\nb:2"
    splitter = LineSplitter(0, TextOptions(joining=PARTS), opening=text)
    assert events_of(splitter.feed(text)) == [(1, "a.1")]
    assert splitter.finish(is_complete=False) == []
    assert (splitter.taken, splitter.ordinals, splitter.unread) == (4, 1, len(text) - 4)
    assert split(text, PARTS) == [(1, "a.1"), (2, "b:1\nb:2"), (3, "a.2")]


def test_an_event_that_never_ends_is_closed_after_so_many_bytes() -> None:
    text = b"a:1\n" + b"b.x\n" * 10 + b"a:2\na.3\n"
    found = split(text, PARTS, limit=20)
    assert found[0] == (1, "a:1")
    assert found[-1] == (12, "a:2\na.3")
    assert len(found) == 12


def test_a_line_that_is_too_long_closes_what_is_open() -> None:
    text = b"a:1\n" + b"x" * 50 + b"\na.2\n"
    assert split(text, PARTS, limit=40) == [(1, "a:1"), (3, "a.2")]


TEXTS = st.lists(
    st.sampled_from([b"a:", b"a.", b"b:", b"b.", b"c.", b"", b"other", b"a:\r", b"x" * 30]), max_size=24
).map(b"\n".join)
TIMES = st.lists(
    st.builds(
        lambda clock, seconds, end: b"%s%d %s" % (clock, seconds, end),
        st.sampled_from([b"a", b"b"]),
        st.integers(0, 9),
        st.sampled_from([b"x", b"!"]),
    ),
    max_size=24,
).map(b"\n".join)


@pytest.mark.parametrize("limit", [25, 60, 1 << 20])
@given(text=TEXTS, sizes=st.integers(1, 30))
def test_however_the_text_is_cut_into_chunks_the_events_are_the_same(limit: int, text: bytes, sizes: int) -> None:
    assert split(text, PARTS, sizes, limit) == split(text, PARTS, limit=limit)


@given(text=TEXTS | TIMES, place=st.integers(0, 300), joining=st.sampled_from([PARTS, TIMED]))
def test_a_reading_that_goes_on_finds_the_same_events(text: bytes, place: int, joining: Joining) -> None:
    first = LineSplitter(0, TextOptions(joining=joining, max_line_bytes=60), opening=text)
    before = [*first.feed(text[:place]), *first.finish(is_complete=False)]
    rest = LineSplitter(
        0, TextOptions(joining=joining, max_line_bytes=60), opening=text, offset=first.taken, ordinals=first.ordinals
    )
    after = [*rest.feed(text[first.taken :]), *rest.finish(is_complete=True)]
    assert events_of([*before, *after]) == split(text, joining, limit=60)


@given(text=TEXTS | TIMES, joining=st.sampled_from([PARTS, TIMED]))
def test_no_line_is_lost_and_none_is_twice(text: bytes, joining: Joining) -> None:
    found = [line for _, event in split(text, joining) for line in event.split("\n") if line]
    given_ = [line.removesuffix("\r") for line in text.decode().split("\n") if line.removesuffix("\r")]
    assert sorted(found) == sorted(given_)
