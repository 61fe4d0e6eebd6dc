"""What stays on this disk: the rule `here` of a store, over the table, partition, index and date of files.

A file has one value of each, so the rule is decided by the values that occur, and no file is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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

__all__ = ["Filed", "check_where", "staying"]

_TYPES = dict.fromkeys(FILE_COLUMNS[:3], "VARCHAR") | {"tp_date": "DATE"} | dict.fromkeys(FILE_COLUMNS[4:], "BIGINT")
_HINTS = {"tp_timestamp": "tp_date", "timestamp": "tp_date", "date": "tp_date"}
_AT_ONCE = 5_000
"""Values in one statement: a longer one takes DuckDB's parser more than its share of time."""


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
_Value = tuple[str | None, ...]


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
        used = [name for name in _TYPES if name in named]
        values = [_values(file, used) for file in left]
        met = _met(connection, here.where, used, list(dict.fromkeys(values)))
    return [file for file, value in zip(left, values, strict=True) if value in met]


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


def _values(file: Filed, used: Sequence[str]) -> _Value:
    table, _, name = file.partition.partition(".")
    day = file.tp_date
    known: dict[str, str | None] = {
        "tp_table": table,
        "tp_partition": name,
        "tp_index": file.tp_index,
        "tp_date": day.isoformat(),
        "tp_year": str(day.year),
        "tp_month": str(day.month),
        "tp_day": str(day.day),
    }
    return tuple(known[column] for column in used)


def _met(
    connection: duckdb.DuckDBPyConnection, where: str, used: Sequence[str], values: Sequence[_Value]
) -> set[_Value]:
    """Those of the values that meet the condition."""
    met: set[_Value] = set()
    names = ", ".join(["number", *used])
    typed = ", ".join(["number", *(f"{name}::{_TYPES[name]} AS {name}" for name in used)])
    for start in range(0, len(values), _AT_ONCE):
        part = values[start : start + _AT_ONCE]
        # As text, because DuckDB's Python imports pandas for a list of values.
        rows = ", ".join(f"({', '.join([str(number), *map(_literal, value)])})" for number, value in enumerate(part))
        given = f"(SELECT {typed} FROM (VALUES {rows}) AS v({names}))"  # noqa: S608 - all of it is quoted
        found = connection.execute(f"SELECT number FROM {given} WHERE ({where}\n)").fetchall()  # noqa: S608
        met.update(part[number] for (number,) in found)
    return met


def _literal(value: str | None) -> str:
    return "NULL" if value is None else literal(value)


def _clock(now: datetime) -> Iterator[str]:
    """Let what asks DuckDB for the time get `now`, so that a rule has one answer for one moment."""
    moment = now.astimezone(UTC)
    yield "SET TimeZone = 'UTC'"
    for name in ("current_date", "today"):
        yield f"CREATE MACRO {name}() AS DATE '{moment.date().isoformat()}'"
    for name in ("now", "get_current_timestamp", "transaction_timestamp"):
        yield f"CREATE MACRO {name}() AS TIMESTAMPTZ '{moment.isoformat()}'"
    for name in ("localtimestamp", "current_localtimestamp"):
        yield f"CREATE MACRO {name}() AS TIMESTAMP '{moment.replace(tzinfo=None).isoformat()}'"
