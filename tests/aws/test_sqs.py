"""The source `aws_sqs_s3`: a queue says what is new, and a message is deleted when its rows are committed."""

from __future__ import annotations

import itertools
import json
import pickle
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import boto3
import pytest
from click.testing import CliRunner

from tailpipe.cli.app import app
from tailpipe.collect.listing import released
from tailpipe.errors import ConfigError
from tailpipe.plugin import TailpipeError, UsageError, Window
from tailpipe.plugins.aws.s3_events import named_objects
from tests.aws.conftest import TestBucket
from tests.aws.proxy import Proxy
from tests.aws.world import s3_world
from tests.sampling import campaign
from tests.unit.collect.support import LocalEngine, World

TODAY = date(2024, 3, 10)
_NAMES = itertools.count(1)
QUEUE = """
connection "aws" "queue" {
  access_key   = "AKIATEST"
  secret_key   = "very-secret"
  region       = "us-east-1"
  endpoint_url = "MOTO"
  max_retries  = 1
}
"""


def key(days: int, name: str = "a.jsonl", account: str = "one") -> str:
    return f"{account}/{TODAY - timedelta(days=days):%Y/%m/%d}/{name}"


def record(bucket: str, name: str, event: str = "ObjectCreated:Put") -> dict[str, Any]:
    return {
        "eventSource": "aws:s3",
        "eventName": event,
        "s3": {"bucket": {"name": bucket}, "object": {"key": quote_plus(name, safe="/"), "eTag": "not-looked-at"}},
    }


@dataclass
class Feed:
    """A bucket, its queue, and a workspace that collects both."""

    bucket: TestBucket
    moto: str
    world: World
    url: str = ""
    client: Any = field(init=False)

    def __post_init__(self) -> None:
        self.client = boto3.client(
            "sqs", "us-east-1", endpoint_url=self.moto, aws_access_key_id="a", aws_secret_access_key="b"
        )
        self.url = self.client.create_queue(QueueName=f"queue-{next(_NAMES)}")["QueueUrl"]
        source = f'queue_url = "{self.url}"\n    queue_connection = connection.aws.queue\n    source_more = 1\n'
        text = self.world.text.replace('source "aws_s3_bucket" {', f'source "aws_sqs_s3" {{\n    {source}')
        self.world.text = QUEUE.replace("MOTO", self.moto) + text.replace("    source_more = 1\n", "")

    def put(self, days: int, *messages: str, name: str = "a.jsonl", is_told: bool = True) -> str:
        """An object with rows, and a message about it."""
        self.bucket.put_rows(key(days, name), *messages, day=TODAY - timedelta(days=days))
        if is_told:
            self.tell(record(self.bucket.name, key(days, name)))
        return key(days, name)

    def tell(self, *records: dict[str, Any]) -> None:
        self.send(json.dumps({"Records": list(records)}))

    def send(self, body: str) -> None:
        self.client.send_message(QueueUrl=self.url, MessageBody=body)

    @property
    def left(self) -> int:
        """How many messages the queue has, visible or not."""
        return self._count("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")

    @property
    def visible(self) -> int:
        """How many messages a collection would get now."""
        return self._count("ApproximateNumberOfMessages")

    def _count(self, *names: str) -> int:
        facts = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(names))["Attributes"]
        return sum(int(facts[name]) for name in names)


@pytest.fixture
def feed(bucket: TestBucket, proxy: Proxy, moto: str, tmp_path: Path) -> Feed:
    return Feed(bucket, moto, s3_world(tmp_path, proxy.url, bucket.name))


def test_objects_are_collected_by_messages_without_a_listing(feed: Feed, proxy: Proxy) -> None:
    feed.put(0, "today")
    feed.put(3, "lost message", is_told=False)
    assert feed.world.collect().is_done
    assert feed.world.rows() == ["lost message", "today"]  # the first run lists the bucket
    assert feed.left == 0
    proxy.asked.clear()
    feed.put(0, "new", name="b c+d.jsonl")
    feed.put(20, "very late", name="late.jsonl")
    again = feed.put(0, "today", "grown")  # replaced, and told twice, out of order
    feed.tell(record(feed.bucket.name, again), record(feed.bucket.name, key(0, "b c+d.jsonl")))
    feed.put(0, "lost", name="lost.jsonl", is_told=False)
    assert feed.world.collect().is_done
    assert proxy.lists == []
    assert feed.world.rows() == ["grown", "lost message", "new", "today", "very late"]
    assert feed.left == 0
    assert not feed.world.collect().committed
    feed.world.now += timedelta(days=1)  # time for a listing, which needs no message
    assert feed.world.collect().is_done
    assert feed.world.rows() == ["grown", "lost", "lost message", "new", "today", "very late"]
    assert not feed.world.has_twins()
    assert len(proxy.lists) < 12


def test_what_is_none_of_its_messages_stays_and_is_reported(feed: Feed) -> None:
    bucket = feed.bucket.name
    feed.put(1, "one")
    feed.send(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": bucket}))
    feed.tell(record(bucket, key(1, "gone.jsonl")))
    feed.tell(record(bucket, key(1), "ObjectRemoved:Delete"))
    feed.tell(record(bucket, "elsewhere/x.txt"))
    ours = 5
    assert feed.left == ours
    foreign = ["no JSON", "[]", json.dumps({"Records": [{"eventSource": "aws:sns"}]}), "{}", '{"Records": [7]}']
    for body in foreign:
        feed.send(body)
    feed.tell(record("another-bucket", key(1)))
    feed.tell(record(bucket, key(1)), record("another-bucket", key(1)))
    summary = feed.world.collect()
    assert summary.is_done
    assert feed.world.rows() == ["one"]
    assert feed.left == len(foreign) + 2
    (unavailable,) = summary.unavailable_artifacts
    assert unavailable.artifacts == len(foreign) + 2
    assert "it stays in the queue" in unavailable.reason


def test_a_message_is_deleted_only_after_the_commit_of_all_its_objects(feed: Feed) -> None:
    good, bad = key(1, "good.jsonl"), key(2, "bad.jsonl.gz")
    feed.bucket.put_rows(good, "good", day=TODAY - timedelta(days=1))
    feed.bucket.put(bad, b"\x1f\x8b this is no gzip")
    feed.tell(record(feed.bucket.name, good), record(feed.bucket.name, bad))
    summary = feed.world.collect()
    assert [one.unit for one in summary.failed] == ["2024-03-08"]
    assert feed.world.rows() == ["good"]
    assert feed.left == 1
    feed.bucket.put_rows(bad, "mended", day=TODAY - timedelta(days=2))
    feed.tell(record(feed.bucket.name, bad))
    assert feed.world.collect().is_done
    assert feed.world.rows() == ["good", "mended"]
    assert feed.left == 1  # the first message is hidden yet, and goes when it comes again


def test_a_run_that_fails_deletes_nothing(feed: Feed) -> None:
    class Broken(LocalEngine):
        def run(self, tasks: Any) -> Any:
            raise TailpipeError("the engine broke")

    feed.put(0, "one")
    engine, feed.world.engine = feed.world.engine, Broken()
    assert feed.world.collect().error
    assert feed.left == 1
    feed.world.engine = engine
    feed.put(0, "one")  # as if it came again
    assert feed.world.collect().is_done
    assert feed.world.rows() == ["one"]


@pytest.mark.parametrize("command", [("source", "test"), ("collect", "--dry-run")])
def test_commands_that_collect_nothing_give_messages_back_at_once(
    feed: Feed, tmp_path: Path, command: tuple[str, str]
) -> None:
    for number in range(12):
        feed.put(0, f"{number:02}", name=f"{number:02}.jsonl")
    feed.send("no event")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "main.tpc").write_text(feed.world.text)
    words = [*command, "app.x", "--from", str(TODAY), "--to", str(TODAY)]
    done = CliRunner().invoke(app, words, env={"TAILPIPE_INSTALL_DIR": str(tmp_path)})
    assert done.exit_code == 0, done.output
    assert "warning" not in done.output
    assert feed.visible == 13
    assert feed.world.collect().is_done
    assert feed.world.rows() == [f"{number:02}" for number in range(12)]
    assert feed.left == 1


def test_messages_that_cannot_be_given_back_are_a_warning(feed: Feed) -> None:
    feed.put(0, "one")
    (source,), said = feed.world.config.partitions["app.x"].sources, list[str]()
    with released([source], said.append):
        assert list(source.artifacts(Window.of_day(TODAY)))
        feed.client.delete_queue(QueueUrl=feed.url)
    assert said == [f'there is no queue "{feed.url}" (correct "queue_url")']


@pytest.mark.slow
def test_idle_cycles_delete_messages_of_known_objects_and_remember_their_listing(feed: Feed, proxy: Proxy) -> None:
    name = feed.put(0, "one")
    assert feed.world.collect(is_cycle=True).is_done
    feed.world.now += timedelta(days=1)  # time for a listing
    for _ in range(3):
        feed.tell(record(feed.bucket.name, name))
        summary = feed.world.collect(is_cycle=True)
        assert (summary.is_done, summary.committed, feed.left) == (True, (), 0)
    proxy.asked.clear()
    assert feed.world.collect(is_cycle=True).is_done
    assert proxy.lists == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('queue_url = "my-queue"', '"my-queue" is not the address of a queue'),
        ('queue_url = "https://x/1/q"\nvisibility_timeout_seconds = 0', "visibility_timeout_seconds must be between"),
        ('queue_url = "https://x/1/q"\nfull_listing = "0s"', '"0s" is no time'),
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, option: str, message: str) -> None:
    text = f'source "aws_sqs_s3" {{\n{option}\n'
    world = s3_world(tmp_path, "http://127.0.0.1:1", "logs")
    world.text = world.text.replace('source "aws_s3_bucket" {', text)
    with pytest.raises(ConfigError) as caught:
        world.collect()
    assert [message in one.message for one in caught.value.diagnostics] == [True]


def test_a_queue_that_is_not_there_is_named(feed: Feed) -> None:
    feed.client.delete_queue(QueueUrl=feed.url)
    error = feed.world.collect().error
    assert f'there is no queue "{feed.url}"' in error
    assert "very-secret" not in error


DIRECT = json.dumps({"Records": [record("b", "a b/c.gz"), record("b", "x", "ObjectRemoved:Delete")]})
BRIDGE = {
    "source": "aws.s3",
    "detail-type": "Object Created",
    "detail": {"bucket": {"name": "b"}, "object": {"key": "a+b"}},
}


@pytest.mark.parametrize(
    ("body", "places"),
    [
        (DIRECT, [("b", "a b/c.gz")]),
        (json.dumps({"Type": "Notification", "TopicArn": "t", "Message": DIRECT}), [("b", "a b/c.gz")]),
        (json.dumps(BRIDGE), [("b", "a+b")]),
        (json.dumps({"Type": "Notification", "Message": json.dumps(BRIDGE)}), [("b", "a+b")]),
        (json.dumps({**BRIDGE, "detail-type": "Object Deleted"}), []),
        (json.dumps({"s3Bucket": "b", "s3ObjectKey": ["AWSLogs/1/x.json.gz", ""]}), [("b", "AWSLogs/1/x.json.gz")]),
        (json.dumps({"Records": []}), []),
    ],
)
def test_a_message_of_each_shape_names_its_objects(body: str, places: list[tuple[str, str]]) -> None:
    assert named_objects(body) == places


def _wrapped(body: str, times: int) -> str:
    return body if times == 0 else json.dumps({"TopicArn": "t", "Message": _wrapped(body, times - 1)})


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[" * 100_000,
        '{"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put"}]}',
        '{"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {"bucket": 7}}]}',
        json.dumps({**BRIDGE, "detail": {"bucket": {"name": 1}, "object": {"key": []}}}),
        _wrapped(DIRECT, 3),
    ],
)
def test_a_message_that_is_none_is_refused(body: str) -> None:
    with pytest.raises(UsageError):
        named_objects(body)


def test_it_travels_to_the_workers_without_its_messages(feed: Feed) -> None:
    (source,) = feed.world.config.partitions["app.x"].sources
    assert pickle.loads(pickle.dumps(source)) == source


@pytest.mark.slow
@pytest.mark.parametrize("point", campaign(["commit.before", "staging.made", "commit.after", "publish.after"], 2))
def test_a_kill_loses_no_row_and_doubles_none(feed: Feed, tmp_path: Path, point: str) -> None:
    feed.world.text = feed.world.text.replace("queue_url", "visibility_timeout_seconds = 30\n    queue_url", 1)
    feed.world.collect()
    feed.put(0, "one")
    feed.put(1, "two", name="b.jsonl")
    config = tmp_path / "config.tpc"
    config.write_text(feed.world.text)
    now = (feed.world.now + timedelta(minutes=2)).isoformat()
    call = [sys.executable, "-m", "tests.feeds.collector", str(tmp_path), str(config), now, f"{point}=kill"]
    killed = subprocess.run(call, capture_output=True, check=False, timeout=120)
    assert killed.returncode == -9, killed.stderr.decode()
    assert feed.left == 2
    time.sleep(31)  # until the messages can be seen again
    assert feed.world.collect().is_done
    assert feed.world.rows() == ["one", "two"]
    assert feed.left == 0
