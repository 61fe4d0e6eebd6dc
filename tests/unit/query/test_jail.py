"""The jail: no statement reads, writes or changes anything but by reading what was collected."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tailpipe.errors import TailpipeError
from tailpipe.model.table import Column, Table
from tailpipe.query.session import Session
from tailpipe.query.statements import is_refused

from .support import TIME, Files

SECRET = "the secret of the machine"
TABLE = Table(name="app_log", columns=[Column("level", "varchar"), Column("n", "integer")])

READERS = [
    *(f"read_{kind}" for kind in ("csv", "csv_auto", "text", "blob", "json", "json_auto", "json_objects")),
    *(f"read_{kind}" for kind in ("json_objects_auto", "ndjson", "ndjson_auto", "ndjson_objects", "parquet", "duckdb")),
    *(f"parquet_{kind}" for kind in ("scan", "metadata", "schema", "file_metadata", "kv_metadata", "full_metadata")),
    "sniff_csv",
    "glob",
]
PLACES = [
    "{outside}/secret.csv",
    "{files}/../../outside/secret.csv",
    "{files}/link.csv",
    "{files}/linked/secret.csv",
]
ATTEMPTS = [
    # Files of elsewhere, by every way of naming them.
    *(f"FROM {reader}('{PLACES[0]}')" for reader in READERS),
    *(f"FROM read_text('{place}')" for place in PLACES[1:]),
    *(f"FROM '{place}'" for place in PLACES),
    "FROM read_text(['{files}/*', '{outside}/secret.csv'])",
    "FROM read_text('file://{outside}/secret.csv')",
    "FROM read_text('{outside}/*')",
    "FROM read_text('/proc/self/environ')",
    "FROM read_blob('/dev/stdin')",
    "FROM glob('/**/*.csv')",
    "FROM glob('{files}/../*')",
    "FROM read_csv('~/secret.csv')",
    "FROM read_csv('secret.csv')",
    "FROM read_parquet('{outside}/**')",
    "FROM read_text(getvariable('x'))",
    'FROM "{outside}/secret.csv"',
    'FROM "{outside}/other.db".main.t',
    "SELECT * FROM (VALUES (1)) t, LATERAL (FROM read_text('{outside}/secret.csv'))",
    "SELECT (SELECT content FROM read_text('{outside}/secret.csv'))",
    "SELECT 1 WHERE EXISTS (FROM read_text('{outside}/secret.csv'))",
    "WITH a AS (FROM read_text('{outside}/secret.csv')) FROM a",
    "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT 1 FROM read_text('{outside}/secret.csv')) FROM a",
    "SUMMARIZE '{outside}/secret.csv'",
    "DESCRIBE '{outside}/secret.csv'",
    "DESCRIBE TABLE '{outside}/secret.csv'",
    "PIVOT '{outside}/secret.csv' ON a",
    "PIVOT (FROM read_csv('{outside}/secret.csv')) ON a",
    "UNPIVOT '{outside}/secret.csv' ON a",
    "SELECT 1 UNION ALL BY NAME FROM read_csv('{outside}/secret.csv')",
    "FROM read_csv('{outside}/secret.csv') TABLESAMPLE 10%",
    "EXPLAIN FROM read_csv('{outside}/secret.csv')",
    "EXPLAIN ANALYZE FROM read_text('{outside}/secret.csv')",
    # What stands in a text and is run later.
    "FROM query('FROM read_text(''{outside}/secret.csv'')')",
    "FROM query($$SELECT 1$$)",
    "FROM \"query\"('SELECT 1')",
    "FROM query /* */ ('SELECT 1')",
    "FROM system.main.query('SELECT 1')",
    "FROM QUERY('SELECT 1')",
    "FROM query_table('{outside}/secret.csv')",
    "FROM query_table(['app_log'])",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{outside}/secret.csv'')'))",
    "PRAGMA json_execute_serialized_sql('x')",
    # Addresses of objects in memory, and variables of the program.
    "FROM arrow_scan(1::POINTER, 1::POINTER, 1::POINTER)",
    "FROM arrow_scan_dumb(1::POINTER, 1::POINTER, 1::POINTER)",
    "FROM pandas_scan(1::POINTER)",
    "FROM python_map_function(1)",
    "FROM seq_scan()",
    "FROM SECRETS",
    "FROM frame",
    # The network.
    "FROM read_csv('http://127.0.0.1:9/x.csv')",
    "FROM read_parquet('https://127.0.0.1:9/x')",
    "FROM read_parquet('s3://bucket/x')",
    "FROM 's3://bucket/x.parquet'",
    "FROM read_text('gcs://bucket/x')",
    "FROM read_text('hf://datasets/x')",
    "ATTACH 'https://127.0.0.1:9/x.db'",
    # Databases.
    "ATTACH '{outside}/other.db'",
    "ATTACH '{outside}/other.db' AS o (READ_ONLY)",
    "ATTACH ':memory:' AS o",
    "ATTACH '{files}/new.db'",
    "ATTACH IF NOT EXISTS '{home}/.tailpipe/catalog.db' (TYPE sqlite)",
    "DETACH memory",
    "USE main",
    "FROM copy_database('memory', 'x')",
    "COPY FROM DATABASE memory TO x",
    # Writing.
    "COPY app_log TO '{outside}/out.csv'",
    "COPY app_log TO '{files}/out'",
    "COPY (FROM app_log) TO '/dev/stdout'",
    "COPY (FROM app_log) TO '{files}' (FORMAT parquet, PARTITION_BY level)",
    "COPY app_log FROM '{outside}/secret.csv'",
    "EXPORT DATABASE '{outside}/dump'",
    "EXPORT DATABASE '{files}/dump'",
    "IMPORT DATABASE '{outside}'",
    "SELECT 1; IMPORT DATABASE '{outside}'",
    "/* */ iMport DATABASE '{outside}'",
    "PRAGMA import_database('{outside}')",
    "EXPLAIN IMPORT DATABASE '{outside}'",
    "FROM import_database('{outside}')",
    "EXPLAIN ANALYZE COPY app_log TO '{files}/out'",
    "EXPLAIN (ANALYZE, FORMAT json) COPY app_log TO '{files}/out'",
    "EXPLAIN /* */ ANALYZE COPY app_log TO '{files}/out'",
    "/* SELECT */ COPY app_log TO '{files}/out'",
    "SELECT 1; COPY app_log TO '{files}/out'",
    "PIVOT app_log ON level USING sum(n); COPY app_log TO '{files}/out'",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP TABLE x AS FROM read_text('{outside}/secret.csv')",
    "CREATE OR REPLACE VIEW app_log AS SELECT 1",
    "CREATE TYPE t AS ENUM ('a')",
    "CREATE SEQUENCE s",
    "CREATE INDEX i ON app_log (n)",
    "CREATE SCHEMA x",
    "INSERT INTO app_log VALUES (1)",
    "UPDATE app_log SET n = 1",
    "DELETE FROM app_log",
    "MERGE INTO app_log USING app_log b ON true WHEN MATCHED THEN DELETE",
    "TRUNCATE app_log",
    "DROP VIEW app_log",
    "DROP SCHEMA tailpipe CASCADE",
    "ALTER VIEW app_log RENAME TO x",
    "COMMENT ON VIEW app_log IS 'x'",
    "WITH a AS (INSERT INTO app_log VALUES (1) RETURNING *) FROM a",
    # Macros, prepared statements, transactions, secrets.
    "CREATE MACRO m() AS TABLE FROM read_text('{outside}/secret.csv')",
    "CREATE TEMP MACRO range(x) AS 1",
    "CREATE FUNCTION f(x) AS x",
    "PREPARE p AS FROM read_text('{outside}/secret.csv')",
    "EXECUTE p",
    "DEALLOCATE p",
    "BEGIN",
    "COMMIT",
    "CHECKPOINT",
    "FROM checkpoint()",
    "FROM force_checkpoint()",
    "VACUUM",
    "ANALYZE",
    "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "CREATE PERSISTENT SECRET x (TYPE s3)",
    "DROP SECRET x",
    # Extensions and settings.
    "INSTALL inet",
    "FORCE INSTALL httpfs FROM community",
    "INSTALL '{outside}/evil.duckdb_extension'",
    "LOAD inet",
    "LOAD '{outside}/evil.duckdb_extension'",
    "UPDATE EXTENSIONS",
    "SET enable_external_access = true",
    "SET GLOBAL allowed_directories = ['/']",
    "SET allowed_paths = ['{outside}/secret.csv']",
    "SET lock_configuration = false",
    "SET SESSION search_path = 'main'",
    "SET VARIABLE x = '{outside}/secret.csv'",
    "SET python_enable_replacements = true",
    "SET python_scan_all_frames = true",
    "SET temp_directory = '{outside}'",
    "SET log_query_path = '{outside}/log'",
    "SET TimeZone = 'Europe/Berlin'",
    "RESET lock_configuration",
    "RESET enable_external_access",
    "PRAGMA enable_profiling = 'json'",
    "PRAGMA profiling_output = '{outside}/profile'",
    "PRAGMA disable_optimizer",
    "CALL enable_logging(storage = 'file', storage_config = {{'path': '{outside}/logs'}})",
    "FROM enable_logging(storage = 'file', storage_config = {{'path': '{outside}/logs'}})",
    "FROM enable_logging(level = 'debug', storage_path = '{outside}/logs')",
    "FROM enable_profiling(save_location = '{outside}/profile')",
    "FROM disable_logging()",
    "FROM truncate_duckdb_logs()",
    "SELECT write_log('x')",
    'SELECT "write_log"(\'x\') AS "y"',
    'SELECT \'é\' AS "ü", "Write_Log" /* " */ (\'x\')',
    'SELECT "write_log" -- "\n(\'x\')',
    "SELECT 'x'.write_log()",
    "CALL pragma_version()",
    # The surroundings.
    "SELECT getenv('HOME')",
    "SELECT \"getenv\"('HOME')",
    "SELECT getvariable('x') || getenv('PATH')",
    "FROM add_parquet_key('k', '{outside}/secret.csv')",
    # Nothing at all.
    "",
    "-- SELECT 1",
    ";",
]

READING = (Path(__file__).parent / "reading_functions.txt").read_text().split()
"""Functions of this DuckDB that give rows and may be called: of files they reach only those of the session."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("jail")
    files = Files(home / ".tailpipe")
    files.add(f"SELECT 'info' AS level, i::INTEGER AS n, {TIME} FROM range(3) t(i)")
    outside = home / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text(f"a\n{SECRET}\n")
    (outside / "schema.sql").write_text(f"SELECT '{SECRET}'")
    (outside / "load.sql").write_text("")
    (home / ".tailpipe" / "files" / "link.csv").symlink_to(outside / "secret.csv")
    (home / ".tailpipe" / "files" / "linked").symlink_to(outside)
    with duckdb.connect(str(outside / "other.db")) as other:
        other.execute("CREATE TABLE t AS SELECT 1")
    return home


@pytest.fixture(scope="module")
def session(home: Path) -> Iterator[Session]:
    files = Files(home / ".tailpipe")
    files.add(f"SELECT 'info' AS level, i::INTEGER AS n, {TIME} FROM range(3) t(i)")
    with Session(files.snapshot(), {"app_log": TABLE}) as session:
        yield session


def bytes_of(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def filled(sql: str, home: Path) -> str:
    return sql.format(outside=home / "outside", files=home / ".tailpipe" / "files", home=home)


@pytest.mark.parametrize("sql", ATTEMPTS)
def test_an_attempt_is_refused_and_changes_nothing(
    session: Session, home: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    frame = [SECRET]  # a variable that a statement could name, if DuckDB looked for it
    monkeypatch.chdir(home / "outside")
    monkeypatch.setenv("HOME", str(home / "outside"))
    before = bytes_of(home)
    with pytest.raises(TailpipeError) as caught:
        list(session.run(filled(sql, home)).rows)
    assert SECRET not in caught.value.message + caught.value.hint
    assert bytes_of(home) == before
    assert frame
    assert list(session.run("SELECT count(*) FROM app_log").rows) == [(3,)]


def test_there_are_more_than_a_hundred_attempts() -> None:
    assert len(set(ATTEMPTS)) > 150


def test_every_function_that_gives_rows_is_known_to_read_or_refused() -> None:
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions()"
            " WHERE function_type IN ('table', 'table_macro', 'pragma')"
        ).fetchall()
    names = {name for (name,) in rows}
    assert {name for name in names if not is_refused(name)} == set(READING) & names
    assert not {name for name in READING if is_refused(name)}


def test_nothing_that_the_session_reads_tells_a_secret(session: Session) -> None:
    for statement in ("FROM duckdb_secrets()", "FROM duckdb_variables()", "FROM duckdb_settings()"):
        assert os.environ["PATH"] not in str(list(session.run(statement).rows))
