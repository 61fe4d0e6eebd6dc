"""DuckDB's engine, without the Python package around it.

`import duckdb` also reads what `importlib.metadata` can tell of its version, which takes longer than loading the
engine does. A question that is answered in a tenth of a second has no time for that (ADR 0013).
"""

import _duckdb as duckdb

__all__ = ["blank", "duckdb", "first_line", "reserved_words"]


def blank() -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory and in UTC, with nothing in it, that loads no extension by itself.

    Unlike a session it gives Arrow in plain types: lossless, even a boolean would be a number with a note to it.
    """
    connection = duckdb.connect(
        ":memory:", config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def reserved_words(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The words of SQL that name something only in quotes."""
    rows = connection.execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'")
    return frozenset(word for (word,) in rows.fetchall())


def first_line(error: Exception) -> str:
    """What DuckDB, or Spark, says of a failure, without the pages below it."""
    return str(error).strip().partition("\n")[0]
