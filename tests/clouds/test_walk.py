"""The walk through a bucket: which prefixes are listed, and that no key of the window is missed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.formats.grok import compile_layout
from tailpipe.plugin import TailpipeError, Window
from tailpipe.plugins.buckets.bucket import Page
from tailpipe.plugins.buckets.listing import list_keys
from tailpipe.plugins.buckets.walk import Dates, Walk, below, glob_parts, segments
from tests.clouds.memory_bucket import MemoryBucket

TRAIL = (
    "AWSLogs/(%{DATA:org}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
    "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz"
)
HIVE = "%{DATA:table}/year=%{YEAR:year}/month=%{MONTHNUM:month}/day=%{MONTHDAY:day}/%{DATA}.parquet"
FLAT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{DATA}"
WINDOW = Window(datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))


def walked(
    keys: Iterable[str],
    layout: str | None,
    window: Window = WINDOW,
    glob: str = "**",
    *,
    can_seek: bool = False,
    page_size: int = 1000,
) -> tuple[MemoryBucket, list[str]]:
    """The bucket, and what was found in it."""
    bucket = MemoryBucket(keys, can_seek=can_seek, page_size=page_size)
    walk = Walk(segments(layout), Dates(window), glob_parts(glob), can_seek)
    return bucket, [key.name for key in list_keys(bucket, "", walk)]


def test_only_the_days_of_the_window_are_listed_at_both_ends() -> None:
    days = ["2025/12/31", "2026/01/30", "2026/01/31", "2026/02/01", "2026/02/02", "2027/01/01"]
    bucket, _ = walked((f"AWSLogs/{a}/CloudTrail/eu/{day}/f.json.gz" for a in (1, 2) for day in days), TRAIL)
    assert [prefix for prefix in bucket.prefixes if prefix.startswith("AWSLogs/1/CloudTrail/eu/20")] == [
        "AWSLogs/1/CloudTrail/eu/2026/",
        "AWSLogs/1/CloudTrail/eu/2026/01/",
        "AWSLogs/1/CloudTrail/eu/2026/01/31/",
        "AWSLogs/1/CloudTrail/eu/2026/02/",
        "AWSLogs/1/CloudTrail/eu/2026/02/01/",
    ]


def test_where_a_listing_can_seek_one_request_reads_all_days_of_a_folder() -> None:
    days = ["2025/12/31", "2026/01/30", "2026/01/31", "2026/02/01", "2026/02/02", "2027/01/01"]
    keys = [f"AWSLogs/{a}/CloudTrail/eu/{day}/f.json.gz" for a in (1, 2) for day in days]
    bucket, found = walked(keys, TRAIL, can_seek=True)
    assert [key.split("/")[4:7] for key in found if "/1/" in key] == [["2026", "01", "31"], ["2026", "02", "01"]]
    assert bucket.prefixes == [
        "AWSLogs/",
        "AWSLogs/1/",
        "AWSLogs/1/CloudTrail/",
        "AWSLogs/1/CloudTrail/eu/",
        "AWSLogs/2/",
        "AWSLogs/2/CloudTrail/",
        "AWSLogs/2/CloudTrail/eu/",
    ]


def test_a_month_is_one_listing_where_most_of_its_days_are_wanted() -> None:
    keys = [f"t/year=2026/month=0{m}/day={d:02}/f.parquet" for m in (1, 2) for d in range(1, 29)]
    window = Window(datetime(2026, 1, 25, tzinfo=UTC), datetime(2026, 2, 25, tzinfo=UTC))
    bucket, found = walked(keys, HIVE, window)
    assert len(found) == 4 + 24
    assert len([prefix for prefix in bucket.prefixes if "month=02" in prefix]) == 1
    assert len([prefix for prefix in bucket.prefixes if "month=01" in prefix]) == 1 + 4


@pytest.mark.parametrize("ignores_after", [False, True])
def test_a_long_listing_is_cut_at_its_days(ignores_after: bool) -> None:
    keys = [f"eu/2026/{m:02}/{d:02}/{n:03}" for m in (1, 2, 3, 4) for d in range(1, 29) for n in range(40)]
    window = Window(datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
    bucket = MemoryBucket(keys, page_size=100)
    bucket.ignores_after = ignores_after
    layout = "%{DATA}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}"
    found = [key.name for key in list_keys(bucket, "", Walk(segments(layout), Dates(window)))]
    assert sorted(found) == [key for key in keys if key[8:10] in ("02", "03")]
    assert ignores_after or len(bucket.asked) < 36, "23 pages hold them"


def test_a_month_by_its_name_is_found() -> None:
    _, found = walked(["2026/Feb/01/x"], "%{YEAR:year}/%{MONTH:month}/%{MONTHDAY:day}/%{DATA}", can_seek=True)
    assert found == ["2026/Feb/01/x"]


def test_pages_that_repeat_end_with_an_error() -> None:
    class Looping(MemoryBucket):
        def page(self, prefix: str, *, is_deep: bool, after: str = "", token: str | None = None) -> Page:
            page = super().page(prefix, is_deep=is_deep, after=after)
            return Page(page.keys, page.folders, {None: "a", "a": "b", "b": "a"}[token])

    for layout, can_seek in ((None, False), (FLAT, True), (FLAT, False)):
        bucket = Looping(["2026-01-31-x"], can_seek=can_seek)
        with pytest.raises(TailpipeError, match="the pages repeat"):
            list(list_keys(bucket, "", Walk(segments(layout), Dates(WINDOW), (), can_seek)))
        assert len(bucket.asked) <= 18


def test_a_part_that_may_be_missing_is_walked_both_ways() -> None:
    with_org = "AWSLogs/o-abc/123/CloudTrail/eu/2026/02/01/f.json.gz"
    without = "AWSLogs/123/CloudTrail/eu/2026/02/01/f.json.gz"
    noise = ["AWSLogs/123/Config/eu/2026/02/01/f.json.gz", "AWSLogs/o-abc/x/CloudTrail/eu/2026/02/01/f.json.gz"]
    bucket, found = walked([with_org, without, *noise], TRAIL)
    assert sorted(found) == sorted([with_org, without])
    assert not [prefix for prefix in bucket.prefixes if "Config" in prefix]


def test_folders_in_the_manner_of_hive_are_pruned() -> None:
    days = [f"year={y}/month={m}/day={d}" for y, m, d in [(2025, 1, 1), (2026, 2, 1), (2026, "02", "01"), (2026, 3, 1)]]
    _, found = walked((f"t/{day}/f.parquet" for day in days), HIVE)
    assert sorted(found) == ["t/year=2026/month=02/day=01/f.parquet", "t/year=2026/month=2/day=1/f.parquet"]


def test_dates_in_names_become_prefixes() -> None:
    bucket, found = walked(["2026-01-30-x", "2026-01-31-x", "2026-2-1-y", "2026-02-01-z", "2026-2-10-n", "other"], FLAT)
    assert sorted(found) == ["2026-01-31-x", "2026-02-01-z", "2026-2-1-y"]
    assert bucket.prefixes == ["2026-01-31-", "2026-02-01-", "2026-02-1-", "2026-1-31-", "2026-2-01-", "2026-2-1-"]


def test_two_digits_make_one_prefix_of_a_day() -> None:
    bucket, _ = walked([], "logs/%{YEAR:year}%{MONTHNUM2:month}(?<day>[0-9]{2})%{DATA}")
    assert bucket.prefixes == ["logs/20260131", "logs/20260201"]


def test_without_a_layout_everything_is_one_listing() -> None:
    assert walked(["a/b", "c"], None)[0].asked == [("", True)]


def test_a_greedy_part_reaches_over_slashes() -> None:
    bucket, _ = walked(["logs/a/b/2026/02/01/x", "logs/c/x"], "logs/%{GREEDYDATA}/%{YEAR:year}/%{DATA}")
    assert bucket.asked == [("logs/", True)]


def test_a_glob_is_walked_too() -> None:
    keys = ["1/CloudTrail/a", "1/Config/a", "2/CloudTrail/b/c", "2/x"]
    bucket, found = walked(keys, None, glob="*/CloudTrail/*")
    assert not [prefix for prefix in bucket.prefixes if "Config" in prefix]
    assert {"1/CloudTrail/a", "2/CloudTrail/b/c"} <= set(found)


def test_a_layout_may_tell_the_whole_key_below_a_folder() -> None:
    base = "AWSLogs/123/"
    bucket = MemoryBucket([f"{base}CloudTrail/eu/2026/02/0{day}/f.json.gz" for day in (1, 5)])
    found = list_keys(bucket, base, Walk(below(segments(TRAIL), base), Dates(WINDOW)))
    assert [key.name for key in found] == [f"{base}CloudTrail/eu/2026/02/01/f.json.gz"]


NAME = st.sampled_from(["a", "123", "o-1", "CloudTrail", "2026", "01", "1", "02", "31", "AWSLogs", "f.json.gz", "x y"])
DAY = st.tuples(st.sampled_from([2025, 2026]), st.integers(1, 12), st.integers(1, 31))


def paths(day: tuple[int, int, int]) -> list[str]:
    year, month, number = day
    return [
        f"AWSLogs/123/CloudTrail/eu/{year}/{month:02d}/{number:02d}/f.json.gz",
        f"AWSLogs/o-1/123/CloudTrail/us/{year}/{month}/{number}/deep/f.json.gz",
        f"t/year={year}/month={month:02d}/day={number}/f.parquet",
        f"{year}-{month:02d}-{number:02d}-x",
        f"{year}-{month}-{number}-x/y",
    ]


@pytest.mark.parametrize("layout", [TRAIL, HIVE, FLAT, f"(%{{DATA}}/)?{FLAT}", "%{DATA}"])
@settings(max_examples=30, deadline=None)
@given(
    days=st.lists(DAY, max_size=6),
    others=st.lists(st.lists(NAME, min_size=1, max_size=9).map("/".join), max_size=6),
    start=st.integers(0, 500),
    length=st.integers(1, 60),
    can_seek=st.booleans(),
    page_size=st.sampled_from([1, 2, 3, 1000]),
)
def test_no_key_of_the_window_is_missed_and_none_comes_twice(
    layout: str,
    days: list[tuple[int, int, int]],
    others: list[str],
    start: int,
    length: int,
    can_seek: bool,
    page_size: int,
) -> None:
    first = datetime(2025, 1, 1, tzinfo=UTC).toordinal() + start
    window = Window(*(datetime.fromordinal(first + more).replace(tzinfo=UTC) for more in (0, length)))
    keys = [key for day in days for key in paths(day)] + others
    _, found = walked(keys, layout, window, can_seek=can_seek, page_size=page_size)
    assert len(found) == len(set(found))
    wanted = compile_layout(layout)
    for key in set(keys) - set(found):
        match = wanted.fullmatch(key)
        assert match is None or not _is_in(match.groupdict(), window) or _reaches_over(match.groupdict())


def _is_in(groups: dict[str, str | None], window: Window) -> bool:
    try:
        day = datetime(*(int(groups[name] or "") for name in ("year", "month", "day")), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except KeyError:
        return True
    except ValueError:  # there is no such day
        return False
    return window.touches(day.date())


def _reaches_over(groups: dict[str, str | None]) -> bool:
    """A lazy part in the middle of a layout stands for one folder."""
    return any("/" in (value or "") for name, value in groups.items() if name in ("org", "region", "table"))
