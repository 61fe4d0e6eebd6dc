"""Organisations with hundreds of accounts: requests are counted, and remembered folders lose nothing."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from tailpipe.plugin import Window
from tailpipe.plugin.listing import ListingRun, within_listing_run
from tailpipe.plugins.buckets.bucket import Page
from tailpipe.plugins.buckets.listing import list_keys
from tailpipe.plugins.buckets.memory import Memory
from tailpipe.plugins.buckets.walk import Dates, Walk, segments
from tests.clouds.memory_bucket import MemoryBucket

TRAIL = (
    "AWSLogs/(%{DATA:org}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
    "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz"
)
SEGMENTS = segments(TRAIL)
TODAY = date(2026, 3, 10)
NOW = datetime.combine(TODAY, time(12), UTC)


def days(first: date, last: date) -> Window:
    return Window(datetime.combine(first, time(), UTC), datetime.combine(last + timedelta(days=1), time(), UTC))


def key(account: int, region: str, day: date, name: str = "a", kind: str = "CloudTrail") -> str:
    return f"AWSLogs/o-1/{account:012}/{kind}/{region}/{day:%Y/%m/%d}/{name}.json.gz"


def listed(bucket: MemoryBucket, window: Window, run: ListingRun) -> list[str]:
    bucket.asked.clear()
    with within_listing_run(run):
        return [one.name for one in list_keys(bucket, "", Walk(SEGMENTS, Dates(window), (), bucket.can_seek))]


@pytest.fixture(scope="module")
def organisation() -> MemoryBucket:
    """400 accounts in 4 regions, with 40 days of logs and the digests beside them."""
    regions = ("eu-central-1", "eu-west-1", "us-east-1", "us-west-2")
    every = [TODAY - timedelta(days=back) for back in range(40)]
    keys = [key(account, region, day) for account in range(400) for region in regions for day in every]
    keys += [key(account, "eu-west-1", day, kind="CloudTrail-Digest") for account in range(400) for day in every[:2]]
    return MemoryBucket(keys)


def test_a_first_run_over_a_month_of_400_accounts_takes_2002_requests(organisation: MemoryBucket) -> None:
    found = listed(organisation, days(TODAY - timedelta(days=30), TODAY), ListingRun(NOW))
    assert len(found) == len(set(found)) == 400 * 4 * 31
    assert len(organisation.asked) == 2 + 400 + 1600


def test_a_daily_run_over_400_accounts_takes_fewer(organisation: MemoryBucket, tmp_path: Path) -> None:
    window = days(TODAY - timedelta(days=3), TODAY)
    counts = []
    for back in (2, 1, 0):
        run = ListingRun(NOW - timedelta(days=back), tmp_path, goes_on=True)
        assert len(listed(organisation, window, run)) == 400 * 4 * 4
        counts.append(len(organisation.asked))
    assert counts[0] == 2 + 400 + 1600
    assert all(1700 < count < 1900 for count in counts[1:]), "every second folder is remembered"
    again = ListingRun(NOW + timedelta(hours=1), tmp_path, goes_on=True)
    assert len(listed(organisation, window, again)) == 400 * 4 * 4
    assert len(organisation.asked) == 2 + 1600


def test_a_run_for_named_days_remembers_nothing(tmp_path: Path) -> None:
    bucket = MemoryBucket([key(account, "eu", TODAY) for account in range(20)])
    window = days(TODAY, TODAY)
    listed(bucket, window, ListingRun(NOW, tmp_path, goes_on=True))
    bucket.keys = sorted([*bucket.keys, key(7, "us", TODAY)])
    assert len(listed(bucket, window, ListingRun(NOW, tmp_path))) == 21


@pytest.mark.parametrize("accounts", [1, 15])
def test_few_folders_are_always_listed(accounts: int, tmp_path: Path) -> None:
    bucket = MemoryBucket([key(account, "eu", TODAY) for account in range(accounts)])
    listed(bucket, days(TODAY, TODAY), ListingRun(NOW, tmp_path, goes_on=True))
    bucket.keys = sorted([*bucket.keys, key(0, "us", TODAY)])
    assert len(listed(bucket, days(TODAY, TODAY), ListingRun(NOW, tmp_path, goes_on=True))) == accounts + 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_whatever_comes_within_the_overlap_is_found_in_folders_new_or_old(seed: int, tmp_path: Path) -> None:
    """Objects come up to two days late, in accounts and regions that may be new; runs come now and then."""
    chance = random.Random(seed)
    bucket = MemoryBucket([key(account, "eu", TODAY) for account in range(24)])
    overlap, found, due = 2, set[str](), set[str]()
    now, frontier = NOW, TODAY
    listed(bucket, days(TODAY, TODAY), ListingRun(now, tmp_path))
    for step in range(40):
        for number in range(chance.randrange(4)):
            day = frontier - timedelta(days=chance.randrange(overlap + 1))
            region = chance.choice(["eu", "us", f"new-{chance.randrange(9)}"])
            due.add(key(chance.randrange(30), region, day, f"{step}-{number}"))
        bucket.keys = sorted({*bucket.keys, *due})
        now += timedelta(hours=chance.choice([1, 1, 5, 20, 24, 24, 50]))
        window = days(frontier - timedelta(days=overlap + 1), now.date())
        found |= set(listed(bucket, window, ListingRun(now, tmp_path, goes_on=True)))
        frontier = now.date()
    for _ in range(3):  # and nothing is later than the second day from then on
        now += timedelta(days=1)
        window = days(frontier - timedelta(days=overlap + 1), now.date())
        found |= set(listed(bucket, window, ListingRun(now, tmp_path, goes_on=True)))
        frontier = now.date()
    assert due <= found


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 1}', '{"version": 1, "is_whole": true, "folders": {"x": ["soon", ["a"]]}}']
)
def test_notes_that_are_damaged_are_ignored(text: str, tmp_path: Path) -> None:
    bucket = MemoryBucket([key(account, "eu", TODAY) for account in range(20)])
    run = ListingRun(NOW, tmp_path, goes_on=True)
    listed(bucket, days(TODAY, TODAY), run)
    [notes] = tmp_path.iterdir()
    notes.write_text(text)
    assert len(listed(bucket, days(TODAY, TODAY), run)) == 20
    assert len(bucket.asked) == 2 + 20 + 20


def test_notes_that_cannot_be_written_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    bucket = MemoryBucket([key(account, "eu", TODAY) for account in range(20)])
    assert len(listed(bucket, days(TODAY, TODAY), ListingRun(NOW, tmp_path / "file", goes_on=True))) == 20


class Stuck(MemoryBucket):
    """Answers some requests, and then no more."""

    def __init__(self, keys: list[str], answers: int) -> None:
        super().__init__(keys)
        self.answers = answers
        self.end = threading.Event()

    def page(self, prefix: str, *, is_deep: bool, after: str = "", token: str | None = None) -> Page:
        if len(self.asked) >= self.answers:
            self.end.wait(60)
        return super().page(prefix, is_deep=is_deep, after=after, token=token)


def test_an_interrupted_listing_ends_at_once_and_is_resumed(tmp_path: Path) -> None:
    bucket = Stuck([key(account, "eu", TODAY) for account in range(200)], 150)
    interrupted: list[Callable[[], None]] = []

    def interrupt(requests: int, folders: int) -> None:
        assert folders <= requests + 200
        if requests >= 150:
            raise KeyboardInterrupt

    run = ListingRun(NOW, tmp_path, progress=interrupt)
    begun = datetime.now(UTC)
    with pytest.raises(KeyboardInterrupt):
        listed(bucket, days(TODAY, TODAY), run)
    assert (datetime.now(UTC) - begun).total_seconds() < 20
    bucket.end.set()
    bucket.answers = 10_000
    assert not interrupted
    later = ListingRun(NOW + timedelta(minutes=5), tmp_path)
    assert len(listed(bucket, days(TODAY, TODAY), later)) == 200
    assert len(bucket.asked) < 2 + 200 + 200 - 20
    much_later = ListingRun(NOW + timedelta(minutes=30), tmp_path)
    assert len(listed(bucket, days(TODAY, TODAY), much_later)) == 200
    assert len(bucket.asked) == 2 + 200 + 200


def test_progress_counts_requests_and_folders(organisation: MemoryBucket) -> None:
    seen: list[tuple[int, int]] = []
    run = ListingRun(NOW, progress=lambda requests, folders: seen.append((requests, folders)))
    listed(organisation, days(TODAY, TODAY), run)
    assert seen
    assert seen == sorted(seen)
    assert seen[-1][0] <= 2002


def test_a_clock_that_was_ahead_is_no_reason_to_believe(tmp_path: Path) -> None:
    memory = Memory(ListingRun(NOW + timedelta(days=3), tmp_path, goes_on=True), "b")
    memory.keep("x/", ("a",))
    memory.save(is_whole=True)
    assert Memory(ListingRun(NOW, tmp_path, goes_on=True), "b").recall("x/") is None
    assert Memory(ListingRun(NOW + timedelta(days=3), tmp_path, goes_on=True), "b").recall("x/") == ("a",)
    assert Memory(ListingRun(NOW + timedelta(days=3), tmp_path, goes_on=True), "other").recall("x/") is None
