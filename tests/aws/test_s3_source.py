"""The source `aws_s3_bucket` against a real server: which objects it takes, and what becomes of them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tailpipe.errors import UsageError
from tailpipe.plugin import Artifact, Window
from tailpipe.plugins.aws.s3 import S3Bucket
from tailpipe.plugins.buckets.fetch import RANGE_BYTES
from tests.aws.conftest import TestBucket
from tests.aws.proxy import Proxy
from tests.aws.server import owner
from tests.aws.world import LAYOUT, s3_world

ALL = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC))
TODAY = date(2024, 3, 10)


def days_ago(count: int) -> date:
    return date.fromordinal(TODAY.toordinal() - count)


def key(day: date, name: str = "a.jsonl", account: str = "one") -> str:
    return f"{account}/{day:%Y/%m/%d}/{name}"


def test_objects_of_a_bucket_become_rows(bucket: TestBucket, tmp_path: Path) -> None:
    for back in (0, 1, 29, 31):
        bucket.put_rows(key(days_ago(back), "a.jsonl.gz"), f"gone {back}", day=days_ago(back))
    world = s3_world(tmp_path, bucket.url, bucket.name)
    assert world.collect().is_done
    assert world.rows() == ["gone 0", "gone 1", "gone 29"]
    row = world.rows("tp_source_type, tp_source_name, tp_source_location")[-1]
    assert row == ("aws_s3_bucket", bucket.name, f"s3://{bucket.name}/{key(days_ago(0), 'a.jsonl.gz')}")
    assert not world.collect().committed
    assert not world.has_twins()


def starts(proxy: Proxy) -> list[tuple[str, str]]:
    """Where listings over dates begin."""
    return [(one.prefix, one.query["start-after"]) for one in proxy.lists if "start-after" in one.query]


def test_late_objects_are_taken_in_the_overlap_and_by_a_window(
    bucket: TestBucket, tmp_path: Path, proxy: Proxy
) -> None:
    for back in range(25):
        bucket.put_rows(key(days_ago(back)), f"day {back:02}", day=days_ago(back))
    world = s3_world(tmp_path, proxy.url, bucket.name)
    assert world.collect().is_done
    assert len(world.rows()) == 25
    bucket.put_rows(key(days_ago(1), "late.jsonl"), "late 01", day=days_ago(1))
    bucket.put_rows(key(days_ago(20), "late.jsonl"), "late 20", day=days_ago(20))
    proxy.asked.clear()
    assert [one.unit for one in world.collect().committed] == [str(days_ago(1))]
    assert starts(proxy) == [("one/", "one/2024/03/06~")], "two days of overlap, and one for remembered folders"
    proxy.asked.clear()
    assert [one.unit for one in world.collect(str(days_ago(20)), str(days_ago(19))).committed] == [str(days_ago(20))]
    assert starts(proxy) == [("one/", "one/2024/02/18~")]
    assert [row for row in world.rows() if row.startswith("late")] == ["late 01", "late 20"]


def test_an_object_with_another_etag_replaces_its_old_rows(bucket: TestBucket, tmp_path: Path) -> None:
    bucket.put_rows(key(TODAY), "old 1", "old 2", day=TODAY)
    bucket.put_rows(key(TODAY, "b.jsonl"), "stays", day=TODAY)
    world = s3_world(tmp_path, bucket.url, bucket.name)
    world.collect()
    bucket.put_rows(key(TODAY), "new", day=TODAY)
    assert world.collect().is_done
    assert world.rows() == ["new", "stays"]


def test_names_are_only_ever_names(bucket: TestBucket) -> None:
    odd = ["a b", "p%20c%", "plus+x", "ünï", "n\nl", "tab\tx", "q?x=1&y#z", "*?[x]", "~(de)'!", "=;:@,", "\u202egpj"]
    for name in odd:
        bucket.put(f"logs/{name}.log", name)
    source = S3Bucket(bucket=bucket.name, prefix="logs", connection=owner(bucket.url))
    artifacts = list(source.artifacts(ALL))
    assert {one.path for one in artifacts} == {f"{name}.log" for name in odd}
    with source.opener(artifacts) as open_:
        assert all(open_(one).read().decode() + ".log" == one.path for one in artifacts)


def test_names_that_look_like_ways_out_are_only_names_too(moto: str) -> None:
    odd = ["../../x", "a//b", "/lead", "./x", "a/./b", "..", "a/../b", "a\\b"]
    connection = owner(moto)
    client = connection.client("s3")
    client.create_bucket(Bucket="odd")
    for name in odd:
        client.put_object(Bucket="odd", Key=name, Body=name.encode())
    source = S3Bucket(bucket="odd", connection=connection)
    found = {one.path: source.open(one).read().decode() for one in source.artifacts(ALL)}
    assert found == {name: name for name in odd}


def test_paths_are_folders_objects_and_globs(bucket: TestBucket) -> None:
    keys = ["AWSLogs/1/CloudTrail/a", "AWSLogs/1/Config/a", "AWSLogs/2/CloudTrail/b/c", "AWSLogs/2/CloudTrail/", "x"]
    for one in keys:
        bucket.put(one, "" if one.endswith("/") else "text")

    def found(*paths: str) -> list[str]:
        named = tuple(path.replace("B/", f"s3://{bucket.name}/") for path in paths)
        source = S3Bucket(paths=named, connection=owner(bucket.url))
        return sorted(one.uri.removeprefix(f"s3://{bucket.name}/") for one in source.artifacts(ALL))

    assert found("B/AWSLogs/*/CloudTrail/*") == ["AWSLogs/1/CloudTrail/a", "AWSLogs/2/CloudTrail/b/c"]
    assert found("B/AWSLogs/*/CloudTrail") == ["AWSLogs/1/CloudTrail/a", "AWSLogs/2/CloudTrail/b/c"]
    assert found("B/AWSLogs/**/a") == ["AWSLogs/1/CloudTrail/a", "AWSLogs/1/Config/a"]
    assert found("B/AWSLogs/1/Config") == found("B/AWSLogs/1/Config/") == ["AWSLogs/1/Config/a"]
    assert found("B/AWSLogs/1/Config/a", "B/AWSLogs/1/Config/*") == ["AWSLogs/1/Config/a"]
    assert found("B/x") == ["x"]
    assert found("B/") == sorted(set(keys) - {"AWSLogs/2/CloudTrail/"})


@pytest.mark.slow
def test_a_large_object_comes_in_ranges_of_one_version(bucket: TestBucket, proxy: Proxy) -> None:
    text = b"".join(b"%07d\n" % number for number in range(3 * RANGE_BYTES // 8 + 1000))
    etag = bucket.put("large.log", text)
    source = S3Bucket(bucket=bucket.name, connection=owner(proxy.url))
    [artifact] = source.artifacts(ALL)
    with source.opener([artifact]) as open_, open_(artifact) as stream:
        assert stream.read(8) == b"0000000\n"
        assert stream.read() == text[8:]
        stream.seek(2 * RANGE_BYTES)
        assert stream.read(8) == b"%07d\n" % (2 * RANGE_BYTES // 8)
    assert {one.headers["if-match"] for one in proxy.gets} == {f'"{etag}"'}
    assert {one.headers["range"] for one in proxy.gets} >= {"bytes=0-8388607", "bytes=8388608-16777215"}


def test_many_small_objects_are_fetched_ahead_but_not_all_at_once(bucket: TestBucket, proxy: Proxy) -> None:
    for number in range(100):
        bucket.put(f"{number:03}", str(number))
    source = S3Bucket(bucket=bucket.name, connection=owner(proxy.url))
    artifacts = sorted(source.artifacts(ALL), key=lambda one: one.uri)
    with source.opener(artifacts) as open_:
        assert open_(artifacts[0]).read() == b"0"
        assert len(proxy.gets) < 60
        assert [open_(one).read() for one in artifacts[1:]] == [b"%d" % number for number in range(1, 100)]
    assert len(proxy.gets) == 100


def test_an_object_without_bytes_has_none(bucket: TestBucket) -> None:
    bucket.put("empty.log", "")
    source = S3Bucket(bucket=bucket.name, connection=owner(bucket.url))
    assert [source.open(one).read() for one in source.artifacts(ALL)] == [b""]


def test_archived_objects_are_named_and_left_alone(bucket: TestBucket, tmp_path: Path) -> None:
    bucket.put_rows(key(TODAY), "here", day=TODAY)
    bucket.put(key(TODAY, "cold.jsonl"), "{}", StorageClass="GLACIER")
    bucket.put(key(days_ago(400), "cold.jsonl"), "{}", StorageClass="DEEP_ARCHIVE")
    world = s3_world(tmp_path, bucket.url, bucket.name)
    done = world.collect()
    assert done.is_done
    [unavailable] = done.unavailable_artifacts
    assert (unavailable.artifacts, unavailable.example) == (1, f"s3://{bucket.name}/{key(TODAY, 'cold.jsonl')}")
    assert "GLACIER" in unavailable.reason
    assert world.rows() == ["here"]


def test_whoever_asks_pays_if_told_so(bucket: TestBucket, proxy: Proxy) -> None:
    bucket.put("x", "text")
    source = S3Bucket(bucket=bucket.name, connection=owner(proxy.url), request_payer=True)
    assert [source.open(one).read() for one in source.artifacts(ALL)] == [b"text"]
    assert {one.headers.get("x-amz-request-payer") for one in proxy.asked} == {"requester"}


@pytest.mark.slow
def test_more_keys_than_a_page_holds_are_all_listed(bucket: TestBucket, proxy: Proxy) -> None:
    from concurrent.futures import ThreadPoolExecutor

    keys = [f"one/2024/03/{1 + number % 10:02}/{number:05}" for number in range(1100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: bucket.put(name, ""), keys))
    source = S3Bucket(bucket=bucket.name, connection=owner(proxy.url))
    assert len({one.uri for one in source.artifacts(ALL)}) == 1100
    assert len(proxy.lists) == 2
    proxy.asked.clear()
    dated = replace(source, file_layout=LAYOUT)
    assert sorted(one.path for one in dated.artifacts(ALL)) == sorted(keys)
    assert len(proxy.lists) == 1 + 2, "the accounts, and all days page by page"
    window = Window(datetime(2024, 3, 4, tzinfo=UTC), datetime(2024, 3, 6, tzinfo=UTC))
    assert len(list(dated.artifacts(window))) == 220


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name a bucket, or paths"),
        ({"bucket": "b", "paths": ("s3://b",)}, "name a bucket, or paths"),
        ({"paths": ("s3://bkt",), "prefix": "x"}, '"prefix" belongs to a bucket'),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        S3Bucket(**options)  # type: ignore[arg-type]


def test_a_bucket_of_gzipped_documents_and_a_prefix(bucket: TestBucket, tmp_path: Path) -> None:
    row = {"time": f"{TODAY}T10:00:00Z", "message": "by prefix"}
    bucket.put(f"some/where/{key(TODAY, 'x.gz')}", gzip.compress(json.dumps(row).encode()))
    bucket.put_rows(key(TODAY), "elsewhere", day=TODAY)
    world = s3_world(tmp_path, bucket.url, bucket.name)
    world = replace(world, text=world.text.replace("bucket ", 'prefix = "some/where"\n    bucket '))
    assert world.collect().is_done
    assert world.rows() == ["by prefix"]


def test_the_layout_of_the_table_prunes_too(bucket: TestBucket, proxy: Proxy) -> None:
    from tailpipe.collect.listing import list_source
    from tailpipe.model.coverage import DaySet
    from tailpipe.plugin import Table

    for back in range(5):
        bucket.put_rows(key(days_ago(back)), "x", day=days_ago(back))
    source = S3Bucket(name="s", bucket=bucket.name, connection=owner(proxy.url))
    table = Table(name="t", layouts={"aws_s3_bucket": LAYOUT})
    found = list_source(source, table, DaySet.of([days_ago(1)]), today=TODAY)
    assert [one.artifact.day for one in found.listed] == [days_ago(1)]
    assert starts(proxy) == [("one/", "one/2024/03/08~")]


def test_an_artifact_is_opened_without_being_listed_first(bucket: TestBucket) -> None:
    bucket.put("a", "text")
    source = S3Bucket(bucket=bucket.name, connection=owner(bucket.url))
    assert source.open(Artifact(f"s3://{bucket.name}/a", size=4)).read() == b"text"
