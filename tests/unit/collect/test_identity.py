"""Every case of tests/golden/identity.md, and what the table cannot show."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest

from tailpipe.collect.identity import PrintRequest, decide, needs
from tailpipe.collect.item import WorkItem
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import HEAD_BYTES, TAIL_BYTES, LedgerEntry, Span, Unit, fingerprints, printed
from tailpipe.unpack.streams import Reader
from tests.counting import calls_of

CASES_PAGE = Path(__file__).parents[2] / "golden" / "identity.md"
HOUR = datetime(2024, 1, 31, 12, tzinfo=UTC)
NOW = HOUR + timedelta(minutes=59, seconds=30)
PACK = Unit(pack="p")

_THING = re.compile(
    r"(?P<name>[^=#]*)(#(?P<etag>\d))?=(?P<lines>\w*)(?P<rest>~?)@(?P<minute>\d+)( \((?P<identity>.*)\))?"
)


class Found:
    """A file or object in the notation of the table."""

    def __init__(self, text: str) -> None:
        match = _THING.fullmatch(text)
        assert match, text
        self.name, self.etag = match["name"], match["etag"]
        self.lines = "".join(f"{line}\n" for line in match["lines"]).encode()
        self.content = self.lines + match["rest"].encode()
        self.modified = HOUR + timedelta(minutes=int(match["minute"]))
        origin, _, generation = (match["identity"] or f"{self.name}, 0").partition(", ")
        self.identity = (origin, int(generation))

    @property
    def artifact(self) -> Artifact:
        raw = gzip.compress(self.content) if self.name.endswith(".gz") else self.content
        return Artifact(self.name, len(raw), self.modified, self.etag, kind="object" if self.etag else "file")

    @property
    def entry(self) -> LedgerEntry:
        return remember(self.artifact, self.content, len(self.lines), self.identity)


def remember(
    artifact: Artifact, content: bytes, committed: int, identity: tuple[str, int], *, source: str = "s"
) -> LedgerEntry:
    taken = content[:committed]
    head, fingerprint = printed(committed, taken[:HEAD_BYTES], taken[-TAIL_BYTES:]) if taken else (None, None)
    return LedgerEntry(
        origin=identity[0],
        generation=identity[1],
        source=source,
        unit=PACK if artifact.day is None else Unit(day=artifact.day),
        as_of=artifact.modified + timedelta(seconds=20) if artifact.modified else NOW,
        uri=artifact.uri or None,
        kind=artifact.kind,
        size=artifact.size,
        modified=artifact.modified,
        etag=artifact.etag,
        committed_bytes=committed,
        committed_ordinals=taken.count(b"\n"),
        unread_bytes=len(content) - committed,
        fingerprint=fingerprint,
        head=head,
    )


def reader(content: bytes) -> Reader:
    return Reader(io.BytesIO(content).read, file="x")


def settle(
    listed: list[WorkItem], ledger: list[LedgerEntry], contents: dict[str, bytes], *, now: datetime = NOW
) -> tuple[tuple[WorkItem, ...], list[PrintRequest]]:
    """Answer all requests from `contents`, then decide."""
    prints: dict[tuple[str, Span], str | None] = {}
    asked: list[PrintRequest] = []
    for _ in range(4):
        for request in needs(listed, ledger, prints, now=now):
            asked.append(request)
            found = fingerprints(reader(contents[request.uri]), request.spans)
            prints |= {(request.uri, span): print_ for span, print_ in found.items()}
    return decide(listed, ledger, prints, now=now), asked


def show(decision: WorkItem) -> str:
    text = f"{decision.artifact.uri} {decision.fate}"
    goes_on = decision.fate in ("grown", "rotated")
    if goes_on and decision.origin != decision.artifact.uri:
        text += f" as {decision.origin}"
    if goes_on and decision.has_news:
        text += f" from {decision.offset_rows}"
    if decision.fate in ("new", "truncated", "replaced") and decision.generation:
        text += f", generation {decision.generation}"
    return text


def cases() -> list[object]:
    section = CASES_PAGE.read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return [
        pytest.param(*(re.findall(r"`([^`]+)`", cell) for cell in cells), id=name.strip().replace(" ", "_"))
        for name, *cells in rows
    ]


@pytest.mark.parametrize(("remembered", "found", "read", "decided"), cases())
def test_the_table_of_cases_holds(remembered: list[str], found: list[str], read: list[str], decided: list[str]) -> None:
    things = [Found(text) for text in found]
    ledger = [Found(text).entry for text in remembered]
    decisions, asked = settle(
        [WorkItem("s", thing.artifact) for thing in things],
        ledger,
        {thing.name: thing.content for thing in things},
    )
    assert sorted({request.uri for request in asked}) == sorted(read)
    assert len(decisions) == len(decided)
    for decision, text in zip(decisions, decided, strict=True):
        wanted = text.removesuffix(", closed")
        shown = show(decision)
        assert shown in (wanted, wanted.replace(" rotated", f" rotated as {decision.origin}"))
        assert decision.is_closed or not text.endswith(", closed")


def test_each_entry_goes_on_in_one_artifact_at_most() -> None:
    content = b"a\nb\n"
    ledger = [remember(Artifact("x", 4, HOUR), content, 4, ("x", 0))]
    listed = [WorkItem("s", Artifact(name, 4, HOUR)) for name in "pqr"]
    decisions, _ = settle(listed, ledger, dict.fromkeys("pqr", content))
    assert [decision.fate for decision in decisions] == ["rotated", "new", "new"]


def test_a_long_print_is_asked_for_only_where_the_head_agrees() -> None:
    old = b"old line\n" * 1000
    other = b"new line\n" * 1000
    ledger = [remember(Artifact("a.log", len(old), HOUR), old, len(old), ("a.log", 0))]
    later = HOUR + timedelta(minutes=1)
    listed = [WorkItem("s", Artifact("a.log", 9000, later)), WorkItem("s", Artifact("a.log.1", 9000, later))]
    decisions, asked = settle(listed, ledger, {"a.log": other, "a.log.1": old})
    assert [request.spans for request in asked if request.uri == "a.log"] == [((0, HEAD_BYTES),)]
    assert [request.spans for request in asked if request.uri == "a.log.1"] == [((0, HEAD_BYTES),), ((0, 9000),)]
    assert [decision.fate for decision in decisions] == ["new", "rotated"]


def test_contents_that_differ_behind_the_head_are_two() -> None:
    old, other = b"x\n" * 2000, b"x\n" * 1999 + b"y\n"
    ledger = [remember(Artifact("a.log", len(old), HOUR), old, len(old), ("a.log", 0))]
    listed = [WorkItem("s", Artifact("b.log", len(other), HOUR))]
    decisions, _ = settle(listed, ledger, {"b.log": other})
    assert decisions[0].fate == "new"


def test_a_log_with_a_header_alone_does_not_claim_a_content_that_came_from_elsewhere() -> None:
    header, rows = b"#fields\n", b"#fields\na\nb\n"
    idle = replace(remember(Artifact("a.1", 8, HOUR), header, 8, ("a.1", 0)), committed_ordinals=0)
    busy = remember(Artifact("a", 12, HOUR), rows, 12, ("a", 0))
    later = HOUR + timedelta(minutes=1)
    listed = [WorkItem("s", Artifact("a.1", 12, later)), WorkItem("s", Artifact("a", 8, later))]
    decisions, _ = settle(listed, [idle, busy], {"a.1": rows, "a": header})
    assert [(one.fate, one.origin, one.generation) for one in decisions] == [
        ("rotated", "a", 0),
        ("new", "a", 1),
    ]


def test_a_log_with_a_header_alone_goes_on_where_it_lies() -> None:
    idle = replace(remember(Artifact("a", 8, HOUR), b"#fields\n", 8, ("a", 0)), committed_ordinals=0)
    listed = [WorkItem("s", Artifact("a", 10, HOUR + timedelta(minutes=1)))]
    decisions, _ = settle(listed, [idle], {"a": b"#fields\na\n"})
    assert (decisions[0].fate, decisions[0].offset_bytes, decisions[0].generation) == ("grown", 8, 0)


def test_a_rotation_is_looked_for_within_one_source() -> None:
    ledger = [remember(Artifact("a", 2, HOUR), b"a\n", 2, ("a", 0), source="other")]
    decisions, asked = settle([WorkItem("s", Artifact("b", 2, HOUR))], ledger, {"b": b"a\n"})
    assert decisions[0].fate == "new"
    assert not asked


def test_a_known_name_stays_known_when_its_source_is_renamed() -> None:
    ledger = [remember(Artifact("a", 2, HOUR), b"a\n", 2, ("a", 0), source="before")]
    decisions, _ = settle([WorkItem("after", Artifact("a", 2, HOUR))], ledger, {})
    assert decisions[0].fate == "unchanged"
    noted = decisions[0].noted()
    assert noted is not None
    assert noted.source == "after"


@pytest.mark.parametrize(("day", "fate"), [(30, "new"), (31, "rotated")])
def test_a_dated_log_is_found_again_within_its_day_alone(day: int, fate: str) -> None:
    ledger = [remember(Artifact("a", 2, HOUR, day=date(2024, 1, 31)), b"a\n", 2, ("a", 0))]
    listed = [WorkItem("s", Artifact("b", 2, HOUR, day=date(2024, 1, day)))]
    decisions, _ = settle(listed, ledger, {"b": b"a\n"})
    assert decisions[0].fate == fate


def test_an_undated_log_may_be_rotated_to_a_name_with_a_date() -> None:
    ledger = [remember(Artifact("a", 2, HOUR), b"a\n", 2, ("a", 0))]
    listed = [WorkItem("s", Artifact("a-20240131", 2, HOUR, day=date(2024, 1, 31)))]
    decisions, _ = settle(listed, ledger, {"a-20240131": b"a\n"})
    assert decisions[0].fate == "rotated"


def test_a_renamed_log_is_read_again_if_it_was_written_to_in_the_same_tick() -> None:
    entry = remember(Artifact("a", 2, HOUR), b"a\n", 2, ("a", 0))
    listed = [WorkItem("s", Artifact("a.gz", 30, HOUR))]
    for as_of, has_news in ((HOUR + timedelta(seconds=1), True), (HOUR + timedelta(seconds=3), False)):
        decisions, _ = settle(listed, [replace(entry, as_of=as_of)], {"a.gz": b"a\nb\n"})
        assert (decisions[0].fate, decisions[0].has_news) == ("rotated", has_news)


def test_a_touched_file_is_noted_so_that_it_is_not_read_again() -> None:
    entry = remember(Artifact("a", 2, HOUR), b"a\n", 2, ("a", 0))
    listed = [WorkItem("s", Artifact("a", 2, HOUR + timedelta(minutes=1)))]
    decisions, asked = settle(listed, [entry], {"a": b"a\n"})
    noted = decisions[0].noted()
    assert asked
    assert noted is not None
    decisions, asked = settle(listed, [noted], {})
    assert not asked
    assert decisions[0].noted() is None


def test_without_an_etag_size_and_time_tell_an_object() -> None:
    known = Artifact("k", 2, HOUR, kind="object")
    ledger = [remember(known, b"a\n", 2, ("k", 0))]
    for found, fate in ((known, "unchanged"), (replace(known, size=3), "replaced")):
        assert settle([WorkItem("s", found)], ledger, {})[0][0].fate == fate


@pytest.mark.parametrize(("kind", "start"), [("range", 7), ("run", 0)])
def test_a_range_or_run_is_asked_again_by_a_later_run_only(kind: Literal["range", "run"], start: int) -> None:
    found = Artifact("api?day=1", kind=kind)
    ledger = [replace(remember(found, b"", 0, ("api?day=1", 0)), as_of=NOW, committed_ordinals=7)]
    assert settle([WorkItem("s", found)], ledger, {}, now=NOW)[0][0].fate == "unchanged"
    later = settle([WorkItem("s", found)], ledger, {}, now=NOW + timedelta(hours=1))[0][0]
    assert (later.fate, later.generation, later.offset_rows) == ("requested_again", 0, start)


def test_a_file_without_size_or_time_is_known_by_its_content() -> None:
    known = Artifact("a")
    ledger = [remember(known, b"a\n", 2, ("a", 0))]
    decisions, asked = settle([WorkItem("s", known)], ledger, {"a": b"a\n"})
    assert (decisions[0].fate, decisions[0].offset_bytes) == ("grown", 2)
    assert asked


def test_deciding_without_the_wanted_prints_is_refused() -> None:
    ledger = [remember(Artifact("a", 2, HOUR), b"a\n", 2, ("a", 0))]
    with pytest.raises(ValueError, match="prints are wanted"):
        decide([WorkItem("s", Artifact("a", 4, NOW))], ledger, {}, now=NOW)


def test_prints_of_several_parts_are_taken_in_one_pass_which_leaps_over_the_rest() -> None:
    data = bytes(range(256)) * 40
    spans = [(0, 0), (0, 1), (0, 7), (3, 9), (5, 9), (100, 100), (9000, 9001), (9000, 10240), (3, 10240)]
    read: list[int] = []

    def pull(size: int) -> bytes:
        part = stream.read(min(size, 1000))
        read.append(len(part))
        return part

    stream = io.BytesIO(data)
    assert fingerprints(Reader(pull, file="x"), spans) == {
        (start, end): hashlib.blake2b(data[start:end], digest_size=16).hexdigest() for start, end in spans
    }
    stream, read = io.BytesIO(data), []
    leaping = Reader(pull, file="x", leap=lambda size: stream.seek(size, io.SEEK_CUR) - stream.tell() + size)
    assert None not in fingerprints(leaping, [(0, 8), (10000, 10240)]).values()
    assert read == [8, 240]


def test_a_content_that_ends_before_a_part_does_has_no_print_of_it() -> None:
    found = fingerprints(reader(b"abc"), [(0, 2), (0, 4), (1, 3), (2, 4), (9, 12)])
    assert [span for span, print_ in found.items() if print_ is None] == [(0, 4), (2, 4), (9, 12)]


def test_a_long_content_is_known_by_its_beginning_its_end_and_its_size() -> None:
    old = b"".join(b"line %07d\n" % number for number in range(10_000))
    later = HOUR + timedelta(minutes=1)
    ledger = [remember(Artifact("a.log", len(old), HOUR), old, len(old), ("a.log", 0))]
    more = old + b"more\n"
    decisions, asked = settle([WorkItem("s", Artifact("a.log", len(more), later))], ledger, {"a.log": more})
    assert [request.spans for request in asked] == [((0, HEAD_BYTES),), ((len(old) - TAIL_BYTES, len(old)),)]
    assert (decisions[0].fate, decisions[0].offset_bytes) == ("grown", len(old))
    for place in (0, 500, len(old) - TAIL_BYTES, len(old) - 1):
        other = more[:place] + b"#" + more[place + 1 :]
        decisions, _ = settle([WorkItem("s", Artifact("a.log", len(more), later))], ledger, {"a.log": other})
        assert decisions[0].fate == "truncated"


def test_there_are_few_lengths_of_heads_however_long_the_contents_are() -> None:
    ledger = [
        remember(
            Artifact(f"old{size}", size, HOUR), bytes([65 + size % 26]) * (size - 1) + b"\n", size, (f"old{size}", 0)
        )
        for size in range(1, 3000)
    ]
    listed = [WorkItem("s", Artifact("new", 5000, HOUR))]
    (request,) = needs(listed, ledger, {}, now=NOW)
    assert len(request.spans) <= HEAD_BYTES.bit_length()


@pytest.mark.parametrize("size", [1, 20, 1000, 1024, 1500, 100_000])
@pytest.mark.parametrize("is_changed", [False, True])
def test_an_entry_of_an_earlier_version_is_known_by_all_its_bytes(size: int, is_changed: bool) -> None:
    content = b"0123456789" * 10_000
    over_all = hashlib.blake2b(content[:size], digest_size=16).hexdigest()
    over_head = hashlib.blake2b(content[: min(size, HEAD_BYTES)], digest_size=16).hexdigest()
    known = remember(Artifact("a", size, HOUR), content[:size], size, ("a", 0))
    ledger = [replace(known, fingerprint=over_all, head=over_head)]
    now = content[: size // 2] + b"#" + content[size // 2 + 1 :] if is_changed else content
    decisions, _ = settle([WorkItem("s", Artifact("a", len(now) + 1, NOW))], ledger, {"a": now + b"x"})
    assert decisions[0].fate == ("truncated" if is_changed else "grown")
    assert (ledger[0].tail_print is None) == (size > TAIL_BYTES)


def test_an_artifact_that_is_as_it_was_costs_one_copy() -> None:
    facts = {"size": 5, "modified": NOW, "etag": "e"}
    ledger = [
        LedgerEntry(f"o{n}", "s", Unit(day=NOW.date()), NOW, uri=f"o{n}", kind="object", **facts)  # type: ignore[arg-type]
        for n in range(100)
    ]
    listed = [WorkItem("s", Artifact(f"o{n}", kind="object", day=NOW.date(), **facts)) for n in range(100)]  # type: ignore[arg-type]
    decisions = decide(listed, ledger, {}, now=NOW)
    assert {one.fate for one in decisions} == {"unchanged"}
    assert calls_of("replace", lambda: decide(listed, ledger, {}, now=NOW)) == 100
    assert calls_of("replace", lambda: [one.noted() for one in decisions]) == 0
