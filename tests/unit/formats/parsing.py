"""Lines through a parser in one line of a test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tailpipe.model.format import Format
from tailpipe.model.parsing import DocumentParser, LineParser, Lines, ParseContext, Parsed

Row = dict[str, Any]


def run_of(lines: Sequence[str], artifact: int = 0, first: int = 1, head: Sequence[str] = ()) -> Lines:
    """Lines of an artifact as the splitter gives them: blank ones left out, the others numbered."""
    kept = [(number, line) for number, line in enumerate(lines, first) if line]
    text = pa.array([line for _, line in kept], pa.string()).cast(pa.string_view())
    return Lines(text, np.array([number for number, _ in kept], np.int64), artifact, tuple(head))


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def rows_of(parsed: Parsed) -> list[Row]:
    connection = _connection()
    for name, table in parsed.tables.items():
        connection.register(name, table)
    found = connection.execute(parsed.sql)
    names = [column[0] for column in found.description or ()]
    rows = [dict(zip(names, values, strict=True)) for values in found.fetchall()]
    for name in parsed.tables:
        connection.unregister(name)
    assert names == ["_artifact", "_ordinal", "_bad", "_raw", *parsed.fields]
    assert len(rows) == parsed.rows
    return rows


def line_parser(format: Format, **context: Any) -> LineParser:
    """The parser of a format that is read line by line."""
    has_line_ends = bool(format.event_start or format.joining)
    parser = format.parser(ParseContext(has_line_ends=has_line_ends, **context))
    assert not isinstance(parser, DocumentParser)
    return parser


def parse(what: Format | LineParser, *runs: Lines | Sequence[str]) -> list[Row]:
    parser = line_parser(what) if isinstance(what, Format) else what
    given = [run if isinstance(run, Lines) else run_of(run, place) for place, run in enumerate(runs)]
    return rows_of(parser.parse(given))


def values(rows: Sequence[Row], *names: str) -> list[tuple[Any, ...]]:
    """The fields of the good rows; all of them if none is named."""
    return [
        tuple(value for name, value in row.items() if (name in names if names else not name.startswith("_")))
        for row in rows
        if row["_bad"] is None
    ]


def bad(rows: Sequence[Row]) -> list[tuple[int, str, str]]:
    return [(row["_ordinal"], row["_bad"], row["_raw"]) for row in rows if row["_bad"] is not None]
