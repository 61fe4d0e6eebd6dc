"""Events of a source: their messages are parsed by any format, and rows are identified by their keys."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tailpipe.errors import TailpipeError
from tailpipe.formats import Delimited, Json, Jsonl, Parquet, Regex
from tailpipe.kernel.event_feed import EventFeed
from tailpipe.kernel.feed import Batch
from tailpipe.kernel.run import run_task
from tailpipe.kernel.sample import sample
from tailpipe.kernel.task import Limits, Reading, Staging, Task
from tailpipe.kernel.trial import try_task
from tailpipe.model.artifact import Artifact
from tailpipe.model.event import Event
from tailpipe.model.format import Format
from tailpipe.model.option import Secret, option
from tailpipe.model.parsing import DocumentParser, ParseContext
from tailpipe.model.source import Source
from tailpipe.model.table import Column, Table
from tailpipe.model.window import Window
from tests.unit.kernel.support import INGESTED, Run, shared, task

EVENT_TIME = Column("tp_timestamp", source="_event_time")
AT = datetime(2024, 3, 1, 10, 0, 0, 123_000, UTC)


class Api(Source):
    """Yields events that lie in a dictionary."""

    type = "api"
    yields_events = True
    event_fields = ("ingestion_time", "log_group", "log_stream")

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        return iter(())

    def open(self, artifact: Artifact) -> Iterator[Event]:
        return EVENTS[artifact.uri]  # type: ignore[return-value] # some tests put nonsense there


EVENTS: dict[str, Iterable[Any]] = {}


class Secretive(Api):
    """Knows a secret."""

    type = "secretive"
    token: Secret = option("Token.")


class Staged:
    """A task that was run once: events from a generator come but once."""

    def __init__(self, task: Task) -> None:
        with tempfile.TemporaryDirectory() as directory:
            (self.outcome,) = run_task(task.at(Staging(directory, "t0-a0")))


def event(key: str, message: str, number: int = 0, stream: str = "s") -> Event:
    fields = {"ingestion_time": AT + timedelta(seconds=9), "log_group": "/aws/g", "log_stream": stream}
    return Event(key, AT + timedelta(milliseconds=number), message, location=stream, fields=fields)


def events(*messages: str, stream: str = "s") -> list[Event]:
    return [event(f"{stream}{number}", message, number, stream) for number, message in enumerate(messages)]


def api_task(content: Iterable[Any], columns: list[Column], format: Format, **facts: Any) -> Task:
    EVENTS["/api/day"] = content
    artifact = Artifact("/api/day", day=AT.date(), kind="range")
    of = Table(name="things", columns=[EVENT_TIME, *columns], **facts)
    return Task.of("things.test", of, Api(name="api"), format, (Reading(artifact, artifact.uri),), INGESTED)


def read(content: Any, columns: list[Column], format: Format, **facts: Any) -> Run:
    return Run(api_task(content, columns, format, **facts))


def in_order(run: Run, name: str) -> list[Any]:
    return [row[name] for row in sorted(run.rows, key=lambda row: row["tp_timestamp"])]


TEXT = Column("text", "varchar")
WORDS = Regex(layout="(?P<text>.*)")


def test_a_message_is_read_as_a_line() -> None:
    run = read(
        events("GET 200", "bad", "PUT 404"),
        [Column("status", "integer")],
        Delimited(delimiter=" ", fields=("verb", "status")),
    )
    assert in_order(run, "status") == [200, 404]
    assert [(row["ordinal"], row["raw"]) for row in run.rejected] == [(2, "bad")]
    assert run.outcome.samples[0].position == "event 2"


def test_what_stands_around_a_message_is_not_gathered() -> None:
    rest = Column("rest", "json", source="*")
    run = read(events("1 2"), [rest], Delimited(delimiter=" ", fields=("x", "y")))
    assert json.loads(run.rows[0]["rest"]) == {"x": "1", "y": "2"}


@pytest.mark.parametrize("format", [Jsonl(), Json(), Json(records="Records")], ids=lambda one: str(one.type))
def test_a_message_is_one_record(format: Format) -> None:
    run = read(events('{"text": "a"}', "no", '{"text": "b"}'), [TEXT], format)
    assert in_order(run, "text") == ["a", "b"]
    assert [row["reason"] for row in run.rejected] == ["the message is not JSON"]


def test_an_object_that_was_escaped_once_more_is_read() -> None:
    plain = '{"text": "say \\"é\\"\\n", "n": 1}'
    quoted = json.dumps(plain)
    run = read(events(plain, quoted, quoted[1:-1], '"broken', '{\\"broken'), [TEXT], Jsonl())
    assert in_order(run, "text") == ['say "é"\n'] * 3
    assert run.outcome.accounts.rejected == 2


def test_a_message_of_many_lines_is_one_row_without_the_line_end_behind_it() -> None:
    run = read(events("Traceback:\n  File x\nKeyError\n", "one\r\n", "\n", "  "), [TEXT], WORDS)
    assert in_order(run, "text") == ["Traceback:\n  File x\nKeyError", "one"]
    assert run.outcome.accounts.read == 2


def test_the_facts_of_an_event_are_fields_and_stamps() -> None:
    columns = [
        TEXT,
        Column("group", "varchar", source="_log_group"),
        Column(
            "late_ms", "bigint", transform="epoch_ms(_ingestion_time::TIMESTAMP) - epoch_ms(_event_time::TIMESTAMP)"
        ),
        Column("whole", "varchar", source="_message"),
    ]
    (row,) = read(events('{"text": "a", "_log_group": "mine"}', stream="x/y"), columns, Jsonl()).rows
    assert (row["text"], row["group"], row["late_ms"]) == ("a", "/aws/g", 9000)
    assert row["whole"] == '{"text": "a", "_log_group": "mine"}'
    assert (row["tp_source_location"], row["tp_source_type"]) == ("x/y", "api")
    assert row["tp_timestamp"].isoformat() == "2024-03-01T10:00:00.123000"


def test_an_event_keeps_its_id_wherever_it_stands() -> None:
    first = read(events("a", "b"), [TEXT], WORDS)
    again = read(events("a", "b")[::-1], [TEXT], WORDS)
    ids = {row["text"]: row["tp_id"] for row in first.rows}
    assert ids == {row["text"]: row["tp_id"] for row in again.rows}
    assert len(set(ids.values())) == 2


def test_a_range_that_is_asked_again_is_read_from_its_beginning() -> None:
    one = api_task(events("a", "b", "c"), [TEXT], WORDS)
    (reading,) = one.readings
    run = Run(shared(one, readings=(replace(reading, offset_rows=2),)))
    assert in_order(run, "text") == ["a", "b", "c"]
    (result,) = run.outcome.results
    assert (result.committed_bytes, result.committed_ordinals) == (0, 5)


def test_the_facts_of_an_event_are_no_columns_unless_they_are_named() -> None:
    assert sample(api_task(events('{"n": 1}'), [], Jsonl(), map_fields=["*"])) == {"n": "bigint"}
    assert sample(api_task(events("n=1"), [], Regex(layout="n=(?P<n>.*)"), map_fields=["*"])) == {"n": "bigint"}


def test_elsewhere_the_facts_of_events_are_null() -> None:
    columns = [
        Column("tp_timestamp", transform="coalesce(time, _event_time)"),
        Column("s", "varchar", source="_log_stream"),
    ]
    plain = task(b'{"time": "2024-03-01T10:00:00Z"}\n', of=Table(name="things", columns=columns))
    assert in_order(Run(plain), "s") == [None]


def test_parquet_does_not_come_in_messages() -> None:
    with pytest.raises(TailpipeError, match='messages of a "api" cannot be parquet'):
        read(events("a"), [TEXT], Parquet())


def test_the_ids_of_events_are_what_they_always_were() -> None:
    """Taken from the code that read events from envelopes: rows that were collected then keep their ids."""
    arn = "arn:aws:logs:eu-central-1:123456789012:log-group:/app/x"
    expected = {
        f"{arn}/2024-03-01": "2aa8694b8ccec15b",
        f"{arn}/2024-03-01T05": "8f8385b6b16c8bfa",
    }
    keys = {
        "3700000000000000000000000000000000000000001": "0680aaeca6f58ae4ea46f0a099e04d30",
        'é"x': "dca77170474611da1747cc37a50abc9a",
        "k3": "f7ab469d1dc79166fc874dadcc0dd854",
    }
    for uri, prefix in expected.items():
        EVENTS[uri] = [event(key, "a") for key in keys]
        one = api_task([], [TEXT], WORDS)
        artifact = Artifact(uri, day=AT.date(), kind="range")
        run = Run(shared(one, partition="app.x", readings=(Reading(artifact, uri),)))
        assert {row["tp_id"] for row in run.rows} == {f"{prefix}-{digest}" for digest in keys.values()}


def test_an_object_is_a_record_and_needs_no_second_encoding() -> None:
    found = {"text": 'say "é"', "n": 1, "at": AT, "deep": {"list": [Decimal("1.5")]}}
    columns = [TEXT, Column("n", "bigint"), Column("deep", "json"), Column("whole", "varchar", source="_message")]
    (row,) = read([Event("k", AT, object=found)], columns, Jsonl()).rows
    assert (row["text"], row["n"], row["deep"]) == ('say "é"', 1, '{"list":["1.5"]}')
    assert json.loads(row["whole"])["at"] == AT.isoformat()


def test_times_of_other_zones_are_the_same_moments_and_no_digit_is_lost() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    times = [AT.astimezone(east), AT.replace(microsecond=123_456), datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)]
    run = read([Event(f"k{n}", at, "a") for n, at in enumerate(times)], [Column("at", source="_event_time")], WORDS)
    shown = {row["at"] for row in run.rows} | {json.dumps(row["reason"]) for row in run.rejected}
    assert {"2024-03-01T10:00:00.123Z", "2024-03-01T10:00:00.123456Z"} < shown
    assert any("1969-12-31T23:59:59.999Z" in text for text in shown)


def test_an_event_may_have_no_time_of_its_own() -> None:
    columns = [Column("tp_timestamp", transform="coalesce(_event_time, moment)"), TEXT]
    one = api_task([Event("k", None, '{"text": "a", "moment": "2024-03-01T09:00:00Z"}')], [], Jsonl())
    (row,) = Run(replace(one, table=Table(name="things", columns=columns))).rows
    assert row["tp_timestamp"].isoformat() == "2024-03-01T09:00:00"
    run = read([Event("k", None, "a"), event("j", "b")], [TEXT], WORDS)
    assert [row["reason"] for row in run.rejected] == ['"_event_time" has no time']


def test_events_without_a_key_are_rejected_and_keep_an_id_by_their_text() -> None:
    bad: list[Any] = [event("", "a"), event(None, "b"), event(7, "a"), event("ok", "c")]  # type: ignore[arg-type]
    run = read(bad, [TEXT], WORDS)
    assert in_order(run, "text") == ["c"]
    assert [(row["ordinal"], row["reason"], row["raw"]) for row in run.rejected] == [
        (1, "the event has no key", "a"),
        (2, "the event has no key", "b"),
        (3, "the event has no key", "a"),
    ]
    first, second, third = (row["tp_id"] for row in run.rejected)
    assert first == third != second
    assert run.outcome.accounts.is_balanced


def test_texts_that_are_no_unicode_are_repaired() -> None:
    run = read([Event("k\ud800", AT, "half \ud83d", location="\udfff")], [TEXT], WORDS)
    assert in_order(run, "text") == ["half ?"]


def test_a_message_that_is_too_long_is_rejected() -> None:
    one = api_task([event("k", "x" * 1001), event("j", "short")], [TEXT], WORDS)
    run = Run(replace(one, limits=Limits(line_bytes=1000)))
    assert [row["reason"] for row in run.rejected] == ["the message has 1,001 characters, more than 1,000"]
    assert in_order(run, "text") == ["short"]


def raising(*events: Any, error: Exception) -> Iterator[Any]:
    yield from events
    raise error


WRONG = [
    ([b"bytes"], "open() of the source yielded a value of the type bytes, expected an Event"),
    ([None], "open() of the source yielded None, expected an Event"),
    ([event("k", "a"), {"key": "k"}], "yielded a value of the type dict, expected an Event"),
    (7, "open() of the source returned a value of the type int, expected a binary stream or a generator"),
    ([Event("k", AT.replace(tzinfo=None), "a")], "the event 'k' has a time without a zone"),
    ([Event("k", 1709287200, "a")], "the event 'k' has a time of the type int, expected a datetime"),  # type: ignore[arg-type]
    ([Event("k", AT, b"a")], "the event 'k' has a message that is no text"),  # type: ignore[arg-type]
    ([Event("k", AT, "a", {"b": 1})], "the event 'k' has both a message and an object"),
    ([Event("k", AT, object={"b": {1}})], "the event 'k' holds what JSON cannot: a value of the type set"),
    ([Event("k", AT, "a", fields={"odd": 1})], 'has the field "odd", which is not in event_fields'),
]


@pytest.mark.parametrize(("content", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_source_that_breaks_its_word_fails_the_artifact_with_a_message(content: Any, message: str) -> None:
    EVENTS["/api/day"] = content
    outcome = Staged(api_task(content, [TEXT], WORDS)).outcome
    (result,) = outcome.results
    assert result.error is not None
    assert result.error.startswith('cannot read "/api/day": ')
    assert message in result.error
    assert not outcome.files


@pytest.mark.parametrize("count", [0, 3, 100_000])
@pytest.mark.parametrize("error", [KeyError("id"), ConnectionResetError("reset by s3cr3t-t0ken"), OSError(28, "full")])
def test_an_error_in_the_middle_fails_the_artifact_and_leaves_nothing(count: int, error: Exception) -> None:
    events = (Event(str(number), AT, "a") for number in range(count))
    one = api_task(raising(*events, error=error), [TEXT], WORDS)
    source = Secretive(name="api", token=Secret("s3cr3t-t0ken"))
    outcome = Staged(
        shared(replace(one, limits=Limits(batch_bytes=1 << 20, flush_bytes=1 << 20)), source=source)
    ).outcome
    (result,) = outcome.results
    assert result.error is not None
    assert type(error).__name__ in result.error
    assert "s3cr3t" not in result.error
    assert not outcome.files
    assert outcome.accounts.kept == 0


def test_the_generator_is_closed_when_nobody_reads_on() -> None:
    closed = []

    def events() -> Iterator[Event]:
        try:
            for number in range(1_000_000):
                yield Event(str(number), AT, "a")
        finally:
            closed.append(True)

    trial = try_task(api_task(events(), [TEXT], WORDS), 5)
    assert not trial.is_whole
    assert closed == [True]


def test_many_events_are_never_in_memory_together() -> None:
    made = 0

    def events() -> Iterator[Event]:
        nonlocal made
        for number in range(200_000):
            made += 1
            yield Event(f"{number:040}", AT, "x" * 100)

    limits = Limits(chunk_bytes=1 << 20, batch_bytes=4 << 20)
    task, parser = api_task(events(), [TEXT], WORDS), WORDS.parser(ParseContext(has_line_ends=True))
    assert not isinstance(parser, DocumentParser)
    feed = EventFeed(replace(task, limits=limits), parser, {}, fields={}, is_json=False)
    rows, ahead, before, most = 0, 0, pa.total_allocated_bytes(), 0
    for batch in feed.events():
        assert isinstance(batch, Batch)
        ahead = max(ahead, made - rows)
        rows += batch.parsed.rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 200_000
    assert ahead < 30_000  # so many have 4 MB, and a chunk more
    assert most < 32 << 20


def test_endless_events_end_at_the_limit_of_an_artifact() -> None:
    def events() -> Iterator[Event]:
        number = 0
        while True:
            number += 1
            yield Event(str(number), AT, "x" * 1000)

    one = api_task(events(), [TEXT], WORDS)
    limits = Limits(chunk_bytes=1 << 20, artifact_bytes=4 << 20)
    (result,) = Staged(replace(one, limits=limits)).outcome.results
    assert result.error == '"/api/day" has more than 4,194,304 bytes of events'


def test_a_task_may_read_the_events_of_many_artifacts() -> None:
    count = 70  # more than are written into the statement
    for number in range(count):
        EVENTS[f"/api/{number}"] = events(f"m{number}", stream=f"s{number}")
    readings = tuple(
        Reading(Artifact(f"/api/{number}", day=AT.date(), kind="range"), f"/api/{number}") for number in range(count)
    )
    of = Table(name="things", columns=[EVENT_TIME, TEXT])
    run = Run(Task.of("things.test", of, Api(name="api"), WORDS, readings, INGESTED))
    assert {(row["text"], row["tp_source_location"]) for row in run.rows} == {(f"m{n}", f"s{n}") for n in range(count)}
