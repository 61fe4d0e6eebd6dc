"""The tables of logs that go to CloudWatch read them as messages there, too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.kernel.run import read_rows
from tailpipe.kernel.task import Reading, Task
from tailpipe.plugin import Artifact, Event, Source, Window
from tailpipe.plugins.aws.cloudwatch import CloudWatchLogGroup
from tests.aws_tables.golden import TABLES

AT = datetime(2024, 1, 31, 10, 0, 0, 123_000, UTC)


class Messages(Source):
    """Yields events, as CloudWatch does."""

    type = "messages"
    yields_events = True
    event_fields = CloudWatchLogGroup.event_fields
    events: Sequence[Event] = ()

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        return iter(())

    def open(self, artifact: Artifact) -> Iterator[Event]:
        return iter(self.events)


def rows(table: str, *messages: str, group: str = "g", stream: str = "s") -> list[dict[str, Any]]:
    fields = {"ingestion_time": AT, "log_group": group, "log_stream": stream}
    events = [
        Event(str(number), AT + timedelta(milliseconds=number), message, location=stream, fields=fields)
        for number, message in enumerate(messages)
    ]
    source = Messages(name="m", events=tuple(events))
    made, artifact = TABLES[table], Artifact("g/day", kind="range")
    assert made.format is not None
    now = datetime(2024, 6, 1, tzinfo=UTC)
    task = Task.of(f"{table}.m", made, source, made.format, (Reading(artifact, artifact.uri),), now)
    found = [row for batch in read_rows(task) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: str(row["tp_timestamp"]))


def test_cloudtrail_is_read_from_messages_also_escaped_once_more() -> None:
    who = {"type": "AssumedRole", "arn": "arn:aws:sts::111122223333:assumed-role/admin/berta"}
    texts = []
    for number in range(3):
        event = {"eventTime": f"2024-01-31T10:00:0{number}Z", "eventName": "GetUser", "userIdentity": who, "odd": "é"}
        texts.append(json.dumps(event))
    plain, inside, string = texts[0], json.dumps(texts[1])[1:-1], json.dumps(texts[2])
    found = rows("aws_cloudtrail_log", plain, inside, string, '{"eventName": "no time"}', "no event")
    assert [row["event_name"] for row in found] == ["GetUser"] * 3
    assert {row["tp_usernames"][0] for row in found} == {"berta"}
    assert {row["additional"] for row in found} == {'{"odd":"é"}'}
    assert {(row["tp_source_name"], row["tp_source_location"]) for row in found} == {("g", "s")}


def test_lambda_has_the_time_of_the_event_if_the_text_has_none() -> None:
    report = "REPORT RequestId: 8f5b1a52-0000-4000-8000-000000000001\tDuration: 9.5 ms\tBilled Duration: 10 ms\t\n"
    trace = "Traceback (most recent call last):\n  File x\nKeyError: 'price'"
    found = rows("aws_lambda_log", report, trace, group="/aws/lambda/shop")
    assert [row["kind"] for row in found] == ["report", "function"]
    assert found[0]["duration_ms"] == 9.5
    assert found[1]["message"] == trace
    assert {row["function_name"] for row in found} == {"shop"}
    assert found[0]["tp_timestamp"].isoformat(sep=" ") == "2024-01-31 10:00:00.123000"


def test_an_audit_event_knows_its_stream() -> None:
    audit = '{"kind": "Event", "verb": "get", "requestReceivedTimestamp": "2024-01-31T10:00:00Z"}'
    (found,) = rows("aws_eks_audit_log", audit, "I0131 a line of another log", stream="kube-apiserver-audit-1")
    assert found["verb"] == "get"
    assert found["log_stream"] == "kube-apiserver-audit-1"
    assert found["additional"] is None
