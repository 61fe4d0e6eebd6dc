"""A session answers questions about what was collected, and does nothing else."""

from __future__ import annotations

import _thread
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.table import Column, Table
from tailpipe.query.session import Session

from .support import TIME, Files

TABLE = Table(name="app_log", columns=[Column("level", "varchar"), Column("n", "integer")])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path / "internal")
    files.add(f"SELECT 'info' AS level, i::INTEGER AS n, {TIME} FROM range(3000) t(i)")
    return files


@pytest.fixture
def session(files: Files) -> Iterator[Session]:
    with Session(files.snapshot(), {"app_log": TABLE}) as session:
        yield session


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT count(*), sum(n) FROM app_log", (3000, 4498500)),
        ("FROM tailpipe.app_log SELECT max(n);", (2999,)),
        ("WITH a AS (FROM app_log) SELECT count(*) FROM a", (3000,)),
        ("SHOW TABLES", ("app_log",)),
        ("VALUES (1)", (1,)),
        ("PIVOT (SELECT level, n FROM app_log WHERE n < 2) ON level USING sum(n)", (1,)),
        ("SELECT current_setting('TimeZone')", ("UTC",)),
        ("SELECT TIMESTAMPTZ '2024-01-31 10:00:00+02'::VARCHAR", ("2024-01-31 08:00:00+00",)),
    ],
)
def test_what_reads_is_answered(session: Session, sql: str, first: tuple[object, ...]) -> None:
    assert next(session.run(sql).rows) == first


def test_rows_come_with_the_names_and_types_of_their_columns(session: Session) -> None:
    answer = session.run("SELECT level, n AS number, n::DOUBLE FROM app_log ORDER BY n LIMIT 1")
    assert answer.columns[:2] == ("level", "number")
    assert answer.types == ("VARCHAR", "INTEGER", "DOUBLE")
    assert list(answer.rows) == [("info", 0, 0.0)]


def test_all_rows_come(session: Session) -> None:
    assert sum(1 for _ in session.run("FROM app_log").rows) == 3000


@pytest.mark.parametrize("begin", ["EXPLAIN", "explain analyze", "EXPLAIN (ANALYZE, FORMAT json)", "\n Explain\n"])
def test_reading_statements_can_be_explained(session: Session, begin: str) -> None:
    assert session.run(f"{begin} SELECT n FROM app_log").columns == ("explain_key", "explain_value")


@pytest.mark.parametrize(
    "sql",
    [
        "COPY app_log TO '{files}/x'",
        "EXPLAIN ANALYZE COPY app_log TO '{files}/x'",
        "EXPLAIN (ANALYZE) COPY app_log TO '{files}/x'",
        "/* explain select */ EXPLAIN ANALYZE COPY app_log TO '{files}/x'",
        "EXPLAIN /* */ ANALYZE COPY app_log TO '{files}/x'",
        "SELECT 1; COPY app_log TO '{files}/x'",
        "PIVOT app_log ON level USING sum(n); COPY app_log TO '{files}/x'",
        "CREATE TABLE x AS SELECT 1",
        "CREATE TEMP TYPE t AS ENUM ('a'); SELECT 1",
        "INSERT INTO app_log VALUES (1)",
        "DROP VIEW app_log",
        "ATTACH '{files}/x.db'",
        "SET threads = 1",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA threads = 1",
        "CALL pragma_version()",
        "INSTALL inet",
        "LOAD inet",
        "EXPORT DATABASE '{files}/x'",
        "PREPARE a AS SELECT 1",
        "USE main",
        "BEGIN",
        "CHECKPOINT",
        "CREATE SECRET (TYPE s3)",
        "",
        " -- nothing",
    ],
)
def test_what_could_change_something_is_refused(session: Session, files: Files, sql: str) -> None:
    directory = files.root / "files"
    before = sorted(directory.iterdir())
    with pytest.raises(TailpipeError):
        session.run(sql.replace("{files}", str(directory)))
    assert sorted(directory.iterdir()) == before


def test_refusing_a_statement_is_told_as_wrong_use(session: Session) -> None:
    with pytest.raises(UsageError, match="a query is read-only, and COPY does not"):
        session.run("COPY app_log TO 'x.csv'")


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('{outside}')",
        "FROM read_text('{outside}')",
        "FROM '{outside}'",
        "FROM glob('/etc/*')",
        "FROM read_text('{files}/../../secret.csv')",
        "SELECT getenv('HOME')",
        "FROM read_csv('http://127.0.0.1:9/x.csv')",
    ],
)
def test_nothing_but_the_collected_files_can_be_read(files: Files, session: Session, sql: str) -> None:
    outside = files.root.parent / "secret.csv"
    outside.write_text("a\nsecret\n")
    with pytest.raises(TailpipeError):
        list(session.run(sql.format(outside=outside, files=files.root / "files")).rows)


def test_a_link_out_of_the_files_cannot_be_followed(files: Files, session: Session) -> None:
    outside = files.root.parent / "secret.csv"
    outside.write_text("a\nsecret\n")
    link = files.root / "files" / "link.csv"
    link.symlink_to(outside)
    with pytest.raises(TailpipeError):
        list(session.run(f"FROM read_csv('{link}')").rows)


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("SELECT levl FROM app_log", 'there is no column "levl"', 'did you mean "level"?'),
        ("FROM app_lgo", 'there is no table "app_lgo"', 'did you mean "app_log"?'),
        ("FROM zzz", 'there is no table "zzz"', "there are: app_log"),
        ("FROM zzz.app", 'there is no table "zzz.app"', "there are: app_log"),
        (
            "FROM app_log.shop",
            'there is no schema "app_log"',
            "a partition is chosen by its column: FROM app_log WHERE tp_partition = 'shop'",
        ),
        (
            "SELECT level.id FROM app_log",
            '"level" is not a struct, so it has no field "id"',
            "if it is text of JSON, write level->>'id'",
        ),
        ("SELEC 1", 'syntax error at or near "SELEC"', ""),
        ("SELECT a.levl FROM app_log a", 'there is no column "levl"', 'did you mean "level"?'),
        ("SELECT 'x'::INTEGER FROM app_log", "could not convert string 'x'", ""),
    ],
)
def test_a_mistake_is_told_in_one_line_with_the_name_that_was_meant(
    session: Session, sql: str, message: str, hint: str
) -> None:
    with pytest.raises(TailpipeError) as caught:
        list(session.run(sql).rows)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 1
    assert caught.value.hint == hint


def test_a_mistake_in_a_value_shows_while_rows_are_fetched(session: Session) -> None:
    with pytest.raises(TailpipeError, match="could not convert"):
        list(session.run("SELECT (CASE WHEN n = 2999 THEN 'x' ELSE '1' END)::INTEGER FROM app_log").rows)


def test_a_file_that_is_gone_leads_to_the_doctor(files: Files) -> None:
    path = files.add(f"SELECT 'warn' AS level, 1 AS n, {TIME}")
    with Session(files.snapshot(), {"app_log": TABLE}) as session:
        path.unlink()
        with pytest.raises(TailpipeError) as caught:
            list(session.run("FROM app_log").rows)
    assert "tailpipe doctor" in caught.value.hint


@pytest.mark.parametrize("part", ["footer", "page", "end"])
def test_a_damaged_file_leads_to_the_doctor(files: Files, part: str) -> None:
    path = files.add(f"SELECT 'warn ' || range AS level, range AS n, {TIME} FROM range(3000)")
    body = bytearray(path.read_bytes())
    footer = len(body) - 8 - int.from_bytes(body[-8:-4], "little")
    begin, end = {"footer": (footer, len(body) - 8), "page": (4, footer), "end": (len(body) - 8, len(body))}[part]
    body[begin:end] = bytes(byte ^ 0x55 for byte in body[begin:end])
    with Session(files.snapshot(), {"app_log": TABLE}) as session:
        path.chmod(0o600)
        path.write_bytes(body)
        with pytest.raises(TailpipeError) as caught:
            list(session.run("SELECT max(level), sum(n) FROM app_log").rows)
    assert "tailpipe doctor --checksums" in caught.value.hint
    assert path.name in caught.value.message or "cannot read a stored file" in caught.value.message


def test_nothing_is_left_behind(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spill))
    with Session(files.snapshot(), {}) as session:
        assert list(spill.iterdir())
        session.run("FROM app_log")
    assert not list(spill.iterdir())


def test_neither_spark_nor_a_cloud_is_imported() -> None:
    program = (
        "import sys, tailpipe.query.session, tailpipe.query.rejected, tailpipe.cli.query, tailpipe.workspace\n"
        "print([name for name in ('pyspark', 'boto3', 'obstore', 'rich', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_interrupt_ends_the_statement(session: Session) -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    endless = "SELECT count(*) FROM range(100000000000) a, range(100) b WHERE a.range % 7 = b.range % 3"

    def ask() -> None:
        timer.start()  # not before: on a slow machine the interrupt would come outside, and end the whole run
        list(session.run(endless).rows)

    with pytest.raises(KeyboardInterrupt):
        ask()
    timer.join()


def test_tables_that_hold_something_are_named_before_those_of_plugins(files: Files) -> None:
    empty = {name: Table(name=name, common={"tp_timestamp": "time"}) for name in (f"aa_{n}" for n in range(20))}
    with Session(files.snapshot(), empty) as session, pytest.raises(TailpipeError) as caught:
        session.run("FROM zzz")
    assert caught.value.hint.startswith("there are: app_log, aa_0, ")
