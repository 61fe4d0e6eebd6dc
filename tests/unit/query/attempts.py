"""Attempts to read, write or change what a query must not: each is made on DuckDB and on Spark."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb

from tailpipe.catalog.snapshot import Snapshot
from tailpipe.model.table import Column, Table

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

VARIABLE = "TAILPIPE_SECRET_OF_JAVA"
"""A variable of the environment in which Spark is started for the tests; it holds the secret."""
_FORMATS = ["csv", "json", "text", "parquet", "orc", "avro", "binaryFile", "xml", "delta", "iceberg", "hive", "jdbc"]
_REFLECT = "('java.lang.System', 'getenv', '{variable}')"

# In Spark's own words.
ATTEMPTS += [
    *(f'SELECT * FROM {name}."{{outside}}/secret.csv"' for name in _FORMATS),
    "SELECT * FROM text.`{outside}/secret.csv`",
    'WITH "{outside}/secret.csv" AS (SELECT 1 AS value) SELECT value FROM text."{outside}/secret.csv"',
    'WITH a AS (SELECT value FROM text."{outside}/secret.csv") SELECT * FROM a',
    'SELECT level FROM app_log WHERE level IN (SELECT value FROM text."{outside}/secret.csv")',
    'SELECT level FROM spark_catalog.text."{outside}/secret.csv"',
    'SELECT * FROM spark_catalog."default".app_log',
    "SELECT * FROM global_temp.app_log",
    "SELECT * FROM system.session.app_log",
    "SELECT * FROM tailpipe__app_log",
    "FROM read_files('{outside}/secret.csv')",
    "FROM cloud_files('{outside}', 'text')",
    "FROM python_worker_logs()",
    "FROM sql_keywords()",
    "FROM stack(2, 1, 2)",
    "SELECT * FROM TABLE(read_text('{outside}/secret.csv'))",
    "SELECT * FROM app_log VERSION AS OF 1",
    "SELECT * FROM app_log AT (VERSION => 1)",
    "SELECT * FROM app_log WITH (path = '{outside}/secret.csv')",
    "SELECT * FROM IDENTIFIER('text.`{outside}/secret.csv`')",
    f"SELECT IDENTIFIER('reflect'){_REFLECT}",
    *(f"SELECT {name}{_REFLECT}" for name in ("reflect", "java_method", "try_reflect", '"Reflect"', "REFLECT /* */ ")),
    f"SELECT system.builtin.reflect{_REFLECT}",
    f"SELECT builtin.reflect{_REFLECT}",
    "SELECT 'java.lang.System'.reflect('getenv', '{variable}')",
    f"SELECT count(*) FROM app_log WHERE reflect{_REFLECT} LIKE 't%'",
    f"SELECT sum(n) OVER w FROM app_log WINDOW w AS (ORDER BY reflect{_REFLECT})",
    f"SELECT list_transform(['a'], x -> reflect{_REFLECT})",
    "SELECT input_file_name() FROM app_log",
    "SELECT _metadata.file_path FROM app_log",
    "SELECT spark_partition_id()",
    "SELECT session_window(tp_timestamp, '1 hour') FROM app_log",
    "SELECT raise_error('x')",
    "SELECT java_udf(level) FROM app_log",
    "SELECT TRANSFORM (level) USING 'cat {outside}/secret.csv' FROM app_log",
    "SELECT TRANSFORM (level) USING 'touch {outside}/out' AS (a) FROM app_log",
    "FROM app_log MAP level USING 'cat {outside}/secret.csv' AS a",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "DECLARE VARIABLE x STRING DEFAULT 'a'",
    "SET VAR x = (SELECT value FROM text.`{outside}/secret.csv`)",
    "SET",
    "SET spark.sql.runSQLOnFiles = true",
    "SET spark.sql.variable.substitute = true",
    "RESET spark.sql.runSQLOnFiles",
    "ADD JAR '{outside}/evil.jar'",
    "ADD FILE '{outside}/secret.csv'",
    "LIST FILES",
    "CREATE FUNCTION f AS 'Evil' USING JAR '{outside}/evil.jar'",
    "CREATE TEMPORARY FUNCTION f AS 'Evil'",
    "CREATE TEMPORARY VIEW v USING csv OPTIONS (path '{outside}/secret.csv')",
    "CREATE TABLE x USING csv LOCATION '{outside}'",
    "CREATE TABLE x USING parquet AS SELECT 1",
    "CACHE TABLE app_log",
    "INSERT OVERWRITE DIRECTORY '{outside}/out' USING csv SELECT 1",
    "WITH a AS (SELECT 1) INSERT OVERWRITE LOCAL DIRECTORY '{outside}/out' SELECT * FROM a",
    "FROM app_log INSERT INTO x SELECT *",
    "LOAD DATA LOCAL INPATH '{outside}/secret.csv' INTO TABLE x",
    "BEGIN SELECT 1; END",
    "SELECT ?",
    "SELECT $1",
    "SELECT :x",
    "SELECT $x",
]

SLY = [
    # What DuckDB does not look at, because nothing needs it.
    'WITH "{outside}/secret.csv" AS (SELECT 1 AS value), "tailpipe__app_log" AS'
    ' (SELECT value AS level FROM text."{outside}/secret.csv") SELECT level FROM app_log',
    'WITH a AS (SELECT value FROM text."{outside}/secret.csv") SELECT level FROM app_log',
    f"WITH a AS (SELECT reflect{_REFLECT} AS x) SELECT level FROM app_log",
    "WITH app_log AS (SELECT level FROM app_log) SELECT level FROM app_log",
    'WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT value FROM text."{outside}/secret.csv") SELECT 1',
    # Words that end a text or a name of Spark too early.
    r"SELECT 'a\' AS a, ' UNION ALL SELECT value, 1 FROM text.`{outside}/secret.csv` -- ' AS b",
    "SELECT $$\\$$ AS a, $$ UNION ALL SELECT value, 1 FROM text.`{outside}/secret.csv` -- $$ AS b",
    "SELECT E'\\\\' AS a, E'\\' UNION ALL SELECT value FROM text.`{outside}/secret.csv` --' AS b",
    'SELECT level AS "a` FROM app_log UNION ALL SELECT value FROM text.`{outside}/secret.csv` --" FROM app_log',
    'SELECT level FROM app_log AS "a` UNION ALL SELECT value FROM text.`{outside}/secret.csv` --"',
    'WITH "a` AS (SELECT * FROM text.`{outside}/secret.csv`) --" AS (SELECT 1) FROM "a` AS (SELECT * FROM'
    ' text.`{outside}/secret.csv`) --"',
    "SELECT w FROM app_log, unnest(['x']) \"u AS w UNION ALL SELECT value FROM text.`{outside}/secret.csv` --\"(w)",
    "SELECT w FROM app_log, unnest(['x']) u(\"w` UNION ALL SELECT value FROM text.`{outside}/secret.csv` --\"),"
    " (SELECT 1 AS w)",
    "SELECT level FROM app_log /* */ -- \n /* UNION ALL SELECT value FROM text.`{outside}/secret.csv` */",
    "SELECT /*+ BROADCAST(text.`{outside}/secret.csv`) */ level FROM app_log",
    'SELECT level AS "${{env:{variable}}}" FROM app_log WHERE "${{env:{variable}}}" = \'x\'',
    'SELECT "${{env:{variable}}}".level FROM app_log AS "${{env:{variable}}}"',
    "SELECT 1 /* ${{env:{variable}}} */",
    "SELECT CAST(1 AS VARCHAR(1)) AS \"reflect('java.lang.System', 'getenv', '{variable}')\"",
]
"""They may be answered, but never with the secret."""

LITERALS = [
    "'${{env:{variable}}}'",
    "'${{env:{variable}:x}}'",
    "'a ${{system:user.home}} b'",
    "'${{spark:spark.app.id}}${{sparkconf:spark.app.id}}${{hiveconf:spark.app.id}}${{hivevar:spark.app.id}}'",
    "'${{spark.app.id}}'",
    "'$${{env:{variable}}}'",
    "'${{env:${{env:{variable}}}}}'",
    r"'\${{env:{variable}}}'",
    r"'\\${{env:{variable}}} \u0024\u007benv:{variable}}}'",
    r"'\'",
    "'$' || '{{env:{variable}}}'",
    "$$it's ${{env:{variable}}} \\$$",
    "'it''s \"`${{env:{variable}}}`\"'",
]
"""Texts that stay as they are written."""


def literal_text(sql: str) -> str:
    """What DuckDB gives for a literal."""
    with duckdb.connect() as connection:
        ((text,),) = connection.execute(f"SELECT {sql}").fetchall()
    return str(text)


def make_home(home: Path) -> Path:
    """A workspace beside a directory with a secret, to which links lead from inside."""
    make_snapshot(home)
    return make_outside(home)


def make_outside(home: Path) -> Path:
    """A directory with a secret beside the files of a workspace, and links to it among them."""
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


def make_snapshot(home: Path) -> Snapshot:
    """Three rows of `app_log`."""
    files = Files(home / ".tailpipe")
    files.add(f"SELECT 'info' AS level, i::INTEGER AS n, {TIME} FROM range(3) t(i)")
    return files.snapshot()


def bytes_of(home: Path) -> dict[str, str]:
    """What is in each file."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def filled(sql: str, home: Path) -> str:
    """An attempt with its places."""
    files = home / ".tailpipe" / "files"
    return sql.format(outside=home / "outside", files=files, home=home, variable=VARIABLE)
