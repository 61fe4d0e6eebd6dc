"""What a shell, a client and a command line build on: statements, streams, shapes, refreshing, narrowing."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.snapshot import EPOCH, Snapshot
from tailpipe.errors import QueryError, TailpipeError, UsageError
from tailpipe.model.partition import Schema
from tailpipe.model.table import Column, Table
from tailpipe.model.window import Window
from tailpipe.query.materialized import refresh
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.request import Query
from tailpipe.query.session import Session
from tailpipe.query.shapes import ColumnShape, Content
from tailpipe.query.statements import find_statements
from tailpipe.sql.inet import load_statement

from .support import TIME, Files

TABLE = Table(
    name="app_log",
    columns=[Column("level", "varchar"), Column("n", "bigint"), Column("user", "struct(id uuid, tags json[])")],
)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path / "internal")
    files.add(f"SELECT 'info' AS level, i AS n, '10.0.0.1' AS tp_source_ip, {TIME} FROM range(3000) t(i)")
    return files


@pytest.fixture
def session(files: Files) -> Iterator[Session]:
    with Session(files.snapshot(), {"app_log": TABLE}) as session:
        yield session


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1", ("SELECT 1",)),
        ("SELECT 1; SELECT 2;", ("SELECT 1", "SELECT 2")),
        ("SELECT ';' ; SELECT \"a;b\"", ("SELECT ';'", 'SELECT "a;b"')),
        ("SELECT $$;$$; SELECT $x$;$x$", ("SELECT $$;$$", "SELECT $x$;$x$")),
        ("SELECT e'\\';' ; FROM b", ("SELECT e'\\';'", "FROM b")),
        ("SELECT 1 -- ; no\n; /* ; */ FROM b", ("SELECT 1 -- ; no", "/* ; */ FROM b")),
        ("SELECT 'é;ü'; SELECT 2", ("SELECT 'é;ü'", "SELECT 2")),
        ("SELEC 1; FROM b", ("SELEC 1", "FROM b")),
        ("PIVOT a ON b; FROM c", ("PIVOT a ON b", "FROM c")),
        ("SELECT 'never closed; FROM b", ("SELECT 'never closed; FROM b",)),
        ("'never closed; FROM b", ("'never closed; FROM b",)),
        ("FROM a; 'never closed; FROM b", ("FROM a", "'never closed; FROM b")),
        ("FROM a; /* never closed; FROM b", ("FROM a", "/* never closed; FROM b")),
        ("FROM a; /* one /* in */ another; */ -- end", ("FROM a",)),
        (" ;; \n", ()),
        ("-- nothing", ()),
        ("/* nothing; */", ()),
        ("", ()),
    ],
)
def test_a_text_is_split_where_duckdb_would(text: str, statements: tuple[str, ...]) -> None:
    assert tuple(sql for _, sql in find_statements(text)) == statements


def test_statements_are_found_where_they_stand() -> None:
    text = "SELECT 'é;';\n\n  SELECT 2 -- ü;\n;;  ;SELECT 'ö'\n, 3;\tFROM x"
    found = find_statements(text)
    assert [sql for _, sql in found] == ["SELECT 'é;'", "SELECT 2 -- ü;", "SELECT 'ö'\n, 3", "FROM x"]
    assert [text[start : start + len(sql)] for start, sql in found] == [sql for _, sql in found]


def test_rows_come_as_batches_of_arrow(session: Session) -> None:
    answer = session.run("SELECT n, level FROM app_log ORDER BY n")
    batches = list(answer.batches(1024))
    assert sum(batch.num_rows for batch in batches) == 3000
    assert batches[0].column(0)[:2].to_pylist() == [0, 1]
    assert answer.types == ("BIGINT", "VARCHAR")


def test_a_mistake_in_a_value_shows_while_batches_are_fetched(session: Session) -> None:
    sql = "SELECT (CASE WHEN n = 2999 THEN 'x' ELSE '1' END)::INTEGER FROM app_log"
    with pytest.raises(TailpipeError, match="could not convert"):
        list(session.run(sql).batches())


def test_a_long_answer_needs_no_memory(session: Session) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    batches = session.run("SELECT range AS n, repeat('x', 100) AS s FROM range(3_000_000)").batches()
    assert sum(batch.num_rows for batch in batches) == 3_000_000  # 300 MB
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 150_000


def test_another_thread_can_end_a_statement(session: Session) -> None:
    has_ended = threading.Event()

    def interrupt() -> None:
        while not has_ended.wait(0.1):  # again, because there is nothing to end before the statement has begun
            session.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(
                session.run("FROM range(100000000000) a, range(100) b SELECT count(*) WHERE a.range % 7 = b.range").rows
            )
    finally:
        has_ended.set()
        thread.join()
    assert list(session.run("SELECT 1").rows) == [(1,)]


def test_a_session_tells_its_tables_and_the_fields_in_them(files: Files) -> None:
    with Session(files.snapshot(), {"app_log": TABLE}, schemas=[Schema(name="mine")]) as session:
        whole, mine = session.tables()
    assert (whole.schema, mine.schema, whole.name) == ("tailpipe", "mine", "app_log")
    user = next(column for column in whole.columns if column.name == "user")
    assert user.fields == (ColumnShape("id", "UUID"), ColumnShape("tags", "JSON[]"))


def test_tables_are_told_by_schema_and_name(files: Files) -> None:
    tables = {name: Table(name=name) for name in ("zebra", "ant", "bee", "cow", "dog", "eel")}
    with Session(
        files.snapshot(), tables, schemas=[Schema(name="b", tables=["ant", "z*"]), Schema(name="a")]
    ) as session:
        names = sorted([*tables, "app_log"])
        told = [("tailpipe", name) for name in names] + [("b", "ant"), ("b", "zebra")] + [("a", name) for name in names]
        assert [(one.schema, one.name) for one in session.tables()] == told


@pytest.mark.parametrize("is_copied", [False, True])
def test_what_is_in_a_table_is_told_as_a_query_would_count_it(tmp_path: Path, is_copied: bool) -> None:
    files = Files(tmp_path / "internal")
    for hour in (10, 11, 12):
        moment = datetime(2024, 1, 31, hour, tzinfo=UTC)
        files.add(f"SELECT {hour} AS n, TIMESTAMP '2024-01-31 {hour}:00' AS tp_timestamp")
        known = (moment - EPOCH) // timedelta(microseconds=1)
        files.files[-1] = files.files[-1]._replace(min_microseconds=known, max_microseconds=known, size=100)
    schemas = [
        Schema(name="select", where="n > 10", materialized=is_copied),
        Schema(name="none", where="n > 99"),
        Schema(name="early", to="2024-01-31T11:30"),
    ]
    now = datetime.now(UTC)
    assert refresh(files.snapshot(), {}, schemas, now=now) == is_copied
    with Session(files.snapshot(), {"new_log": Table(name="new_log")}, schemas=schemas) as session:
        told = {name: session.contents(name) for name in ("tailpipe", "select", "none", "early")}
    ten, eleven, twelve = (datetime(2024, 1, 31, hour, tzinfo=UTC) for hour in (10, 11, 12))
    assert told["tailpipe"] == (
        Content("app_log", 3, 300, ten, twelve, False),
        Content("new_log", 0, 0, None, None, False),
    )
    (chosen, _), (none, _), (early, _) = told["select"], told["none"], told["early"]
    assert (chosen.rows, chosen.first, chosen.last, chosen.is_copy) == (2, eleven, twelve, is_copied)
    assert (none.rows, none.first, none.last) == (0, None, None)
    assert early == Content("app_log", 2, 200, ten, eleven, False)


def test_rows_are_told_only_where_no_condition_may_cut_them(files: Files) -> None:
    other = Table(name="other", columns=[Column("level", "varchar")])
    some = Schema(name="some", tables=("app_log",), where="n < 3")
    with Session(files.snapshot(), {"app_log": TABLE, "other": other}, schemas=[some]) as session:
        assert {(one.schema, one.name): one.rows for one in session.tables()} == {
            ("tailpipe", "app_log"): 3000,
            ("tailpipe", "other"): 0,
            ("some", "app_log"): None,
        }
    with Session(
        files.snapshot(),
        {"app_log": TABLE},
        Query(Narrowing(Window.between(datetime(1999, 1, 1, tzinfo=UTC), None))),
    ) as part:
        assert [one.rows for one in part.tables()] == [None]  # the catalog does not know the times of this file


def test_a_session_tells_functions_and_keywords(session: Session) -> None:
    assert {"count", "strftime", "read_parquet"} <= set(session.functions())
    assert not {"enable_logging", "query", "arrow_scan"} & set(session.functions())
    assert "select" in session.keywords()


def test_asking_for_names_does_not_end_an_answer(session: Session) -> None:
    answer = session.run("SELECT n FROM app_log")
    next(answer.rows)
    session.functions()
    assert sum(1 for _ in answer.rows) == 2999


def test_what_was_committed_since_is_there_after_a_refresh(files: Files) -> None:
    def newer(sequence: int) -> Snapshot | None:
        return files.snapshot() if files.snapshot().sequence != sequence else None

    with Session(files.snapshot(), {"app_log": TABLE}, newer=newer) as session:
        count = "SELECT count(*) FROM app_log"
        assert list(session.run(count).rows) == [(3000,)]
        assert not session.refresh()
        files.add(f"SELECT 'late' AS level, 1::BIGINT AS n, {TIME}")
        files.add(f"SELECT 1 AS a, {TIME}", partition="other_log.x")
        assert list(session.run(count).rows) == [(3000,)]
        assert session.refresh()
        assert list(session.run(count).rows) == [(3001,)]
        assert list(session.run("SHOW TABLES").rows) == [("app_log",), ("other_log",)]


def test_tables_that_no_statement_named_are_listed_too(files: Files) -> None:
    files.add(f"SELECT 1 AS a, {TIME}", partition="other_log.x")
    with Session(files.snapshot(), {"never_log": Table(name="never_log")}) as session:
        assert len(list(session.run("SHOW TABLES").rows)) == 3
        listed = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tailpipe' ORDER BY ALL"
        assert list(session.run(listed).rows) == [("app_log",), ("never_log",), ("other_log",)]
        assert list(session.run("SELECT count(*) FROM other_log").rows) == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "tp_source_ip::INET <<= '10.0.0.0/8'::INET",
        "tp_source_ip::inet <<= '10.0.0.0/8'",
        "tp_source_ip <<= '10.0.0.0/8'",
        "'10.0.0.0/8' >>= app_log.tp_source_ip AND NOT tp_source_ip <<= '11.0.0.0/8'",
    ],
)
def test_addresses_are_compared_by_the_packaged_extension(session: Session, sql: str) -> None:
    assert list(session.run("SELECT count(*) FROM app_log").rows) == [(3000,)]
    assert list(session.run(f"SELECT count(*) FROM app_log WHERE {sql}").rows) == [(3000,)]
    with pytest.raises(TailpipeError):
        session.run("FROM read_text('/etc/hostname')")  # it is locked again


def test_text_that_is_no_address_is_in_no_network_and_a_wrong_network_is_an_error(session: Session) -> None:
    sql = "SELECT x FROM (SELECT unnest(['10.0.0.1', 'AWS Internal', NULL]) AS x) WHERE x <<= '10.0.0.0/8'"
    assert list(session.run(sql).rows) == [("10.0.0.1",)]
    for wrong in ("x <<= '10.0.0/8'", "'10.0.0/8' >>= x"):
        with pytest.raises(TailpipeError, match=r'"10\.0\.0/8" to inet'):
            list(session.run(f"SELECT {wrong} FROM (SELECT '10.0.0.1' AS x)").rows)


@pytest.mark.parametrize("is_chosen", [False, True])
def test_the_where_of_a_schema_may_compare_addresses(files: Files, is_chosen: bool) -> None:
    inside = Schema(name="inside", where="n < 10 AND tp_source_ip::inet <<= '10.0.0.0/8'")
    outside = Schema(name="outside", where="NOT tp_source_ip::inet <<= '10.0.0.0/8'")
    narrowing = Narrowing(schema="inside") if is_chosen else Narrowing()
    with Session(files.snapshot(), {}, Query(narrowing), schemas=[inside, outside]) as session:
        name = "app_log" if is_chosen else "inside.app_log"
        assert list(session.run(f"SELECT count(*) FROM {name}").rows) == [(10,)]
        assert list(session.run("SELECT count(*) FROM outside.app_log").rows) == [(0,)]


def test_of_two_tables_that_differ_by_case_none_is_shown_for_the_other(files: Files) -> None:
    files.add(f"SELECT 1 AS a, {TIME}", partition="App_Log.x")
    with Session(files.snapshot(), {"app_log": TABLE, "web_log": Table(name="web_log")}) as session:
        with pytest.raises(UsageError, match='there are two tables: "App_Log" and "app_log"'):
            session.run("SELECT count(*) FROM app_log")
        assert list(session.run("SELECT count(*) FROM web_log").rows) == [(0,)]


def test_addresses_in_an_answer_are_text(session: Session) -> None:
    """Without the extension nobody could read their own type, a struct of numbers."""
    address = "'10.0.0.1'::INET"
    answer = session.run(f"SELECT {address} AS a, [{address}] AS l, {{'INET': {address}, 'x': 1}} AS s, 2 AS a; -- end")
    assert answer.columns == ("a", "l", "s", "a")
    assert answer.types == ("VARCHAR", "VARCHAR[]", "STRUCT(INET VARCHAR, x INTEGER)", "INTEGER")
    assert list(answer.rows) == [("10.0.0.1", ["10.0.0.1"], {"INET": "10.0.0.1", "x": 1}, 2)]
    table = session.run("SELECT tp_source_ip::INET AS ip FROM app_log ORDER BY ip DESC LIMIT 1").table()
    assert table.to_pylist() == [{"ip": "10.0.0.1"}]


def test_without_the_extension_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(TailpipeError) as caught:
        load_statement()
    assert "pip install duckdb-extension-inet==" in caught.value.hint


def test_names_are_looked_up_in_the_chosen_schema(files: Files) -> None:
    few = Schema(name="few", where="n < 10")
    with Session(files.snapshot(), {}, Query(Narrowing(schema="few")), schemas=[few]) as session:
        assert list(session.run("SELECT count(*) FROM app_log").rows) == [(10,)]
        assert list(session.run("SELECT count(*) FROM tailpipe.app_log").rows) == [(3000,)]


def test_a_schema_that_is_not_there_is_told_with_the_nearest(files: Files) -> None:
    with pytest.raises(UsageError) as caught:
        Session(files.snapshot(), {}, Query(Narrowing(schema="recnt")), schemas=[Schema(name="recent")])
    assert caught.value.hint == 'did you mean "recent"?'


@pytest.mark.parametrize(
    "where",
    [
        "true), (false",
        "true) UNION SELECT (1",
        "true; SELECT 1",
        "n IN (SELECT 1)",
        "getenv('A') = ''",
        "true -- )\n) OR (",
    ],
)
def test_a_condition_cannot_leave_its_view(files: Files, where: str) -> None:
    with Session(files.snapshot(), {}, schemas=[Schema(name="bad", where=where)]) as session:
        with pytest.raises(UsageError, match='the where of schema "bad" cannot be used'):
            session.run("FROM bad.app_log")
        assert list(session.run("SELECT count(*) FROM app_log").rows) == [(3000,)]


@pytest.mark.parametrize(
    ("narrowing", "message"),
    [(Narrowing(partitions=("prd",)), "partition not found: prd"), (Narrowing(indexes=("x",)), "index not found: x")],
)
def test_what_nothing_has_cannot_be_narrowed_to(narrowing: Narrowing, message: str, files: Files) -> None:
    some = tuple(file._replace(tp_index="default") for file in files.files)
    with pytest.raises(UsageError, match=message):
        narrowing.check(replace(files.snapshot(), files=some), [])


def test_a_narrowing_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UsageError, match="ends before it starts"):
        Narrowing.parse("2024-02-01", "2024-01-01", now=datetime(2024, 3, 1, tzinfo=UTC))


def test_a_mistake_in_the_condition_of_a_schema_is_told_of_that(files: Files) -> None:
    with Session(files.snapshot(), {}, schemas=[Schema(name="bad", where="lvl = 1")]) as session:
        with pytest.raises(UsageError, match='the where of schema "bad" cannot be used: there is no column "lvl"'):
            session.run("SELECT count(*) FROM bad.app_log")
        assert list(session.run("SELECT count(*) FROM app_log").rows) == [(3000,)]


def test_a_mistake_stands_where_it_was_made(session: Session) -> None:
    sql = "SELECT level,\n  " + "n, " * 60 + "levl\nFROM app_log"
    with pytest.raises(QueryError) as caught:
        session.run(sql)
    place = caught.value.place
    assert place is not None
    assert (place.line, place.text[place.column - 1 :], place.length) == (2, "levl", 4)


def test_an_unsafe_session_writes_and_reads_other_files(files: Files, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with Session(files.snapshot(), {}, Query(is_unsafe=True)) as session:
        session.run(f"COPY (SELECT n FROM app_log WHERE n < 3) TO '{target}'")
        assert list(session.run(f"SELECT count(*) FROM '{target}'").rows) == [(3,)]
        session.run("CREATE TABLE kept AS FROM app_log")
        assert list(session.run("SELECT count(*) FROM kept").rows) == [(3000,)]


def test_answering_imports_neither_spark_nor_pandas(files: Files) -> None:
    """With a condition that leaves out files, a schema's `where`, and an address: what could bring them along."""
    path = files.root / files.files[0].path
    program = f"""
import sys
from datetime import date
from pathlib import Path
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.model.partition import Schema
from tailpipe.query.session import Session
file = LiveFile({str(path.relative_to(files.root))!r}, "app_log.x", "", "i", date(2024, 1, 31), 3000, 0, 0, 2**60, 1)
columns = {{1: {dict(files.columns[1])!r}}}
snapshot = Snapshot(Path({str(files.root)!r}), (file,) * 40, columns, 1)
with Session(snapshot, {{}}, schemas=[Schema(name="few", where="n < 10")]) as session:
    sql = "SELECT count(*) FROM few.app_log WHERE tp_date = '2024-01-31' AND tp_source_ip::INET <<= '10.0.0.0/8'"
    list(session.run(sql).rows)
print([name for name in ("pyspark", "pandas", "boto3", "obstore", "numpy", "sqlglot") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
