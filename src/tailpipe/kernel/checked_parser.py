"""What a parser gives is checked before anything is made of it: each row must be that of a line that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tailpipe.kernel.format_faults import blamed_on, format_fault
from tailpipe.model.format import RESERVED_FIELDS, Format
from tailpipe.model.parsing import DocumentParser, LineParser, Lines, Parsed
from tailpipe.sql.connection import registered
from tailpipe.sql.duck import duckdb, first_line

_STEP = 1 << 40
"""More than any artifact has rows."""
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})

Places = np.ndarray[Any, Any]


class CheckedParser:
    """A parser whose faults are errors that name its format.

    Its rows are held against the lines: that takes a thousandth of the time of parsing, and without it two rows of
    one id could be committed.
    """

    def __init__(
        self, parser: LineParser | DocumentParser, format: Format, noun: str, connection: duckdb.DuckDBPyConnection
    ) -> None:
        self._parser = parser
        self._format = format
        self._noun = noun
        self._connection = connection
        self._known: tuple[object, ...] = ()
        """The last query whose columns were found right; the next batch mostly has the same."""

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of all the lines."""
        with blamed_on(self._format, f"to parse {self._noun}s"):
            parsed = self._parser.parse(runs)
        if not isinstance(parsed, Parsed):
            raise format_fault(self._format, f"gave a {type(parsed).__name__}, expected Parsed")
        with blamed_on(self._format, "to give its tables"), registered(self._connection, parsed.tables):
            self._check_columns(parsed)
            self._check_places(parsed, runs)
        return parsed

    def _check_columns(self, parsed: Parsed) -> None:
        query = (parsed.sql, *parsed.fields.items(), *parsed.misfits.items())
        if query == self._known:
            return
        given = {row[0]: row[1] for row in self._run(f"DESCRIBE {parsed.sql}").fetchall()}
        for name in (*RESERVED_FIELDS, *parsed.fields, *parsed.misfits.values()):
            if name not in given:
                raise format_fault(self._format, f'gave no column "{name}"')
        if reserved := [name for name in parsed.fields if name.lower() in RESERVED_FIELDS]:
            raise format_fault(self._format, f'has a field "{reserved[0]}", a name that is reserved')
        expected = {"_artifact": _INTEGERS, "_ordinal": _INTEGERS, "_bad": {"VARCHAR"}, "_raw": {"VARCHAR"}}
        for name, kinds in expected.items():
            if given[name] not in kinds:
                what = "text" if "VARCHAR" in kinds else "an integer"
                raise format_fault(self._format, f'gave {given[name]} for "{name}", expected {what}')
        for name, kind in parsed.fields.items():
            if given[name] != kind and given[name] != self._type(name, kind):
                raise format_fault(self._format, f'gave {given[name]} for the field "{name}", expected {kind}')
        self._known = query

    def _type(self, field: str, kind: str) -> str:
        try:
            return str(self._connection.execute(f"DESCRIBE SELECT NULL::{kind}").fetchall()[0][1])
        except duckdb.Error:
            raise format_fault(self._format, f'has a field "{field}" of an unknown type "{kind}"') from None

    def _check_places(self, parsed: Parsed, runs: Sequence[Lines]) -> None:
        table = self._run(f"SELECT _artifact, _ordinal FROM ({parsed.sql})").to_arrow_table()
        if table.num_rows != parsed.rows:
            raise format_fault(self._format, f"announced {parsed.rows:,} rows and gave {table.num_rows:,}")
        if any(column.null_count for column in table.columns):
            raise format_fault(self._format, f"gave a row without the number of its {self._noun}")
        artifacts, ordinals = (column.to_numpy().astype(np.int64) for column in table.columns)
        largest = max((run.artifact for run in runs), default=0)
        if ((artifacts < 0) | (artifacts > largest) | (ordinals < 0) | (ordinals >= _STEP)).any():
            raise format_fault(self._format, f"gave a row for a {self._noun} that it was not given")
        found = artifacts * _STEP + ordinals
        given = np.concatenate([np.empty(0, np.int64), *(run.ordinals + run.artifact * _STEP for run in runs)])
        if np.array_equal(found, given):
            return
        self._refuse(_ordered(found), _ordered(given))

    def _refuse(self, found: Places, given: Places) -> None:
        """Raise if a row is duplicated or is none of the given; both are in order."""
        twice = found[1:][np.diff(found) == 0]
        if len(twice):
            raise format_fault(self._format, f"gave two rows for {self._noun} {twice[0] % _STEP:,}")
        nearest = np.minimum(np.searchsorted(given, found), len(given) - 1)
        foreign = found[given[nearest] != found] if len(given) else found
        if len(foreign):
            raise format_fault(
                self._format, f"gave a row for {self._noun} {foreign[0] % _STEP:,}, which it was not given"
            )

    def _run(self, query: str) -> duckdb.DuckDBPyConnection:
        try:
            return self._connection.execute(query)
        except (duckdb.OutOfMemoryException, duckdb.IOException):
            raise
        except duckdb.Error as error:
            raise format_fault(self._format, f"gave a query that cannot be run: {first_line(error)}") from error


def _ordered(places: Places) -> Places:
    """The places in order, as they mostly are already."""
    return places if (places[1:] > places[:-1]).all() else np.sort(places)
