"""What goes wrong between us and S3: right rows in the end or a rolled-back day, and one clear message each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tailpipe.collect.events import Summary
from tailpipe.plugin import Secret, Window
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.s3 import S3Bucket
from tailpipe.plugins.buckets.fetch import RANGE_BYTES
from tests.aws.conftest import TestBucket
from tests.aws.proxy import Answer, Cut, Fault, Proxy, Slow
from tests.aws.server import READER_KEY, READER_SECRET, owner
from tests.aws.world import s3_world
from tests.bucket_server import Asked

TODAY = date(2024, 3, 10)
YESTERDAY = date(2024, 3, 9)
ALL = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC))


def key(day: date, name: str) -> str:
    return f"one/{day:%Y/%m/%d}/{name}.jsonl"


def fill(bucket: TestBucket) -> list[str]:
    """Twelve objects on two days; their messages."""
    messages = []
    for day in (YESTERDAY, TODAY):
        for number in range(6):
            messages.append(f"{day} {number}")
            bucket.put_rows(key(day, str(number)), messages[-1], day=day)
    return messages


class First:
    """Goes wrong the first times that something is asked for."""

    def __init__(self, times: int, fault: Fault, wanted: Callable[[Asked], bool] = lambda _: True) -> None:
        self.times = times
        self.fault = fault
        self.wanted = wanted
        self.counts: dict[tuple[str, str], int] = {}
        self.lock = threading.Lock()

    def __call__(self, asked: Asked) -> Fault:
        if not self.wanted(asked):
            return None
        with self.lock:
            what = (asked.path, asked.prefix)
            self.counts[what] = self.counts.get(what, 0) + 1
            return self.fault if self.counts[what] <= self.times else None


def is_get(asked: Asked) -> bool:
    return not asked.is_list and asked.method == "GET"


@pytest.mark.parametrize(
    "fault",
    [
        First(1, Answer(503, "SlowDown")),
        First(1, Answer(429, "TooManyRequests")),
        First(1, Answer(500, "InternalError")),
        First(1, Cut(10), is_get),
        First(1, Cut(300), lambda asked: asked.is_list),
        First(1, Slow(0.5), is_get),
    ],
    ids=["503", "429", "500", "reset in mid-body", "reset in a listing", "slow"],
)
def test_what_passes_leaves_no_trace_in_the_rows(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path, fault: Callable[[Asked], Fault]
) -> None:
    messages = fill(bucket)
    proxy.fault = fault
    world = s3_world(tmp_path, proxy.url, bucket.name)
    done = world.collect()
    assert done.is_done, told(done)
    assert world.rows() == messages
    assert not world.has_twins()


def test_a_reset_in_a_large_object_asks_for_its_range_again(bucket: TestBucket, proxy: Proxy) -> None:
    text = b"0123456789abcde\n" * (RANGE_BYTES // 8)
    bucket.put("large", text)
    proxy.fault = First(1, Cut(5_000_000), lambda asked: asked.headers.get("range", "").startswith("bytes=8388608"))
    source = S3Bucket(bucket=bucket.name, connection=owner(proxy.url))
    [artifact] = source.artifacts(ALL)
    assert source.open(artifact).read() == text
    assert [one.headers["range"] for one in proxy.gets].count("bytes=0-8388607") == 1


def test_a_server_that_stays_busy_rolls_the_day_back(bucket: TestBucket, proxy: Proxy, tmp_path: Path) -> None:
    messages = fill(bucket)
    wanted = key(TODAY, "3")
    proxy.fault = lambda asked: Answer(503, "SlowDown") if asked.path.endswith(wanted) else None
    world = s3_world(tmp_path, proxy.url, bucket.name, retries=1)
    done = world.collect()
    assert [one.unit for one in done.failed] == [str(TODAY)]
    assert "the service is too busy (SlowDown)" in told(done)
    assert world.rows() == messages[:6]
    proxy.fault = lambda _: None
    assert world.collect().is_done
    assert world.rows() == messages
    assert not world.has_twins()


def change_when_read(proxy: Proxy, wanted: str, change: Callable[[], object]) -> None:
    """Do something to the bucket in the moment in which an object is asked for."""
    is_done = threading.Event()

    def fault(asked: Asked) -> None:
        if is_get(asked) and asked.path.endswith(wanted) and not is_done.is_set():
            is_done.set()
            change()

    proxy.fault = fault


def test_an_object_replaced_during_the_run_is_taken_whole_by_the_same_run(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path
) -> None:
    messages, wanted = fill(bucket), key(TODAY, "3")
    change_when_read(proxy, wanted, lambda: bucket.put_rows(wanted, "3 again", "and more", day=TODAY))
    world = s3_world(tmp_path, proxy.url, bucket.name)
    assert world.collect().is_done
    assert world.rows() == sorted([*messages[:9], *messages[10:], "3 again", "and more"])
    assert world.collect().committed == ()


@pytest.mark.slow
def test_an_object_replaced_again_and_again_rolls_its_day_back_until_the_next_run(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path
) -> None:
    messages, wanted = fill(bucket), key(TODAY, "3")
    versions = iter(range(100))

    def replace_it(asked: Asked) -> None:
        if is_get(asked) and asked.path.endswith(wanted):
            bucket.put_rows(wanted, f"version {next(versions)}", day=TODAY)

    proxy.fault = replace_it
    world = s3_world(tmp_path, proxy.url, bucket.name)
    done = world.collect()
    assert [one.unit for one in done.failed] == [str(TODAY)]
    assert f'"s3://{bucket.name}/{wanted}" was replaced after it was listed; the next run collects it' in told(done)
    assert world.rows() == messages[:6]
    proxy.fault = lambda _: None
    assert world.collect().is_done
    assert world.rows() == sorted([*messages[:9], *messages[10:], f"version {next(versions) - 1}"])


def test_an_object_deleted_after_listing_does_not_keep_its_day_from_landing(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path
) -> None:
    messages, wanted = fill(bucket), key(TODAY, "3")
    change_when_read(proxy, wanted, lambda: bucket.delete(wanted))
    world = s3_world(tmp_path, proxy.url, bucket.name)
    assert world.collect().is_done
    assert world.rows() == [*messages[:9], *messages[10:]]


def test_an_expired_token_is_renewed(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile whose credentials change on disk while the run goes on, as some tools do it."""
    from tests.aws.server import ACCESS_KEY, SECRET_KEY

    messages, file = fill(bucket), tmp_path / "aws-credentials"

    def log_in(region_as_mark: str) -> None:
        file.write_text(
            f"[p]\naws_access_key_id = {ACCESS_KEY}{region_as_mark}\naws_secret_access_key = {SECRET_KEY}\n"
        )

    log_in("OLD")

    def fault(asked: Asked) -> Fault:
        if f"{ACCESS_KEY}OLD" in asked.headers.get("authorization", ""):
            log_in("")
            return Answer(400, "ExpiredToken")
        if is_get(asked) and len(proxy.gets) == 3:
            return Answer(400, "ExpiredToken")
        return None

    proxy.fault = fault
    world = s3_world(tmp_path, proxy.url, bucket.name)
    keys = f'access_key          = "{ACCESS_KEY}"\n  secret_key          = "{SECRET_KEY}"\n'
    assert keys in world.text
    world = replace(world, text=world.text.replace(keys, 'profile = "p"\n'))
    done = world.collect()
    assert done.is_done, told(done)
    assert world.rows() == messages


def test_a_token_that_expires_while_the_server_is_busy_is_renewed_too(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path
) -> None:
    messages, wanted = fill(bucket), key(TODAY, "3")
    faults = iter([Answer(503, "SlowDown"), Answer(400, "ExpiredToken"), Answer(503, "SlowDown")])
    proxy.fault = lambda asked: next(faults, None) if is_get(asked) and asked.path.endswith(wanted) else None
    world = s3_world(tmp_path, proxy.url, bucket.name)
    done = world.collect()
    assert done.is_done, told(done)
    assert world.rows() == messages


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Answer(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-1"}), "it is in another region"),
        (Answer(400, "KMS.DisabledException"), "by the proxy (KMS.DisabledException)"),
        (Answer(403, "InvalidObjectState"), "is archived"),
    ],
    ids=["region", "key is disabled", "archived"],
)
def test_an_object_that_is_refused_says_why(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path, fault: Answer, message: str
) -> None:
    messages, wanted = fill(bucket), key(TODAY, "3")
    proxy.fault = lambda asked: fault if is_get(asked) and asked.path.endswith(wanted) else None
    world = s3_world(tmp_path, proxy.url, bucket.name)
    done = world.collect()
    assert message in told(done)
    assert world.rows() == messages[:6]
    assert len([one for one in proxy.gets if one.path.endswith(wanted)]) == 1, "there is no use in asking again"


def told(summary: Summary) -> str:
    return " / ".join([summary.error, *(reason for failed in summary.failed for reason in failed.reasons)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Answer(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-1"}), 'set region = "eu-west-1"'),
        (Answer(403, "RequestTimeTooSkewed"), "the clock of this machine is wrong by more than 15 minutes"),
        (Answer(400, "ExpiredToken"), "the credentials of connection.aws.local have expired (put new keys into"),
        (Answer(403, "AccessDenied"), "access denied to connection.aws.local"),
        (Answer(403, "InvalidAccessKeyId"), "the access key of connection.aws.local is not known there"),
    ],
    ids=["region", "clock", "expired", "denied", "key"],
)
def test_a_listing_that_is_refused_says_why(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path, fault: Answer, message: str
) -> None:
    proxy.fault = lambda _: fault
    done = s3_world(tmp_path, proxy.url, bucket.name).collect()
    assert f'cannot list bucket "{bucket.name}": ' in done.error
    assert message in done.error


def test_a_bucket_that_is_not_there_is_named(s3_url: str, tmp_path: Path) -> None:
    assert (
        'cannot list bucket "nowhere": there is no such bucket' in s3_world(tmp_path, s3_url, "nowhere").collect().error
    )


def test_a_wrong_secret_is_told(bucket: TestBucket, tmp_path: Path) -> None:
    done = s3_world(tmp_path, bucket.url, bucket.name, secret_key="not-it").collect()
    assert "the secret key of connection.aws.local is wrong" in done.error
    assert "not-it" not in done.error


def test_no_credentials_at_all_are_told_with_what_to_run(bucket: TestBucket, tmp_path: Path) -> None:
    source = S3Bucket(name="s", bucket=bucket.name, connection=Aws(endpoint_url=bucket.url))
    with pytest.raises(Exception, match=r"there are no credentials for connection\.aws\.default") as caught:
        list(source.artifacts(ALL))
    assert "aws sso login" in getattr(caught.value, "hint", "")


def test_one_who_may_list_and_not_read_is_told(bucket: TestBucket, tmp_path: Path) -> None:
    fill(bucket)
    world = s3_world(tmp_path, bucket.url, bucket.name, access_key=READER_KEY, secret_key=READER_SECRET)
    done = world.collect()
    assert f'cannot read "s3://{bucket.name}/one/' in told(done)
    assert "access denied to connection.aws.local" in told(done)
    assert world.rows() == []


def test_a_server_that_does_not_answer_is_told(tmp_path: Path) -> None:
    connection = Aws(name="x", access_key="A", secret_key=Secret("s"), endpoint_url="http://127.0.0.1:1", max_retries=0)
    with pytest.raises(Exception, match=r"http://127\.0\.0\.1:1 does not answer"):
        list(S3Bucket(bucket="bkt", connection=connection).artifacts(ALL))
