"""Thresholds and steps: where enough rows of a group are close together, and where such an episode begins.

A row fires if its group has enough rows (or distinct values, or a row for each step) in the time before it, itself
included. It begins an episode if no row of its group fires in that time before it. Both depend on rows near it alone,
so it does not matter in which portions the rows came, and a replay finds the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.model.detection import Detection

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb


@frozen
class Episode:
    """The firing rows of a group that follow each other closely: the first of them, and from when to when they are."""

    key: str
    tp_id: str
    at: datetime
    first_at: datetime
    last_at: datetime
    count: int


def reach(detection: Detection) -> timedelta:
    """How far from a new row others matter: those it is counted with, and those that these are counted with."""
    return 2 * detection.window


def spans(times: Sequence[datetime], around: timedelta) -> list[tuple[datetime, datetime]]:
    """The times around moments, given in order, put together where they overlap."""
    found: list[tuple[datetime, datetime]] = []
    for moment in times:
        low, high = _moved(moment, -around), _moved(moment, around)
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return datetime.min if by < timedelta(0) else datetime.max  # noqa: DTZ901 - as in the files, without a zone


def count_groups(
    connection: duckdb.DuckDBPyConnection, one: Detection, relation: str, fresh: str, key: str
) -> list[Episode]:
    """The episodes of a detection in a relation, in the order of time, that a fresh row is part of.

    `fresh` selects the `tp_id` of rows that are new, `key` is the SQL of a group's values.
    """
    values = [f"({text}\n)" for text in one.steps] or [f"({one.distinct}\n)" if one.distinct else "1"]
    named = ", ".join(f"{text} AS tp__v{number}" for number, text in enumerate(values))
    matched = (
        f"SELECT tp_id, tp_timestamp AS tp__at, {key} AS tp__key, {named},"
        f" tp_id IN ({fresh}) AS is_new FROM {relation} WHERE ({one.condition}\n)"
    )
    span = f"INTERVAL '{one.window // timedelta(microseconds=1)} microseconds'"
    near = f"(PARTITION BY tp__key ORDER BY tp__at RANGE BETWEEN {span} PRECEDING AND CURRENT ROW)"
    counted = _in_order(len(values), near, span) if one.steps and one.ordered else _counted(one, near)
    rows = connection.execute(
        f"WITH matched AS ({matched}), {counted}"
        " SELECT tp__key, tp_id, tp__at, since, number, is_fresh FROM counted"
        f" WHERE number >= {one.threshold or len(values)} ORDER BY tp__key, tp__at, tp_id"
    ).fetchall()
    return sorted(_folded(rows, one.window), key=lambda episode: (episode.at, episode.tp_id))


def _counted(one: Detection, near: str) -> str:
    """How many rows, distinct values or steps are near each row, and since when."""
    number = "count(DISTINCT tp__v0) OVER near" if one.distinct else "count(*) OVER near"
    since = "min(tp__at) OVER near"
    if one.steps:  # the last time of each step
        last = [f"max(CASE WHEN tp__v{step} THEN tp__at END) OVER near" for step in range(len(one.steps))]
        number = " + ".join(f"({text} IS NOT NULL)::INTEGER" for text in last)
        since = f"least({', '.join(last)})"
    return (
        f"counted AS (SELECT *, {number} AS number, {since} AS since, bool_or(is_new) OVER near AS is_fresh"
        f" FROM matched WINDOW near AS {near})"
    )


def _in_order(steps: int, near: str, span: str) -> str:
    """Whether the rows up to each row meet all steps in their order, and since when.

    For each row and step that it meets: the latest time at which steps up to this one can have begun. Rows of the same
    time are in any order, and a row can be several steps.
    """
    levels = ["level_0 AS (SELECT *, CASE WHEN tp__v0 THEN tp__at END AS since FROM matched)"]
    for step in range(1, steps):
        begun = f"CASE WHEN tp__v{step} THEN max(since) OVER near END"
        levels.append(
            f"level_{step} AS (SELECT * REPLACE ({begun} AS since) FROM level_{step - 1} WINDOW near AS {near})"
        )
    number = f"CASE WHEN since >= tp__at - {span} THEN {steps} ELSE 0 END"
    return (
        f"{', '.join(levels)}, counted AS (SELECT *, {number} AS number, bool_or(is_new) OVER near AS is_fresh"
        f" FROM level_{steps - 1} WINDOW near AS {near})"
    )


def _folded(rows: Sequence[tuple[str, str, datetime, datetime, int, bool]], window: timedelta) -> list[Episode]:
    """Firing rows, by group and time, as episodes; those that no fresh row began are left out."""
    found: list[Episode] = []
    start: tuple[str, str, datetime, datetime, int, bool] | None = None
    last, most = datetime.min, 0  # noqa: DTZ901 - as in the files, without a zone

    def end() -> None:
        if start is not None and start[5]:
            found.append(Episode(start[0], start[1], start[2], start[3], last, most))

    for row in rows:
        if start is None or row[0] != start[0] or row[2] - last > window:
            end()
            start, most = row, 0
        last, most = row[2], max(most, row[4])
    end()
    return found
