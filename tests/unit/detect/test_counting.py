"""Thresholds against a reference in Python: ties, late rows, and rows that come in any portions."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from tailpipe.detect.counting import Episode, count_groups, spans
from tailpipe.detect.evaluate import key_sql
from tailpipe.detect.hit_table import Hit
from tailpipe.detect.past import Known, new_hits
from tailpipe.model.detection import Detection
from tailpipe.sql.connection import connect

START = datetime(2024, 1, 1)
Row = tuple[str, datetime, str, str]
"""Id, time, group, value."""


def rule(threshold: int, seconds: int, distinct: str | None = None) -> Detection:
    return Detection(
        name="d",
        table="t",
        where="true",
        group_by=("grp",),
        threshold=threshold,
        within=f"{seconds}s",
        distinct=distinct,
    )


def reference(one: Detection, rows: list[Row]) -> list[tuple[str, str]]:
    """The group and the first row of each episode, by looking at every row for every row."""
    found = []
    for group in sorted({row[2] for row in rows}):
        own = sorted((row for row in rows if row[2] == group), key=lambda row: (row[1], row[0]))
        last: datetime | None = None
        for row in own:
            near = [other for other in own if row[1] - one.window <= other[1] <= row[1]]
            number = len({other[3] for other in near}) if one.distinct else len(near)
            if number >= (one.threshold or 0):
                if last is None or row[1] - last > one.window:
                    found.append((group, row[0]))
                last = row[1]
    return sorted(found)


def counted(one: Detection, rows: list[Row], fresh: list[Row]) -> list[Episode]:
    with connect() as connection:
        connection.execute("CREATE TABLE rows (tp_id VARCHAR, tp_timestamp TIMESTAMP, grp VARCHAR, val VARCHAR)")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", [list(row) for row in rows])
        ids = ", ".join(f"'{row[0]}'" for row in fresh)
        return count_groups(
            connection, one, "rows", f"SELECT tp_id FROM rows WHERE tp_id IN ({ids})", key_sql(one.group_by)
        )


def made(seed: int, count: int) -> list[Row]:
    """Rows of three groups with many ties; gaps are now and then longer than the time that counts."""
    choose = random.Random(seed)
    at, rows = START, []
    for number in range(count):
        at += timedelta(seconds=choose.choice([0, 0, 1, 2, 5, 30]))
        rows.append((f"{choose.randrange(10**6):06d}-{number}", at, choose.choice("abc"), choose.choice("xyz")))
    return rows


def hits(one: Detection, episodes: list[Episode]) -> list[Hit]:
    return [
        Hit.of(one, [e.key, e.tp_id], "p", e.tp_id, e.at, first_at=e.first_at, last_at=e.last_at, key=e.key)
        for e in episodes
    ]


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.slow)])
@pytest.mark.parametrize("distinct", [None, "val"])
def test_episodes_are_those_of_the_reference_in_whatever_portions_rows_come(distinct: str | None, seeds: range) -> None:
    for seed in seeds:
        one, rows = rule(2 + seed % 2, 5 + seed, distinct), made(seed, 60)
        whole = counted(one, rows, rows)
        assert sorted((episode.key[2], episode.tp_id) for episode in whole) == reference(one, rows)
        found: list[Known] = []
        for start in range(0, 60, 15):
            fresh = rows[start : start + 15]
            candidates = counted(one, rows[: start + 15], fresh)
            found += [Known(hit.id, "d", hit.key, hit.at) for hit in new_hits(one, hits(one, candidates), found)]
        # Of rows of the same time the first to come begins the episode.
        assert {(hit.key, hit.at) for hit in hits(one, whole)} == {(one.key, one.at) for one in found}
        assert len(found) == len(whole)


def test_late_rows_raise_an_episode_but_none_twice() -> None:
    one = rule(2, 10)
    rows = [(f"{n}", START + timedelta(seconds=at), "a", "x") for n, at in enumerate([0, 5, 100, 130, 135])]
    stored: list[Known] = []
    for fresh, expected in (
        (rows, ["1", "4"]),
        ([("late", START + timedelta(seconds=104), "a", "x")], ["late"]),  # it makes the row at 100 an episode
        ([("early", START - timedelta(seconds=3), "a", "x")], []),  # the first episode begins earlier, and is known
        ([("tie", START + timedelta(seconds=135), "a", "x")], []),
    ):
        rows = [*rows, *(row for row in fresh if row not in rows)]
        new = new_hits(one, hits(one, counted(one, rows, fresh)), stored)
        assert [hit.tp_id for hit in new] == expected
        stored += [Known(hit.id, "d", hit.key, hit.at) for hit in new]


def test_times_around_moments_are_put_together_where_they_overlap() -> None:
    moments = [START, START + timedelta(seconds=10), START + timedelta(seconds=100)]
    around = timedelta(seconds=6)
    assert spans(moments, around) == [
        (START - around, moments[1] + around),
        (moments[2] - around, moments[2] + around),
    ]
    assert spans([datetime(1, 1, 1)], around)[0][0] == datetime(1, 1, 1)
