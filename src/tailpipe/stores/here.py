"""What stays on this disk: the rule `here` of a store, over the table, partition, index and date of files.

A file has one value of each, so the rule is decided by the values that occur, and no file is opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from tailpipe.model.nearest import nearest
from tailpipe.model.store import FILE_COLUMNS, Here
from tailpipe.sql.check import SqlProblem, check_condition
from tailpipe.sql.connection import connect
from tailpipe.sql.quoting import literal
from tailpipe.sql.references import references

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

_TYPES = dict.fromkeys(FILE_COLUMNS[:3], "VARCHAR") | {"tp_date": "DATE"} | dict.fromkeys(FILE_COLUMNS[4:], "BIGINT")
_HINTS = {"tp_timestamp": "tp_date", "timestamp": "tp_date", "date": "tp_date"}


class Filed(Protocol):
    """What the rule needs to know of a file."""

    @property
    def partition(self) -> str:
        """Its `table.partition`."""
        ...

    @property
    def tp_index(self) -> str | None:
        """The one value of its index."""
        ...

    @property
    def tp_date(self) -> date:
        """The one date of its rows."""
        ...


F = TypeVar("F", bound=Filed)
_Facts = tuple[str, str | None, date]


def staying(here: Here | None, files: Iterable[F], *, now: datetime) -> list[F]:
    """The files that stay on this disk, in their order; all of them without a rule.

    Days in the rule count from `now`, in UTC, also those of `current_date` and the like.
    """
    oldest = here.oldest(now) if here else None
    left = [file for file in files if oldest is None or file.tp_date >= oldest]
    if here is None or here.where is None or not left:
        return left
    with connect() as connection:
        for statement in _clock(now):
            connection.execute(statement)
        connection.execute("SET enable_external_access = false")
        named = {name.lower() for name in references(connection, [here.where])}
        facts = list(map(_facts(named), left))
        met = _met(connection, here.where, list(dict.fromkeys(facts)))
    return [file for file, fact in zip(left, facts, strict=True) if fact in met]


def check_where(where: str) -> Iterator[SqlProblem]:
    """What is wrong with the condition of a rule: another column, no condition, or something DuckDB refuses."""
    for problem in check_condition("where", where, _TYPES):
        match = re.fullmatch(r'there is no column "(.*)"', problem.message, re.DOTALL)
        if match is None:
            yield problem
            continue
        near = _HINTS.get(match[1].lower()) or nearest(match[1], FILE_COLUMNS)
        hint = f'use "{near}"; ' if near else ""
        hint += f"a file has one value of {', '.join(FILE_COLUMNS)}"
        message = f'"{match[1]}" cannot be used here: it may have several values in a file'
        yield SqlProblem("where", message, hint, problem.position, problem.length)


def _facts(named: set[str]) -> Callable[[Filed], _Facts]:
    """The values of the named columns by which files differ."""
    has_partition = bool(named & {"tp_table", "tp_partition"})
    has_index, has_date = "tp_index" in named, bool(named & set(FILE_COLUMNS[3:]))
    return lambda file: (
        file.partition if has_partition else "",
        file.tp_index if has_index else None,
        file.tp_date if has_date else date.min,
    )


def _met(connection: duckdb.DuckDBPyConnection, where: str, facts: Sequence[_Facts]) -> set[_Facts]:
    """Those that meet the condition."""
    # One text, because DuckDB's parser takes long for many values, and DuckDB's Python imports pandas for a list.
    given = literal(json.dumps([_row(number, *fact) for number, fact in enumerate(facts)], ensure_ascii=False))
    kinds = literal(json.dumps([{"number": "BIGINT", **_TYPES}]))
    rows = f"(SELECT unnest(from_json({given}, {kinds}), recursive := true))"
    found = connection.execute(f"SELECT number FROM {rows} WHERE ({where}\n)").fetchall()  # noqa: S608 - it was checked
    return {facts[number] for (number,) in found}


def _row(number: int, partition: str, index: str | None, day: date) -> dict[str, str | int | None]:
    table, _, name = partition.partition(".")
    values = (table, name, index, day.isoformat(), day.year, day.month, day.day)
    return {"number": number, **dict(zip(FILE_COLUMNS, values, strict=True))}


def _clock(now: datetime) -> Iterator[str]:
    """Replace the clock functions of DuckDB by `now`, so that a rule has one answer for one moment."""
    moment = now.astimezone(UTC)
    yield "SET TimeZone = 'UTC'"
    for name in ("current_date", "today"):
        yield f"CREATE MACRO {name}() AS DATE '{moment.date().isoformat()}'"
    for name in ("now", "get_current_timestamp", "transaction_timestamp"):
        yield f"CREATE MACRO {name}() AS TIMESTAMPTZ '{moment.isoformat()}'"
    for name in ("localtimestamp", "current_localtimestamp"):
        yield f"CREATE MACRO {name}() AS TIMESTAMP '{moment.replace(tzinfo=None).isoformat()}'"
