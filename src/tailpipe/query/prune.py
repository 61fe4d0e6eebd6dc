"""Prune: the files that a statement needs, found in its plan before any of them is opened.

DuckDB leaves out files by the values in their directories, but only after it has bound the whole list, and
it opens every file to learn the times in it. The catalog knows all that. So the statement is first planned over
empty tables of the same columns, which takes a millisecond; what the plan filters each table by is held
against what the catalog knows of each file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from tailpipe.catalog.snapshot import EPOCH, LiveFile
from tailpipe.model.ocsf import OCSF
from tailpipe.model.table import Table
from tailpipe.query.parameters import Params
from tailpipe.query.statements import called, explained
from tailpipe.query.views import CATALOG, KNOWN, View
from tailpipe.sql.duck import duckdb
from tailpipe.sql.quoting import literal, quoted

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "threads": "1",
    # What is in the tables must not matter, only what the statement says.
    "disabled_optimizers": "statistics_propagation,late_materialization,join_filter_pushdown,top_n",
}
_FAITHFUL = re.compile(
    "and|between|case|cast|coalesce|distinct|else|from|in|is|not|or|then|try_cast|when"  # words before a bracket
    "|abs|century|contains|date_diff|date_trunc|day|dayname|dayofweek|dayofyear|decade|epoch|greatest|ilike_escape"
    "|isodow|isoyear|last_day|least|left|len|length|like_escape|list_contains|lower|ltrim|month|monthname"
    "|not_ilike_escape|not_like_escape|prefix|quarter|regexp_full_match|regexp_matches|replace|right|rtrim|strftime"
    "|strip_accents|strlen|substring|suffix|time_bucket|trim|upper|week|weekday|year|yearweek"
)
"""What a plan calls by all that it is given. Of others it may leave out a separator, names of fields or a lambda, and
some answer otherwise each time; a condition with one of them leaves out no file."""
_MISLEADING = re.compile(r"""['"\n\0]|\W.*tp_|tp_.*\W""", re.DOTALL)
"""Names of columns that would not be told from what stands around them: a plan writes them without quotes."""
_TIME = r"'([^']+)'::TIMESTAMP(?: WITH TIME ZONE)?"
_COLUMN = r"(?:tp_timestamp|CAST\(tp_timestamp AS TIMESTAMP WITH TIME ZONE\))"
_COMPARED = re.compile(rf"\(*{_COLUMN} ?(=|>=|<=|>|<) ?{_TIME}\)*")
_AMONG = re.compile(rf"{_COLUMN} IN \((.*)\)")

Address = tuple[str, str]
Scans = dict[Address, list[list[str]]]
"""For each table the filters of each time that it is read."""


class Pruner:
    """Plans statements over empty tables with the columns of the views."""

    def __init__(self, inet: str = "") -> None:
        config = {**_CONFIG, "enable_external_access": "true"} if inet else _CONFIG
        self._connection = duckdb.connect(":memory:", config=config)
        if inet:
            self._connection.execute(inet)
            self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET TimeZone = 'UTC'")
        self._made: set[Address] = set()
        self._has_catalog = False

    def close(self) -> None:
        """Let go of the memory."""
        self._connection.close()

    def files(
        self, sql: str, views: Sequence[View], schema: str, values: Params | None = None
    ) -> Mapping[Address, tuple[LiveFile, ...]]:
        """The files of each view that the statement needs with these parameters; a view that is missing needs all."""
        scans = self._readable_scans(sql, views, schema, values)
        return {view.address: self._needed(view, scans[view.address]) for view in views if view.address in scans}

    def left(
        self,
        sql: str,
        views: Sequence[View],
        schema: str,
        files: Sequence[LiveFile],
        columns: Collection[str],
        values: Params | None = None,
    ) -> list[LiveFile]:
        """The files that the statement may need by conditions on these columns; one may represent others like it."""
        scans = self._readable_scans(sql, views, schema, values)
        if any(view.address not in scans for view in views):
            return list(files)
        kept: set[LiveFile] = set()
        for view in views:
            own = [file for file in files if file.table == view.name]
            kept.update(file for filters in scans[view.address] for file in self._left(own, filters, columns))
        return [file for file in files if file in kept]

    def read_tables(
        self, sql: str, views: Sequence[View], schema: str, tables: Sequence[str], values: Params | None = None
    ) -> list[str]:
        """Those of the tables that the statement reads, and does not only mention; all, if it cannot be planned."""
        scans = self._scans(sql, views, schema, values)
        read = None if scans is None else {name for _, name in scans}
        return [name for name in tables if read is None or name.lower() in read]

    def _readable_scans(self, sql: str, views: Sequence[View], schema: str, values: Params | None) -> Scans:
        """The filters on the views that the statement reads; none if it cannot be planned."""
        scans = self._scans(sql, views, schema, values) or {}
        fit = [view.address for view in views if not any(map(_MISLEADING.search, view.columns))]
        return {address: scans[address] for address in fit if address in scans}

    def prepare(self, views: Sequence[View], classes: Mapping[str, Iterable[Table]]) -> None:
        """Make the views of these classes of events over the empty tables of these views."""
        from tailpipe.query.ocsf import ocsf_views

        self._make(views)
        self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {OCSF}")
        for statement in ocsf_views(classes):
            self._connection.execute(statement)

    def _make(self, views: Sequence[View]) -> None:
        """Make an empty table for each view that has none yet."""
        for view in views:
            if view.address not in self._made:
                columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in view.columns.items())
                self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(view.schema)}")
                self._connection.execute(f"CREATE TABLE {view.full_name} ({columns})")
                self._made.add(view.address)

    def _scans(self, sql: str, views: Sequence[View], schema: str, values: Params | None) -> Scans | None:
        """The filters on the tables that the statement reads; None if it cannot be planned: running it says why."""
        run = self._connection.execute
        scans: Scans = {}
        try:
            self._make(views)
            if not self._has_catalog and CATALOG in sql.lower():
                from tailpipe.query.summary import outline_summary

                run(f"CREATE SCHEMA {CATALOG}")
                outline_summary(self._connection)
                self._has_catalog = True
            run(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
            run(f"SET search_path = '{schema}'")
            planned = f"EXPLAIN (FORMAT json) {explained(sql)}"
            ((_, plan),) = run(planned, dict(values) if values else None).fetchall()
            for table, filters in _scanned(json.loads(plan)):
                _, in_schema, name = (part.strip('"').lower() for part in table.split("."))  # a word of SQL has quotes
                scans.setdefault((in_schema, name), []).append(filters)
        except (duckdb.Error, ValueError, LookupError):
            return None
        return scans

    def _needed(self, view: View, scans: Sequence[Sequence[str]]) -> tuple[LiveFile, ...]:
        needed = {file for filters in scans for file in self._left(view.files, filters)}
        # One of each set of columns stays, so that columns and types are those of the whole view.
        first = {file.columns_id: file for file in reversed(view.files) if file.is_here}
        missing = first.keys() - {file.columns_id for file in needed}
        needed.update(first[number] for number in missing)
        return tuple(file for file in view.files if file in needed)

    def _left(
        self, files: Iterable[LiveFile], filters: Iterable[str], columns: Collection[str] = KNOWN
    ) -> list[LiveFile]:
        """The files that can hold a row which meets all filters."""
        left = list(files)
        for text in filters:
            condition = text.removeprefix("optional: ")
            if "tp_timestamp" in condition and "tp_timestamp" in columns:
                left = [file for file in left if _may_be_within(file, condition)]
            for column, kind in (("tp_date", "DATE"), ("tp_index", "VARCHAR"), ("tp_partition", "VARCHAR")):
                if column in condition and column in columns:
                    values = {_value(file, column) for file in left}
                    met = self._met(column, kind, values, condition)
                    left = left if met is None else [file for file in left if _value(file, column) in met]
        return left

    def _met(self, column: str, kind: str, values: set[Any], condition: str) -> set[Any] | None:
        """Those of the values that meet the condition, or None if it is about something else too."""
        if not all(map(_FAITHFUL.fullmatch, called(condition))):
            return None
        # As text, because DuckDB's Python imports pandas for a list of values.
        listed = ", ".join("NULL" if value is None else literal(str(value)) for value in values)
        query = f"SELECT {column} FROM (SELECT unnest([{listed}]::{kind}[]) AS {column}) WHERE {condition}"
        try:
            return {value for (value,) in self._connection.execute(query).fetchall()}
        except duckdb.Error:
            return None


def _scanned(nodes: list[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """Each table that a plan reads, with the filters on it."""
    for node in nodes:
        facts = node.get("extra_info", {})
        if "Table" in facts:
            filters = facts.get("Filters", [])
            yield facts["Table"], _rejoined([filters] if isinstance(filters, str) else filters)
        yield from _scanned(node.get("children", []))


def _rejoined(lines: Iterable[str]) -> list[str]:
    """The filters of a scan: each is a line, but one with a line break in a text is several."""
    filters, begun = [], ""
    for line in lines:
        begun += line
        if begun.count("'") % 2 == 0:
            filters.append(begun)
            begun = ""
        else:
            begun += "\n"
    return filters


def _value(file: LiveFile, column: str) -> str | date | None:
    if column == "tp_date":
        return file.tp_date
    return file.tp_index if column == "tp_index" else file.partition.partition(".")[2]


def _may_be_within(file: LiveFile, condition: str) -> bool:
    """Whether a time of the file can meet the condition; yes, if the condition is not about times alone."""
    low, high = file.min_timestamp, file.max_timestamp
    if low is None or high is None:
        return True
    if match := _AMONG.fullmatch(condition):
        moments = [_moment(text) for text in re.findall(_TIME, match[1])]
        return any(moment is None or low <= moment <= high for moment in moments)
    # Brackets may stand around parts of it; read without them, a condition only becomes wider.
    for alternative in condition.split(" OR "):
        parts = (part for part in alternative.split(" AND ") if part != "(tp_timestamp IS NOT NULL)")
        bounds = [_COMPARED.fullmatch(part) for part in parts]
        if None in bounds or all(_reaches(low, high, match[1], _moment(match[2])) for match in bounds if match):
            return True
    return False


def _reaches(low: datetime, high: datetime, operator: str, moment: datetime | None) -> bool:
    if moment is None:
        return True
    if operator == "=":
        return low <= moment <= high
    if operator in (">", ">="):
        return high > moment or (operator == ">=" and high == moment)
    return low < moment or (operator == "<=" and low == moment)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # infinity, or a year that Python does not know
        return None
    return moment.replace(tzinfo=EPOCH.tzinfo) if moment.tzinfo is None else moment
