"""Messages in envelopes: read by any format, and known by their events."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.kernel.sample import sample
from tailpipe.kernel.task import Task
from tailpipe.model.format import Format
from tailpipe.model.table import Column, Table
from tailpipe.plugin.formats import Delimited, Json, Jsonl, Parquet, Regex
from tests.unit.kernel.support import Memory, Run, task

EVENT_TIME = Column("tp_timestamp", source="_event_time")
AT = 1709287200123


class Api(Memory):
    """Gives envelopes."""

    type = "api"
    envelope = True


def envelopes(*messages: str, stream: str = "s") -> bytes:
    events = (
        {
            "event_id": f"{stream}{number}",
            "timestamp": AT + number,
            "ingestion_time": AT + 9000,
            "log_group": "/aws/g",
            "log_stream": stream,
            "message": message,
        }
        for number, message in enumerate(messages)
    )
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def api_task(content: Any, columns: list[Column], format: Format, **facts: Any) -> Task:
    of = Table(name="things", columns=[EVENT_TIME, *columns], **facts)
    return replace(task(content, format=format, of=of), source=Api(name="api"))


def read(content: Any, columns: list[Column], format: Format, **facts: Any) -> Run:
    return Run(api_task(content, columns, format, **facts))


def in_order(run: Run, name: str) -> list[Any]:
    return [row[name] for row in sorted(run.rows, key=lambda row: row["tp_timestamp"])]


TEXT = Column("text", "varchar")
WORDS = Regex(layout="(?P<text>.*)")


def test_a_message_is_read_as_a_line() -> None:
    run = read(
        envelopes("GET 200", "bad", "PUT 404"),
        [Column("status", "integer")],
        Delimited(delimiter=" ", fields=("verb", "status")),
    )
    assert in_order(run, "status") == [200, 404]
    assert [(row["ordinal"], row["raw"]) for row in run.rejected] == [(2, "bad")]
    assert run.outcome.samples[0].position == "event 2"


@pytest.mark.parametrize("format", [Jsonl(), Json(), Json(records="Records")], ids=lambda one: str(one.type))
def test_a_message_is_one_record(format: Format) -> None:
    run = read(envelopes('{"text": "a"}', "no", '{"text": "b"}'), [TEXT], format)
    assert in_order(run, "text") == ["a", "b"]
    assert [row["reason"] for row in run.rejected] == ["the message is not JSON"]


def test_an_object_that_was_escaped_once_more_is_read() -> None:
    plain = '{"text": "say \\"é\\"\\n", "n": 1}'
    quoted = json.dumps(plain)
    run = read(envelopes(plain, quoted, quoted[1:-1], '"broken', '{\\"broken'), [TEXT], Jsonl())
    assert in_order(run, "text") == ['say "é"\n'] * 3
    assert run.outcome.accounts.rejected == 2


def test_a_message_of_many_lines_is_one_row_without_the_line_end_behind_it() -> None:
    run = read(envelopes("Traceback:\n  File x\nKeyError\n", "one\r\n", "\n", "  "), [TEXT], WORDS)
    assert in_order(run, "text") == ["Traceback:\n  File x\nKeyError", "one"]
    assert run.outcome.accounts.read == 2


def test_what_is_in_the_envelope_is_there_as_fields_and_stamps() -> None:
    columns = [
        TEXT,
        Column("group", "varchar", source="_log_group"),
        Column(
            "late_ms", "bigint", transform="epoch_ms(_ingestion_time::TIMESTAMP) - epoch_ms(_event_time::TIMESTAMP)"
        ),
        Column("whole", "varchar", source="_message"),
    ]
    (row,) = read(envelopes('{"text": "a", "_log_group": "mine"}', stream="x/y"), columns, Jsonl()).rows
    assert (row["text"], row["group"], row["late_ms"]) == ("a", "/aws/g", 9000)
    assert row["whole"] == '{"text": "a", "_log_group": "mine"}'
    assert (row["tp_source_location"], row["tp_source_type"]) == ("x/y", "api")
    assert row["tp_timestamp"].isoformat() == "2024-03-01T10:00:00.123000"


def test_an_event_keeps_its_id_wherever_it_stands() -> None:
    first = read(envelopes("a", "b"), [TEXT], WORDS)
    lines = envelopes("a", "b").splitlines(keepends=True)
    again = read(b"".join(reversed(lines)), [TEXT], WORDS)
    ids = {row["text"]: row["tp_id"] for row in first.rows}
    assert ids == {row["text"]: row["tp_id"] for row in again.rows}
    assert len(set(ids.values())) == 2


def test_a_range_that_is_asked_again_is_read_from_its_beginning() -> None:
    one = api_task(envelopes("a", "b", "c"), [TEXT], WORDS)
    (reading,) = one.readings
    run = Run(replace(one, readings=(replace(reading, since_ordinals=2),)))
    assert in_order(run, "text") == ["a", "b", "c"]
    (result,) = run.outcome.results
    assert (result.committed_bytes, result.committed_ordinals) == (0, 5)


def test_the_envelope_is_no_column_unless_it_is_named() -> None:
    assert sample(api_task(envelopes('{"n": 1}'), [], Jsonl(), map_fields=["*"])) == {"n": "bigint"}
    assert sample(api_task(envelopes("n=1"), [], Regex(layout="n=(?P<n>.*)"), map_fields=["*"])) == {"n": "bigint"}


def test_elsewhere_the_fields_of_an_envelope_are_null() -> None:
    columns = [
        Column("tp_timestamp", transform="coalesce(time, _event_time)"),
        Column("s", "varchar", source="_log_stream"),
    ]
    plain = task(b'{"time": "2024-03-01T10:00:00Z"}\n', of=Table(name="things", columns=columns))
    assert in_order(Run(plain), "s") == [None]


def test_parquet_does_not_come_in_messages() -> None:
    with pytest.raises(TailpipeError, match='messages of a "api" cannot be parquet'):
        read(envelopes("a"), [TEXT], Parquet())
