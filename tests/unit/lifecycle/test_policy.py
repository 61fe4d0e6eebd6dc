"""Which files are to be put together, and which days have expired: as tables."""

from __future__ import annotations

from datetime import date

import pytest

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.lifecycle.policy import (
    FULL_BYTES,
    LARGE_BYTES,
    PART_BYTES,
    SMALL_BYTES,
    FileGroup,
    Wanted,
    expired_days,
    groups_to_compact,
    is_right,
    worth_merging,
)
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet

DAY = date(2024, 3, 10)
MB = 1024 * 1024


def file(
    name: str = "a",
    megabytes: int = 1,
    low: int = 0,
    high: int = 10,
    *,
    unit: str = "2024-03-10",
    day: date = DAY,
    index: str | None = "default",
) -> LiveFile:
    return LiveFile(name, "app.x", unit, index, day, 5, megabytes * MB, low, high, 1)


RIGHT = {
    "one small file": [file()],
    "one that is far too large": [file(megabytes=900)],
    "two good ones, one after the other": [file("a", 190, 0, 10), file("b", 190, 10, 20)],
    "a good one and a small rest": [file("a", 190, 0, 10), file("b", 2, 10, 20)],
    "two good ones whose names tell another order": [file("b", 190, 0, 10), file("a", 190, 10, 20)],
    "one at the moment in which the other begins": [file("b", 190, 5, 5), file("a", 190, 5, 20)],
    "one at the moment in which the other ends": [file("b", 190, 0, 10), file("a", 190, 10, 10)],
    "all rows at the same time": [file("a", 190, 5, 5), file("b", 190, 5, 5), file("c", 3, 5, 5)],
}
WRONG = {
    "two small ones": [file("a", 1, 0, 10), file("b", 1, 10, 20)],
    "two good ones of the same hours": [file("a", 190, 0, 10), file("b", 190, 5, 20)],
    "one inside the other": [file("a", 190, 0, 20), file("b", 190, 5, 6)],
    "small neighbours among good ones": [file("a", 190, 0, 10), file("b", 60, 10, 20), file("c", 60, 20, 30)],
    "as much as two may have together": [file("a", 64, 0, 10), file("b", 64, 10, 20)],
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_left_alone(name: str) -> None:
    assert is_right(RIGHT[name])
    assert is_right(RIGHT[name][::-1])
    assert groups_to_compact(RIGHT[name], Wanted()) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_right_is_put_together(name: str) -> None:
    assert groups_to_compact(WRONG[name], Wanted()) == [FileGroup("2024-03-10", DAY, tuple(WRONG[name]))]


def test_units_dates_and_indexes_are_never_merged() -> None:
    apart = [
        file("a"),
        file("b", unit="2024-03-11"),
        file("c", unit="pack:x"),
        file("d", day=date(2024, 3, 9)),
        file("e", index="other"),
        file("f", index=None),
    ]
    assert groups_to_compact(apart, Wanted()) == []
    twins = [one._replace(path=one.path + "2") for one in apart]
    groups = groups_to_compact([*apart, *twins], Wanted())
    assert sorted(tuple(one.path for one in group.files) for group in groups) == [(x, x + "2") for x in "abcdef"]
    assert all(not group.is_moved for group in groups)


def test_a_misplaced_file_takes_its_whole_date_and_unit_with_it() -> None:
    files = [file("a", index="x"), file("b", index="y"), file("c", index="y", unit="2024-03-11")]
    (group,) = groups_to_compact(files, Wanted(), misplaced={"a"})
    assert (group.is_moved, [one.path for one in group.files]) == (True, ["a", "b"])


def test_what_comes_after_a_misplaced_file_is_put_together_too() -> None:
    files = [file("a"), file("b", unit="2024-03-11"), file("c", unit="2024-03-11")]
    groups = groups_to_compact(files, Wanted(), misplaced={"a"})
    assert [[one.path for one in group.files] for group in groups] == [["a"], ["b", "c"]]


def test_the_groups_of_a_unit_stand_together_however_its_files_are_listed() -> None:
    """They are listed by index before all else, and a unit is committed in one step."""
    files = [file(f"{index}{unit}{n}", unit=unit, index=index) for index in "xy" for unit in "uv" for n in (1, 2)]
    files += [file(f"z{unit}{n}", unit=unit, day=date(2024, 3, 1)) for unit in "uv" for n in (1, 2)]
    assert [group.unit for group in groups_to_compact(files, Wanted())] == ["u"] * 3 + ["v"] * 3


def test_only_what_is_wanted_is_looked_at() -> None:
    files = [file(f"{unit}{n}", unit=unit, day=day) for n in (1, 2) for unit in "uv" for day in (DAY, date(2024, 3, 1))]
    chosen = groups_to_compact(files, Wanted(DaySet.of([DAY]), units={"u"}))
    assert [(group.unit, group.tp_date) for group in chosen] == [("u", DAY)]
    assert len(groups_to_compact(files, Wanted())) == 4


def sized(*rows: int) -> list[LiveFile]:
    return [file(f"{n:02d}")._replace(rows=count, size=count * 100) for n, count in enumerate(rows)]


FULL_ROWS = FULL_BYTES // 100 + 1
PAYS = {
    "nothing": ([], []),
    "one file": ([5], []),
    "two equal ones": ([5, 5], []),
    "three equal ones": ([5, 5, 5], []),
    "four equal ones": ([5, 5, 5, 5], [5, 5, 5, 5]),
    "hundreds of tiny ones": ([1] * 500, [1] * 500),
    "tiny ones beside a large one": ([900, 1, 1, 1, 1], [1, 1, 1, 1]),
    "those of one size beside a few others": ([16, 16, 4, 4, 4, 4], [4, 4, 4, 4]),
    "several sizes in one go": ([16, 16, 16, 4, 4, 4, 1, 1, 1, 1], [16, 16, 16, 4, 4, 4, 1, 1, 1, 1]),
    "a large one and three that together are half of it": ([12, 2, 2, 2], []),
    "eight of which each is half of the one before": ([128, 64, 32, 16, 8, 4, 2, 1], []),
    "one more, so that the best of them are merged": (
        [2**n for n in range(8, -1, -1)],
        [2**n for n in range(8, -1, -1)],
    ),
    "one more, and the two smallest grow most": ([3**n for n in range(8, 0, -1)] + [3], [3, 3]),
    "full ones": ([FULL_ROWS] * 20, []),
    "full ones and three others": ([FULL_ROWS] * 20 + [7, 7, 7], []),
    "full ones and four others": ([FULL_ROWS] * 20 + [7, 7, 7, 7], [7, 7, 7, 7]),
}


@pytest.mark.parametrize("name", PAYS)
def test_after_a_collection_only_what_pays_is_merged(name: str) -> None:
    rows, merged = PAYS[name]
    groups = groups_to_compact(sized(*rows), Wanted(is_full_pass=False))
    assert [[one.rows for one in group.files] for group in groups] == ([merged] if merged else [])


def test_how_old_a_day_is_does_not_matter() -> None:
    for day in (DAY, date(1999, 1, 1), date(2077, 1, 1)):
        files = [one._replace(tp_date=day) for one in sized(1, 1, 1, 1)]
        assert len(groups_to_compact(files, Wanted(is_full_pass=False))) == 1
        assert groups_to_compact(files[1:], Wanted(is_full_pass=False)) == []
        assert len(groups_to_compact(files[1:], Wanted())) == 1  # a full pass merges them


def test_a_file_without_rows_is_merged_like_the_smallest() -> None:
    assert len(worth_merging(sized(1, 1, 1, 0))) == 4


def test_a_group_becomes_one_file_as_long_as_that_is_not_too_large() -> None:
    assert FileGroup("u", DAY, (file(megabytes=128), file(megabytes=128))).part_bytes is None
    assert FileGroup("u", DAY, (file(megabytes=128), file(megabytes=129))).part_bytes == PART_BYTES
    # What comes of it is right, so that nothing is written over and over again.
    assert FULL_BYTES < SMALL_BYTES < PART_BYTES < LARGE_BYTES


def june(*days: int) -> DaySet:
    return DaySet.of(date(2024, 6, day) for day in days)


@pytest.mark.parametrize(
    ("coverage", "first_date", "expired"),
    [
        (Coverage(covered=june(1, 2, 3, 10)), 1, june(1, 2, 3, 4)),
        (Coverage(covered=june(10)), 3, june(3, 4)),  # rows that were older than their file
        (Coverage(missing=june(4), covered=june(10)), None, june(4)),
        (Coverage(dropped=june(1, 2), covered=june(5)), 5, NO_DAYS),  # it went before
        (Coverage(covered=june(5, 6)), 5, NO_DAYS),
        (Coverage(), None, NO_DAYS),
    ],
)
def test_days_before_the_oldest_that_is_kept_have_expired(
    coverage: Coverage, first_date: int | None, expired: DaySet
) -> None:
    first = date(2024, 6, first_date) if first_date else None
    assert expired_days(date(2024, 6, 5), {"file": coverage}, first) == expired
