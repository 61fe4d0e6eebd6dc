"""The walk through a bucket: which prefixes are asked for, and that no key of the window is missed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.formats.grok import compile_layout
from tailpipe.plugin import Window
from tailpipe.plugins.aws.s3_walk import Dates, Walk, below, glob_parts, segments

TRAIL = (
    "AWSLogs/(%{DATA:org}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
    "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz"
)
HIVE = "%{DATA:table}/year=%{YEAR:year}/month=%{MONTHNUM:month}/day=%{MONTHDAY:day}/%{DATA}.parquet"
FLAT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{DATA}"
WINDOW = Window(datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))


class Bucket:
    """Keys in memory, listed as S3 lists them; it remembers what was asked for."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = sorted(set(keys))
        self.asked: list[tuple[str, bool]] = []

    def walk(self, walk: Walk, base: str = "") -> list[str]:
        found: list[str] = []
        waiting = list(walk.requests(walk.begin()))
        while waiting:
            request = waiting.pop()
            self.asked.append((base + request.prefix, request.is_deep))
            folders: set[str] = set()
            for key in self.keys:
                if not key.startswith(base + request.prefix):
                    continue
                rest = key[len(base + request.prefix) :]
                if request.is_deep or "/" not in rest:
                    found.append(key)
                else:
                    folders.add(key[: len(key) - len(rest)] + rest.partition("/")[0])
            for folder in folders:
                spot = walk.enter(request.spot, folder[len(base + request.spot.path) :])
                waiting += list(walk.requests(spot)) if spot.alive else []
        return found

    @property
    def prefixes(self) -> list[str]:
        return sorted(prefix for prefix, _ in self.asked)


def walked(keys: Iterable[str], layout: str | None, window: Window = WINDOW, glob: str = "**") -> Bucket:
    bucket = Bucket(keys)
    bucket.keys_found = bucket.walk(Walk(segments(layout), Dates(window), glob_parts(glob)))  # type: ignore[attr-defined]
    return bucket


def test_only_the_days_of_the_window_are_asked_for_at_both_ends() -> None:
    days = ["2025/12/31", "2026/01/30", "2026/01/31", "2026/02/01", "2026/02/02", "2027/01/01"]
    bucket = walked((f"AWSLogs/{a}/CloudTrail/eu/{day}/f.json.gz" for a in (1, 2) for day in days), TRAIL)
    assert [prefix for prefix in bucket.prefixes if prefix.startswith("AWSLogs/1/CloudTrail/eu/20")] == [
        "AWSLogs/1/CloudTrail/eu/2026/",
        "AWSLogs/1/CloudTrail/eu/2026/01/",
        "AWSLogs/1/CloudTrail/eu/2026/01/31/",
        "AWSLogs/1/CloudTrail/eu/2026/02/",
        "AWSLogs/1/CloudTrail/eu/2026/02/01/",
    ]


def test_a_part_that_may_be_missing_is_walked_both_ways() -> None:
    with_org = "AWSLogs/o-abc/123/CloudTrail/eu/2026/02/01/f.json.gz"
    without = "AWSLogs/123/CloudTrail/eu/2026/02/01/f.json.gz"
    noise = ["AWSLogs/123/Config/eu/2026/02/01/f.json.gz", "AWSLogs/o-abc/x/CloudTrail/eu/2026/02/01/f.json.gz"]
    bucket = walked([with_org, without, *noise], TRAIL)
    assert sorted(bucket.keys_found) == sorted([with_org, without])  # type: ignore[attr-defined]
    assert not [prefix for prefix in bucket.prefixes if "Config" in prefix]


def test_folders_in_the_manner_of_hive_are_pruned() -> None:
    days = [f"year={y}/month={m}/day={d}" for y, m, d in [(2025, 1, 1), (2026, 2, 1), (2026, "02", "01"), (2026, 3, 1)]]
    bucket = walked((f"t/{day}/f.parquet" for day in days), HIVE)
    found = bucket.keys_found  # type: ignore[attr-defined]
    assert sorted(found) == ["t/year=2026/month=02/day=01/f.parquet", "t/year=2026/month=2/day=1/f.parquet"]


def test_dates_in_names_become_prefixes() -> None:
    bucket = walked(["2026-01-30-x", "2026-01-31-x", "2026-2-1-y", "2026-02-01-z", "2026-2-10-n", "other"], FLAT)
    assert sorted(bucket.keys_found) == ["2026-01-31-x", "2026-02-01-z", "2026-2-1-y"]  # type: ignore[attr-defined]
    assert bucket.prefixes == ["2026-01-31-", "2026-02-01-", "2026-02-1-", "2026-1-31-", "2026-2-01-", "2026-2-1-"]


def test_two_digits_make_one_prefix_of_a_day() -> None:
    bucket = walked([], "logs/%{YEAR:year}%{MONTHNUM2:month}(?<day>[0-9]{2})%{DATA}")
    assert bucket.prefixes == ["logs/20260131", "logs/20260201"]


def test_without_a_layout_everything_is_one_listing() -> None:
    assert walked(["a/b", "c"], None).asked == [("", True)]


def test_a_greedy_part_reaches_over_slashes() -> None:
    bucket = walked(["logs/a/b/2026/02/01/x", "logs/c/x"], "logs/%{GREEDYDATA}/%{YEAR:year}/%{DATA}")
    assert bucket.asked == [("logs/", True)]


def test_a_glob_is_walked_too() -> None:
    keys = ["1/CloudTrail/a", "1/Config/a", "2/CloudTrail/b/c", "2/x"]
    bucket = walked(keys, None, glob="*/CloudTrail/*")
    assert not [prefix for prefix in bucket.prefixes if "Config" in prefix]
    assert {"1/CloudTrail/a", "2/CloudTrail/b/c"} <= set(bucket.keys_found)  # type: ignore[attr-defined]


def test_a_layout_may_tell_the_whole_key_below_a_folder() -> None:
    base = "AWSLogs/123/"
    bucket = Bucket([f"{base}CloudTrail/eu/2026/02/0{day}/f.json.gz" for day in (1, 5)])
    found = bucket.walk(Walk(below(segments(TRAIL), base), Dates(WINDOW)), base)
    assert found == [f"{base}CloudTrail/eu/2026/02/01/f.json.gz"]


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
)
def test_no_key_of_the_window_is_missed_and_none_comes_twice(
    layout: str, days: list[tuple[int, int, int]], others: list[str], start: int, length: int
) -> None:
    first = datetime(2025, 1, 1, tzinfo=UTC).toordinal() + start
    window = Window(*(datetime.fromordinal(first + more).replace(tzinfo=UTC) for more in (0, length)))
    keys = [key for day in days for key in paths(day)] + others
    bucket = walked(keys, layout, window)
    found: list[str] = bucket.keys_found  # type: ignore[attr-defined]
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
