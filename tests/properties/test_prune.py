"""Whatever a statement asks: over the files that it needs it gives the same answer as over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from tailpipe.catalog.layout import data_path
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import TailpipeError
from tailpipe.query.session import Session
from tests.examples import examples

FIRST = date(2024, 2, 25)
DAYS = 10
INDEXES = ("", "i1", "it's")
PARTITIONS = ("dev", "prod")
COLUMNS = {
    "n": "BIGINT",
    "tp_date": "DATE",
    "tp_index": "VARCHAR",
    "tp_partition": "VARCHAR",
    "tp_timestamp": "TIMESTAMP",
}


@dataclass(frozen=True)
class World:
    """The same rows twice: in sixty files behind a session that prunes, and in one table of DuckDB."""

    session: Session
    whole: duckdb.DuckDBPyConnection

    def answers(self, sql: str) -> tuple[list[tuple[object, ...]] | None, list[tuple[object, ...]] | None]:
        """What the two say; None if they refuse."""
        try:
            expected = sorted(self.whole.execute(sql).fetchall(), key=repr)
        except duckdb.Error:
            expected = None
        try:
            return sorted(self.session.run(sql).rows, key=repr), expected
        except TailpipeError:
            return None, expected


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("prune")
    files: list[LiveFile] = []
    with duckdb.connect() as whole:
        whole.execute("SET TimeZone = 'UTC'")
        for number in range(DAYS):
            for index in INDEXES:
                files += [_write(whole, root, FIRST + timedelta(days=number), index, name) for name in PARTITIONS]
        columns = {1: COLUMNS, 2: {**COLUMNS, "more": "VARCHAR"}}
        with Session(Snapshot(root, tuple(files), columns, 1), {}) as session:
            (view,) = session.views
            whole.execute("CREATE SCHEMA tailpipe")
            whole.execute(view.sql)
            whole.execute("CREATE TABLE web_log AS FROM tailpipe.web_log")
            yield World(session, whole)


def _write(connection: duckdb.DuckDBPyConnection, root: Path, day: date, index: str, partition: str) -> LiveFile:
    """Three rows, spread over the day or, in every third file, all at one moment."""
    hours = 0 if (day.day + len(index)) % 3 == 0 else 7
    more = ", 'm' AS more" if day.day % 4 == 0 else ""
    path = data_path(f"web_log.{partition}", index or None, day, "00000001-0badcafe-0000")
    (root / path).parent.mkdir(parents=True)
    stored = index.replace("'", "''")
    connection.execute(
        f"COPY (SELECT i AS n, DATE '{day}' AS tp_date, nullif('{stored}', '') AS tp_index,"
        f" '{partition}' AS tp_partition, TIMESTAMP '{day}' + INTERVAL (i * {hours}) HOUR AS tp_timestamp{more}"
        f" FROM range(3) t(i)) TO '{str(root / path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
    )
    low = int(datetime.combine(day, time(), UTC).timestamp()) * 1_000_000
    high = low + 2 * hours * 3_600_000_000
    first, last = (None, None) if day.day == 5 else (low, high)  # the catalog need not know them
    return LiveFile(path, f"web_log.{partition}", str(day), index or None, day, 3, 500, first, last, 2 if more else 1)


def one_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


days = st.integers(-1, DAYS).map(lambda number: str(FIRST + timedelta(days=number)))
moments = st.builds("{} {}".format, days, one_of("00:00:00", "07:00:00", "14:00:00", "06:59:59.999999", "23:30:00"))
operators = one_of("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")
indexes = one_of("'i1'", "'it''s'", "'I1'", "''", "NULL")
partitions = one_of("'dev'", "'prod'", "'nobody'")


def about(prefix: str) -> st.SearchStrategy[str]:
    """Conditions on the columns of which the catalog knows something, alone and together with others."""
    day, moment, index, partition, n = (
        f"{prefix}{name}" for name in ("tp_date", "tp_timestamp", "tp_index", "tp_partition", "n")
    )
    either = one_of("", "NOT ")
    return st.one_of(
        st.builds((day + " {} DATE '{}'").format, operators, days),
        st.builds((day + " {}BETWEEN '{}' AND '{}'").format, either, days, days),
        st.builds((day + " {}IN ('{}', '{}')").format, either, days, days),
        st.builds("{}({}) {} {}".format, one_of("year", "month", "day", "dayofweek"), st.just(day), operators,
                  one_of("2", "3", "28", "2024")),
        st.builds("strftime({}, '%m-%d') {} '{:02}-01'".format, st.just(day), operators, st.integers(2, 3)),
        st.builds("{} + INTERVAL 1 DAY {} TIMESTAMP '{}'".format, st.just(day), operators, moments),
        st.builds((moment + " {} '{}'").format, operators, moments),
        st.builds((moment + " {} '{}'").format, operators, moments),
        st.builds((moment + " {} '{}'").format, operators, moments),
        st.builds((moment + " {} TIMESTAMPTZ '{}+02'").format, operators, moments),
        st.builds((moment + " {}BETWEEN '{}' AND '{}'").format, either, moments, moments),
        st.builds((moment + " {}IN ('{}', '{}')").format, either, moments, moments),
        st.builds((moment + "::DATE {} '{}'").format, operators, days),
        st.builds("date_trunc('day', {}) {} '{}'".format, st.just(moment), operators, days),
        st.builds("hour({}) {} {}".format, st.just(moment), operators, one_of("0", "7", "14")),
        st.builds("{} - INTERVAL 8 HOUR {} {}::TIMESTAMP".format, st.just(moment), operators, st.just(day)),
        st.builds((index + " {} {}").format, operators, indexes),
        st.builds((index + " {}IN ({}, {})").format, either, indexes, indexes),
        st.builds("coalesce({}, 'none') {}LIKE {}".format, st.just(index), either, one_of("'i%'", "'none'", "'%''%'")),
        st.builds((index + " IS {}NULL").format, either),
        st.builds((partition + " {} {}").format, operators, partitions),
        st.builds((partition + " {}IN ({}, {})").format, either, partitions, partitions),
        st.builds("length({} || coalesce({}, '')) {} {}".format, st.just(partition), st.just(index), operators,
                  st.integers(3, 8)),
        st.builds("(CASE WHEN {} = 'dev' THEN {} ELSE DATE '{}' END) > '{}'".format,
                  st.just(partition), st.just(day), days, days),
        st.builds((n + " {} {}").format, operators, st.integers(0, 3)),
        st.builds("{} {} {} % 5".format, st.just(n), operators, st.just(f"day({day})")),
        one_of("true", "false", "NULL", f"{moment} IS NOT NULL", f"{moment} IS NULL", f"{day} = {moment}::DATE"),
    )  # fmt: skip


def together(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, one_of("AND", "AND", "OR"), inner),
            st.builds("(NOT {})".format, inner),
        ),
        max_leaves=5,
    )


plain = together(about(""))
with_subqueries = together(
    st.one_of(
        about(""),
        st.builds("tp_date {}IN (SELECT tp_date FROM web_log WHERE {})".format, one_of("", "NOT "), plain),
        st.builds("tp_timestamp {} (SELECT max(tp_timestamp) FROM web_log WHERE {})".format, operators, plain),
        st.builds("EXISTS (FROM web_log b WHERE b.tp_date = web_log.tp_date AND {})".format, together(about("b."))),
    )
)
left, right = together(about("a.")), together(about("b."))
SUMS = "count(*), sum({0}n), min({0}tp_timestamp), max({0}tp_date), count({0}tp_index)"
statements = st.one_of(
    st.builds(f"SELECT {SUMS.format('')} FROM web_log WHERE {{}}".format, with_subqueries),
    st.builds("FROM web_log WHERE {}".format, plain),
    st.builds("SELECT tp_index, tp_date, count(*) FROM web_log WHERE {} GROUP BY ALL HAVING {}".format, plain,
              together(one_of("count(*) > 3", "tp_date > '2024-03-01'", "tp_index = 'i1'"))),
    st.builds("SELECT count(*) FILTER (WHERE {}), count(*) FROM web_log WHERE {}".format, plain, plain),
    st.builds("WITH x AS (FROM web_log WHERE {}) SELECT count(*), sum(n) FROM x WHERE {}".format, plain, plain),
    st.builds(f"SELECT {SUMS.format('a.')}, {SUMS.format('b.')} FROM web_log a {{}} JOIN web_log b"
              " ON a.tp_date = b.tp_date AND a.n = b.n AND {} WHERE {}".format,
              one_of("", "LEFT", "RIGHT", "FULL"), st.one_of(left, right), st.one_of(left, right)),
    st.builds("SELECT count(*), sum(n) FROM web_log a {} JOIN web_log b ON a.tp_timestamp = b.tp_timestamp AND {}"
              " WHERE {}".format, one_of("SEMI", "ANTI"), st.one_of(left, right), left)
    .map(lambda sql: sql.replace("sum(n)", "sum(a.n)")),
    st.builds("SELECT tp_date, n FROM web_log WHERE {} {} SELECT tp_date, n FROM web_log WHERE {}".format,
              plain, one_of("UNION ALL", "EXCEPT", "INTERSECT"), plain),
    st.builds("SELECT tp_date, k FROM (SELECT *, count(*) OVER (PARTITION BY {}) AS k FROM web_log) WHERE {}".format,
              one_of("tp_index", "tp_date", "tp_partition"), plain),
    st.builds("FROM web_log WHERE {} ORDER BY tp_timestamp, tp_index, tp_partition, n LIMIT {}".format, plain,
              st.integers(0, 5)),
    st.builds("SELECT (SELECT count(*) FROM web_log WHERE {}), (SELECT min(tp_date) FROM web_log WHERE {})".format,
              plain, plain),
)  # fmt: skip


@settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
@given(sql=statements)
@example(sql="SELECT count(*) FROM web_log WHERE tp_timestamp <= '2024-02-27 00:00:00'")
@example(sql="SELECT count(*) FROM web_log WHERE tp_timestamp >= '2024-02-27 14:00:00'")
@example(sql="SELECT count(*) FROM web_log WHERE tp_timestamp BETWEEN '2024-02-27 14:00' AND '2024-02-28'")
def test_leaving_out_files_changes_no_answer(world: World, sql: str) -> None:
    answer, expected = world.answers(sql)
    assert answer == expected
    event("refused" if answer is None else "empty" if answer in ([], [(0,)]) else "rows")
