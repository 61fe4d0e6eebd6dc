"""A DuckDB in memory for SQL that others wrote: it reads what it is given, and nothing else.

The order of the settings matters: what is needed from outside is loaded first, then the door is closed, then the lock
is turned, after which no statement can open it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tailpipe.sql.duck import duckdb
from tailpipe.sql.inet import load_with_operators
from tailpipe.sql.memory import engine_memory
from tailpipe.sql.quoting import literal, quoted, text_list

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "arrow_lossless_conversion": "true",  # else batches lose zones, bits and the largest numbers
    "python_enable_replacements": "false",  # else a statement could name the variables of this program
}


def connect_locked(
    spill: Path,
    schemas: Iterable[str],
    search_path: str,
    readable: Iterable[str],
    *,
    allow: Callable[[duckdb.DuckDBPyConnection], Iterable[str]] | None = None,
    has_inet: bool = False,
    is_unsafe: bool = False,
) -> duckdb.DuckDBPyConnection:
    """A connection that reads `readable` alone, and what `allow` prepares it for; an unsafe one is not locked."""
    memory = engine_memory()
    limits = {} if memory is None else {"memory_limit": f"{memory} B"}
    connection = duckdb.connect(":memory:", config={**_CONFIG, **limits})
    run = connection.execute
    try:
        run("SET TimeZone = 'UTC'")
        run(f"SET temp_directory = {literal(str(spill))}")
        if has_inet:
            run(load_with_operators())
        for name in dict.fromkeys(schemas):
            run(f"CREATE SCHEMA {quoted(name)}")
        run(f"SET search_path = {literal(search_path)}")
        places = text_list([*readable, *(allow(connection) if allow is not None else ())])
        if not is_unsafe:
            run(f"SET allowed_directories = {places}")
            run("SET enable_external_access = false")
            run("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection
