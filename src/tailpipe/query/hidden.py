"""Statements of readers who are elsewhere: they must not see where files of this machine are."""

from __future__ import annotations

import re

from tailpipe.errors import UsageError
from tailpipe.query.statements import called, words

_FUNCTIONS = frozenset(
    """
    current_setting duckdb_extensions duckdb_external_file_cache duckdb_logs duckdb_settings duckdb_temporary_files
    duckdb_views json_serialize_plan parse_duckdb_log_message pg_get_viewdef
    """.split()  # noqa: SIM905
)
_VIEWS = frozenset(
    """
    duckdb_logs duckdb_settings duckdb_views pg_settings pg_views
    sqlite_master sqlite_schema sqlite_temp_master sqlite_temp_schema
    """.split()  # noqa: SIM905
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)


def refuse_places(sql: str) -> None:
    """Raise if a statement would show settings, the text of views, or which files it reads."""
    used = words(sql) | (words(_ESCAPE.sub(_unescaped, sql)) if "\\" in sql else frozenset())
    found = sorted({*called(sql)} & _FUNCTIONS | used & _VIEWS)
    if {"information_schema", "views"} <= used:
        found.append("information_schema.views")
    if {"explain", "analyze"} <= used:
        found.append("EXPLAIN ANALYZE")
    if found:
        hint = "use it on that machine, with: tailpipe query"
        raise UsageError(f'"{found[0]}" shows paths of the machine of this server', hint=hint)


def _unescaped(match: re.Match[str]) -> str:
    """The character of an escape in a string E'…', because such a string can name a table."""
    short, four, eight, octal, other = match.groups()
    if other is not None:
        return other
    code = int(octal, 8) if octal else int(short or four or eight, 16)
    return chr(code) if code < 0x110000 else " "
