"""Statements: a text taken apart into them, and which of them only read. The words are DuckDB's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tailpipe.errors import Place, QueryError, UsageError
from tailpipe.sql.duck import duckdb
from tailpipe.sql.references import weak_arrow, weakness

__all__ = [
    "asks_for_columns",
    "called",
    "explained",
    "find_statements",
    "is_refused",
    "readable",
    "refuse_weak_arrow",
    "split_statements",
    "words",
]

_WORD = re.compile(r"\w+")
_ASCII_WORD = re.compile(rb"\w+")
_QUOTED = re.compile(rb'"((?:[^"]|"")*)"')
_EXPANDED = ("import", "pragma")
"""Statements that DuckDB puts others in place of, as soon as it takes the text apart."""
_OPEN = "--unsafe allows everything"

_BY_ADDRESS = {"arrow_scan", "arrow_scan_dumb", "pandas_scan", "python_map_function", "seq_scan"}
"""They take the address of an object in memory."""
_BY_TEXT = {"json_execute_serialized_sql", "query", "query_table"}
"""They run what stands in a text, where nobody sees it."""
_BY_DEED = {
    "add_parquet_key",
    "checkpoint",
    "copy_database",
    "force_checkpoint",
    "getenv",
    "import_database",
    "read_duckdb",
    "truncate_duckdb_logs",
    "write_log",
}
"""They write, or tell of the surroundings."""
_BY_SWITCH = ("disable_", "enable_", "verify_")
"""So begin those that change how the session works."""


def is_refused(function: str) -> bool:
    """Whether no statement may call it, though the statement has the form of one that reads."""
    return function in _BY_ADDRESS | _BY_TEXT | _BY_DEED or function.startswith(_BY_SWITCH)


def split_statements(text: str) -> tuple[str, ...]:
    """The statements of a text, without the semicolons; quotes, dollar quotes and comments are DuckDB's.

    Nothing is checked, so that a mistake in one statement leaves the others whole.
    """
    return tuple(sql for _, sql in find_statements(text))


def find_statements(text: str) -> list[tuple[int, str]]:
    """The same, each with the number of characters before it."""
    raw = _bytes(text)
    parts: list[tuple[int, str]] = []
    begin, passed, has_words = 0, 0, False

    def end(position: int) -> None:
        part = raw[begin:position].decode()
        parts.append((passed + len(part) - len(part.lstrip()), part.strip()))

    for position in _tokens(text):
        if raw[position : position + 1] == b";":
            if has_words:
                end(position)
            passed += len(raw[begin : position + 1].decode())
            begin, has_words = position + 1, False
        else:
            has_words = True
    # Where DuckDB does not find a word, a quote or a comment before it is never closed.
    if has_words or not _tokens(f"{raw[begin:].decode()}\n;"):
        end(len(raw))
    return parts


def words(sql: str) -> frozenset[str]:
    """All words of a statement in lower case, wherever they stand."""
    return frozenset(word.lower() for word in _WORD.findall(sql))


def explained(sql: str) -> str:
    """The statement without an EXPLAIN before it."""
    tokens = _tokens(sql)
    raw = _bytes(sql)
    said = [_word_at(raw, position) for position in tokens]
    if said[:1] != ["explain"]:
        return sql
    begin = 2 if said[1:2] == ["analyze"] else 1
    opened = [raw[position : position + 1] for position in tokens[begin:]]
    if opened[:1] == [b"("] and said[begin + 1 : begin + 2] in (["analyze"], ["format"]) and b")" in opened:
        begin += opened.index(b")") + 1
    return raw[tokens[begin] :].decode() if begin < len(tokens) else ""


def asks_for_columns(sql: str) -> bool:
    """Whether a statement is about the columns of tables alone, and not about their rows."""
    return _first_word(sql) in ("desc", "describe", "show")


def readable(connection: duckdb.DuckDBPyConnection, sql: str) -> list[duckdb.Statement]:
    """The one statement in the text, or its parts; whatever could change something is refused.

    The connection must be the locked one: to take some statements apart, DuckDB reads files.
    """
    for name in called(sql):
        if is_refused(name):
            raise UsageError(f'a query is read-only, and the function "{name}" may do more', hint=_OPEN)
    for one in split_statements(sql):
        if (first := _first_word(one)) in _EXPANDED:
            raise _not_reading(first.upper())
    statements = connection.extract_statements(sql)
    # A PIVOT is taken apart into a type that is made and a SELECT; such parts have no text of their own.
    is_pivot = all(not one.query and one.type == duckdb.StatementType.CREATE for one in statements[:-1])
    if not statements:
        raise UsageError("there is no statement to run", hint="write one, such as: FROM app_log LIMIT 10")
    if not is_pivot:
        raise UsageError("expected one statement", hint="run tailpipe query for each")
    last = statements[-1]
    if last.type == duckdb.StatementType.EXPLAIN:
        # It may run what it explains, so that must be a reading one too.
        if (inner := explained(last.query)) == last.query:
            raise UsageError("EXPLAIN must be the first word of the statement")
        readable(connection, inner)
    elif last.type != duckdb.StatementType.SELECT:
        raise _not_reading(last.type.name.replace("_", " "))
    return list(statements)


def refuse_weak_arrow(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise if an arrow of JSON takes more than was meant: its answer would be wrong, and nobody would see it."""
    asked = explained(sql)
    if (arrow := weak_arrow(connection, asked)) is None:
        return
    message, hint = weakness(arrow)
    position = (arrow.position or 0) + len(sql) - len(asked)
    before, line = sql[:position].count("\n"), sql.rfind("\n", 0, position) + 1
    place = Place("statement", before + 1, position - line + 1, len(arrow.name), sql.split("\n")[before])
    raise QueryError(message, hint=hint, place=place)


def _not_reading(what: str) -> UsageError:
    hint = f"SELECT, FROM, DESCRIBE, SHOW and EXPLAIN do; {_OPEN}"
    return UsageError(f"a query is read-only, and {what} does not", hint=hint)


def called(sql: str) -> Iterator[str]:
    """The names before an opening bracket, in lower case and without quotes."""
    raw = _bytes(sql)
    tokens = [*_tokens(sql), len(raw)]
    for this, following in pairwise(tokens):
        if raw[following : following + 1] != b"(":
            continue
        if quoted := _QUOTED.match(raw, this):  # to its own end: a comment before the bracket may hold quotes too
            name = quoted[1].decode().replace('""', '"')
        else:
            match = _WORD.match(raw[this:following].decode())
            name = match[0] if match else ""
        if name:
            yield name.lower()


def _first_word(sql: str) -> str:
    raw = _bytes(sql)
    return next((_word_at(raw, position) for position in _tokens(sql)), "")


def _word_at(raw: bytes, position: int) -> str:
    match = _ASCII_WORD.match(raw, position)
    return match[0].decode().lower() if match else ""


def _tokens(text: str) -> list[int]:
    """Where the words and signs of a text begin, in bytes."""
    return [position for position, _ in duckdb.tokenize(text)]


def _bytes(text: str) -> bytes:
    """The text as DuckDB reads it, which stops at a NUL without a word and counts in bytes."""
    if "\0" in text:
        raise UsageError("a statement holds the character NUL", hint="write it as chr(0)")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"a statement is not UTF-8: see its character {error.start + 1}") from error
