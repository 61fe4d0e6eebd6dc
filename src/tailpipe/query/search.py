"""Searching all tables: where a text, an address or a user is found, and the newest rows that have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean
from tailpipe.query.needle import Needle
from tailpipe.query.session import Session
from tailpipe.query.views import View
from tailpipe.sql.quoting import moment, quoted

_ROOM = 2_000
"""How much is read of a value; what is shown of it is cut again."""


@frozen
class FoundRow:
    """A row that was found, with the first column that matches, and the text in it."""

    tp_timestamp: datetime
    table: str
    partition: str
    column: str
    text: str
    tp_id: str


@frozen
class Found:
    """What one table has of it: in how many rows, of which time, and in which columns; or why that is not known."""

    table: str
    rows: int = 0
    first: datetime | None = None
    last: datetime | None = None
    columns: Mapping[str, int] | None = None
    sql: str = ""
    """A query that gives all of the rows."""
    newest: tuple[FoundRow, ...] = ()
    failure: TailpipeError | None = None


def searched_views(session: Session, tables: Sequence[str] = ()) -> list[View]:
    """The tables with data, or those of them that the patterns name."""
    views = [view for view in session.views if view.schema == session.schema]
    for pattern in tables:
        if not any(fnmatchcase(view.name, pattern) for view in views):
            hint = did_you_mean(pattern, [view.name for view in views], "see: tailpipe table list")
            raise UsageError(f"table not found: {pattern}", hint=hint)
    chosen = [view for view in views if not tables or any(fnmatchcase(view.name, pattern) for pattern in tables)]
    filled = {one.table for one in session.contents(session.schema) if one.rows}
    return [view for view in chosen if view.name in filled]


def search(
    session: Session, views: Iterable[View], needle: Needle, *, newest: int, in_common: bool = False
) -> Iterator[Found]:
    """What each table has, one after the other. A table that cannot be read fails alone."""
    for view in views:
        try:
            yield _searched(session, view, needle, newest, in_common)
        except TailpipeError as failure:
            yield Found(view.name, failure=failure)


def _searched(session: Session, view: View, needle: Needle, newest: int, in_common: bool) -> Found:
    conditions = needle.conditions(view.columns, in_common=in_common)
    if not conditions:
        return Found(view.name)
    tests = ", ".join(f"{test} AS c{n}" for n, test in enumerate(conditions.values()))
    either = " OR ".join(f"c{n}" for n in range(len(conditions)))
    counts = ", ".join(f"count(*) FILTER (c{n})" for n in range(len(conditions)))
    times = f"min(tp_timestamp), max(tp_timestamp), list_min(max(tp_timestamp, {max(newest, 1)}))"
    tested = f"SELECT tp_timestamp, {tests} FROM {view.full_name}"
    summary = f"SELECT count(*), {times}, {counts} FROM ({tested}) WHERE {either}"
    ((rows, first, last, since, *each),) = session.run(summary).rows
    if not rows:
        return Found(view.name)
    columns = {name: count for name, count in zip(conditions, each, strict=True) if count}
    where = " OR ".join(conditions[name] for name in columns)
    return Found(
        view.name,
        rows,
        first.replace(tzinfo=UTC),
        last.replace(tzinfo=UTC),
        columns,
        f"FROM {quoted(view.name) if session.schema == view.schema else view.full_name} WHERE {where}",
        tuple(_newest(session, view, needle, {name: conditions[name] for name in columns}, since, newest)),
    )


def _newest(
    session: Session, view: View, needle: Needle, conditions: Mapping[str, str], since: datetime, limit: int
) -> Iterator[FoundRow]:
    """The newest rows; `since` is the time of the last of them, so that older files are not opened again."""
    if not limit:
        return
    names = " ".join(f"WHEN {test} THEN {number}" for number, test in enumerate(conditions.values()))
    texts = " ".join(
        f"WHEN {n} THEN {needle.around(name, view.columns[name], _ROOM)}" for n, name in enumerate(conditions)
    )
    sql = (
        f"SELECT tp_timestamp, tp_partition, place, CASE place {texts} END, tp_id"
        f" FROM (SELECT *, CASE {names} END AS place FROM {view.full_name}"
        f" WHERE tp_timestamp >= {moment(since.replace(tzinfo=UTC))})"
        f" WHERE place IS NOT NULL ORDER BY tp_timestamp DESC, tp_id LIMIT {limit}"
    )
    columns = list(conditions)
    for time, partition, place, text, tp_id in session.run(sql).rows:
        yield FoundRow(time.replace(tzinfo=UTC), view.name, partition, columns[place], text or "", tp_id)
