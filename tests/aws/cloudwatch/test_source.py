"""The source by itself: spans, pages, and what it says when something is wrong."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest

from tailpipe.errors import ConfigError
from tailpipe.kernel.task import Outcome, Task
from tailpipe.plugin import Artifact, Secret, TailpipeError, Window
from tailpipe.plugins.aws.cloudwatch import CloudWatchLogGroup
from tailpipe.plugins.aws.connection import Aws
from tests.aws.cloudwatch.conftest import Group
from tests.unit.collect.support import LocalEngine

DAY = date(2024, 3, 1)
ARN = "arn:aws:logs:eu-central-1:123456789012:log-group:/app/x"


class Scripted(CloudWatchLogGroup):
    """Answers from a script instead of a server, to have groups and pages of any size."""

    type = "scripted"
    answers: Any = ()

    def _request(self, verb: str, group: str, operation: str, **asked: Any) -> Mapping[str, Any]:
        ASKED.append((operation, asked))
        return next(ANSWERS)


ASKED: list[tuple[str, dict[str, Any]]] = []
ANSWERS: Iterator[Mapping[str, Any]] = iter(())


def scripted(answers: Iterator[Mapping[str, Any]], **options: Any) -> Scripted:
    global ANSWERS
    ANSWERS = answers
    ASKED.clear()
    return Scripted(**{"log_group_name": "/app/x", **options})


def event(number: int, at: int, stream: str = "s", message: str = "hello") -> dict[str, Any]:
    return {"eventId": str(number), "timestamp": at, "logStreamName": stream, "message": message}


def ms(hour: int) -> int:
    return int(datetime(2024, 3, 1, hour, tzinfo=UTC).timestamp() * 1000)


def group_of(size: int, **more: Any) -> Iterator[Mapping[str, Any]]:
    created = datetime(2024, 2, 20, tzinfo=UTC).timestamp() * 1000
    group = {"logGroupName": "/app/x", "arn": f"{ARN}:*", "storedBytes": size, "creationTime": created, **more}
    other = {"logGroupName": "/app/x-other", "arn": "other"}
    return iter([{"logGroups": [other], "nextToken": "t"}, {"logGroups": [group]}])


def test_a_day_is_one_range_and_a_busy_one_has_a_range_for_each_hour() -> None:
    window = Window(datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 3, tzinfo=UTC))
    quiet = list(scripted(group_of(12_000)).artifacts(window))
    assert [one.uri for one in quiet] == [f"{ARN}/2024-03-01", f"{ARN}/2024-03-02"]
    assert {(one.kind, one.size, one.fields["tp_source_name"]) for one in quiet} == {("range", 1000, "/app/x")}
    busy = list(scripted(group_of(12 << 30)).artifacts(window))
    assert [one.uri for one in busy[:25]] == [
        *(f"{ARN}/2024-03-01T{hour:02}" for hour in range(24)),
        f"{ARN}/2024-03-02T00",
    ]
    young = list(scripted(group_of(1 << 30, retentionInDays=1)).artifacts(window))
    assert len(young) == 48


def test_a_range_gives_the_events_between_its_ends_whatever_the_server_says() -> None:
    page = [event(1, ms(5) - 1), event(2, ms(5)), event(3, ms(6) - 1), event(4, ms(6))]
    source = scripted(iter([{"events": page}]))
    events = source.open(Artifact(f"{ARN}/2024-03-01T05", day=DAY, kind="range"))
    assert [one.key for one in events] == ["2", "3"]
    ((_, asked),) = ASKED
    assert (asked["startTime"], asked["endTime"]) == (ms(5), ms(6) - 1)


def test_streams_that_two_patterns_mean_are_given_once() -> None:
    everything = [event(number, ms(1), stream) for number, stream in enumerate(("ab", "ac", "b"))]
    source = scripted(iter([{"events": everything}] * 3), log_stream_names=("a*", "ab", "*b"))
    events = source.open(Artifact(f"{ARN}/2024-03-01", day=DAY, kind="range"))
    assert [one.location for one in events] == ["ab", "ac", "b"]
    assert [asked.get("logStreamNamePrefix") for _, asked in ASKED] == ["a", "ab", None]


def test_an_empty_page_is_not_the_end() -> None:
    answers: list[dict[str, Any]] = [
        {"events": [event(1, ms(1))], "nextToken": "x"},
        {"nextToken": "y"},
        {"events": [event(2, ms(2))]},
    ]
    assert len(list(scripted(iter(answers)).open(Artifact(f"{ARN}/2024-03-01", day=DAY, kind="range")))) == 2
    assert [asked.get("nextToken") for _, asked in ASKED] == [None, "x", "y"]


def test_memory_does_not_grow_with_the_pages() -> None:
    def pages() -> Iterator[Mapping[str, Any]]:
        for page in range(200):
            events = [event(page * 100 + number, ms(3), message="x" * 5000) for number in range(100)]
            yield {"events": events, **({"nextToken": str(page)} if page < 199 else {})}

    size = 0
    events = scripted(pages()).open(Artifact(f"{ARN}/2024-03-01", day=DAY, kind="range"))
    tracemalloc.start()
    for one in events:
        size += len(one.message or "")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size == 100_000_000
    assert peak < 8_000_000


def test_it_travels_to_the_workers() -> None:
    connection = Aws(name="x", access_key="a", secret_key=Secret("b"))
    source = CloudWatchLogGroup(log_group_name="/app/x", connection=connection)
    assert pickle.loads(pickle.dumps(source)) == source
    assert "b'" not in repr(source)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('log_group_name = ""', "name a log group"),
        ("log_group_name = []", "name a log group"),
        ('log_group_name = ["a", ""]', "name a log group"),
        ('log_stream_names = ["a", ""]', "the name of a log stream cannot be empty"),
        ("overlap_days = -1", "overlap_days must be between 0 and 30"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(group: Group, option: str, message: str) -> None:
    group.more = option
    if "log_group_name" in option:
        group.config = group.config.replace('log_group_name = "GROUP"', "")
    with pytest.raises(ConfigError) as caught:
        group.collect()
    assert [one.message for one in caught.value.diagnostics] == [message]


def test_a_class_that_cannot_be_read_is_told_and_not_collected() -> None:
    found = scripted(group_of(12_000, logGroupClass="INFREQUENT_ACCESS")).artifacts(Window.of_day(DAY))
    assert ["log class" in one.unavailable for one in found] == [True]


def test_the_number_of_groups_is_bounded() -> None:
    group = {"arn": "arn", "storedBytes": 1, "creationTime": 0}
    pages = ({"logGroups": [{**group, "logGroupName": f"/{n}"}], "nextToken": str(n)} for n in range(10_000))
    source = scripted(pages, log_group_name=["/*"])
    with pytest.raises(TailpipeError, match="more than 2,000 log groups match"):
        list(source.artifacts(Window.of_day(DAY)))
    assert len(ASKED) == 2001


def test_a_group_that_is_not_there_is_named(group: Group) -> None:
    group.name += "-gone"
    summary = group.collect()
    assert summary.error == (
        f'there is no log group "{group.name}" in region eu-central-1'
        ' (correct "log_group_name" or "region" of source "aws_cloudwatch_log_group")'
    )


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "AccessDeniedException", 'cannot find log group "/app/x": access denied to connection.aws.x'),
        (400, "UnrecognizedClientException", "the access key of connection.aws.x is not known there"),
        (400, "ExpiredTokenException", "the credentials of connection.aws.x have expired"),
        (400, "ThrottlingException", "the service is too busy (ThrottlingException)"),
    ],
)
def test_what_the_server_refuses_is_told_in_one_message(answering: Any, status: int, code: str, words: str) -> None:
    url, asked = answering(status, code)
    connection = Aws(name="x", access_key="a", secret_key=Secret("b"), endpoint_url=url, max_retries=1)
    source = CloudWatchLogGroup(log_group_name="/app/x", region="eu-central-1", connection=connection)
    with pytest.raises(TailpipeError) as caught:
        list(source.artifacts(Window.of_day(DAY)))
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    tries = {"ThrottlingException": 2, "ExpiredTokenException": 2}.get(code, 1)
    assert len(asked) == tries


def test_a_group_that_vanishes_while_it_is_read_rolls_its_days_back(group: Group) -> None:
    group.say("a", 1, "one")
    group.collect("T-1d")
    engine = group.world.engine
    group.world.engine = Deleting(group)
    summary = group.collect()
    told = f'there is no log group "{group.name}" in region eu-central-1'
    hint = 'correct "log_group_name" or "region" of source "aws_cloudwatch_log_group"'
    assert {one.reasons for one in summary.failed} == {(f"{told} ({hint})",)}
    group.world.engine = engine
    assert group.world.rows() == ["one"]


class Deleting(LocalEngine):
    """Deletes the group after it was listed."""

    def __init__(self, group: Group) -> None:
        super().__init__()
        self.group = group

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        if not self.jobs:
            self.group.client.delete_log_group(logGroupName=self.group.name)
        return super().run(tasks)
