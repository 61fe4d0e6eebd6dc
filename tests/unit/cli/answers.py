"""Answers for tests: what an unlocked DuckDB says, in the form in which a session gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from tailpipe.cli.answer import Shape, Written, write_answer

EVERY_TYPE = r"""
SELECT 1::TINYINT AS a, -32767::SMALLINT AS b, 170141183460469231731687303715884105727::HUGEINT AS huge,
    340282366920938463463374607431768211455::UHUGEINT AS uhuge, 18446744073709551615::UBIGINT AS ubig,
    'nan'::DOUBLE AS nan, 'inf'::FLOAT AS inf, '-inf'::DOUBLE AS minus_inf, 0.1::FLOAT AS f, 1e20::DOUBLE AS d,
    1.50::DECIMAL(9,2) AS dec, 1.23456789012345678901234567890::DECIMAL(38,29) AS long_dec,
    '7b0a1b1e-0000-4000-8000-00000000000a'::UUID AS id, INTERVAL '1 year 2 days 3.5 seconds' AS span,
    TIMESTAMP '2024-01-31 10:00:00.5' AS ts, '2024-01-31 10:00:00.123456789'::TIMESTAMP_NS AS ns,
    '2024-01-31 10:00:00'::TIMESTAMP_S AS s, TIMESTAMPTZ '2024-01-31 10:00:00+02' AS tz, 'infinity'::TIMESTAMP AS ever,
    DATE '2024-01-31' AS day, '0044-03-15 (BC)'::DATE AS ides, TIME '10:00:00.5' AS t, TIMETZ '10:00:00+02' AS ttz,
    '\xAA\x00b"'::BLOB AS blob, '10101'::BIT AS bits, 'x'::ENUM('x', 'y') AS enum, true AS yes,
    {'a': 1, 'b': [NULL, 'q"q'], 'f': 'nan'::DOUBLE} AS struct, [1, 2, NULL] AS list, MAP {'k': 1.5} AS map,
    [{'j': '{"a": 1}'::JSON, 'u': uuid()}][1:0] AS nest, '{"x": [1, null, "NaN"]}'::JSON AS j, NULL AS nothing,
    [1, 2]::INTEGER[2] AS fixed, union_value(k := 1) AS either,
    '1234567890123456789012345678901234567890'::BIGNUM AS big,
    'é"' || chr(10) || ',;	#' || chr(13) || chr(0) || chr(27) || '[2J' AS text, '' AS empty, ' NaN, Infinity ' AS words
UNION ALL BY NAME SELECT NULL::TINYINT AS a UNION ALL BY NAME SELECT 2 AS a, 'NULL' AS text, 'null' AS empty
"""


@dataclass(frozen=True)
class Told:
    """A question to a DuckDB of its own, with nothing locked."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    connection: duckdb.DuckDBPyConnection

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        while rows := self.connection.fetchmany(100):
            yield from rows

    def batches(self, rows: int, /) -> Iterator[Any]:
        yield from self.connection.to_arrow_reader(rows)


def connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"arrow_lossless_conversion": "true"})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def ask(sql: str) -> Told:
    connection = connect()
    connection.execute(sql)
    described = connection.description or []
    return Told(tuple(column[0] for column in described), tuple(str(column[1]) for column in described), connection)


def written(sql: str, output: str = "pretty", **shape: Any) -> bytes:
    """What the answer to a question looks like."""
    return written_with(sql, output, **shape)[0]


def written_with(sql: str, output: str = "pretty", **shape: Any) -> tuple[bytes, Written]:
    """The same, and what is told of it."""
    parts: list[bytes] = []
    told = write_answer(ask(sql), Shape(output, **shape), parts.append)
    return b"".join(parts), told
