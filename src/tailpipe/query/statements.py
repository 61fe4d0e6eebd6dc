"""Statements: a text taken apart into them, and which of them only read. The words are DuckDB's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tailpipe.errors import Place, QueryError, UsageError
from tailpipe.sql.duck import duckdb
from tailpipe.sql.references import weak_arrow, weakness

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
_BY_DEED = {"add_parquet_key", "checkpoint", "copy_database", "force_checkpoint", "getenv"}
_BY_DEED |= {"import_database", "read_duckdb", "truncate_duckdb_logs", "write_log"}
"""They write, or tell of the surroundings."""
_BY_SWITCH = ("disable_", "enable_", "verify_")
"""So begin those that change how the session works."""


def is_refused(function: str) -> bool:
    """Whether no statement may call it, though the statement has the form of one that reads."""
    return function in _BY_ADDRESS | _BY_TEXT | _BY_DEED or function.startswith(_BY_SWITCH)


def find_statements(text: str) -> list[tuple[int, str]]:
    """The statements of a text without the semicolons, each with the number of characters before it.

    Quotes, dollar quotes and comments are DuckDB's. A mistake in one statement leaves the others whole.
    """
    raw, tokens = _tokens(text)
    parts: list[tuple[int, str]] = []
    begin, passed, has_words = 0, 0, False
    for position in (*tokens, len(raw)):
        is_end = position == len(raw)
        if not is_end and raw[position : position + 1] != b";":
            has_words = True
            continue
        part = raw[begin:position].decode()
        # Where DuckDB does not find a word, a quote or a comment before it is never closed.
        if has_words or (is_end and not _tokens(f"{part}\n;")[1]):
            parts.append((passed + len(part) - len(part.lstrip()), part.strip()))
        passed += len(part) + 1
        begin, has_words = position + 1, False
    return parts


def words(sql: str) -> frozenset[str]:
    """All words of a statement in lower case, also those in quotes and comments."""
    return frozenset(word.lower() for word in _WORD.findall(sql))


def explained(sql: str) -> str:
    """The statement without an EXPLAIN before it."""
    raw, tokens = _tokens(sql)
    first = _words_at(raw, tokens[:4])
    if first[:1] != ["explain"]:
        return sql
    begin = 2 if first[1:2] == ["analyze"] else 1
    opened = [raw[position : position + 1] for position in tokens[begin:]]
    if opened[:1] == [b"("] and first[begin + 1 : begin + 2] in (["analyze"], ["format"]) and b")" in opened:
        begin += opened.index(b")") + 1
    return raw[tokens[begin] :].decode() if begin < len(tokens) else ""


def describes_columns(sql: str) -> bool:
    """Whether a statement is about the columns of tables alone, and not about their rows."""
    raw, tokens = _tokens(sql)
    return _words_at(raw, tokens[:1]) in (["desc"], ["describe"], ["show"])


def readable(connection: duckdb.DuckDBPyConnection, sql: str) -> list[duckdb.Statement]:
    """The one reading statement, or its parts. To split some, DuckDB reads files: the connection must be locked."""
    for name in called(sql):
        if is_refused(name):
            raise UsageError(f'a query is read-only, and the function "{name}" may do more', hint=_OPEN)
    for _, one in find_statements(sql):
        raw, tokens = _tokens(one)
        if (first := "".join(_words_at(raw, tokens[:1]))) in _EXPANDED:
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
    """Raise if an arrow of JSON takes more than was meant: the wrong answer would go unnoticed."""
    inner = explained(sql)
    if (arrow := weak_arrow(connection, inner)) is None:
        return
    message, hint = weakness(arrow)
    position = (arrow.position or 0) + len(sql) - len(inner)
    before, line = sql[:position].count("\n"), sql.rfind("\n", 0, position) + 1
    place = Place("statement", before + 1, position - line + 1, len(arrow.name), sql.split("\n")[before])
    raise QueryError(message, hint=hint, place=place)


def _not_reading(what: str) -> UsageError:
    hint = f"SELECT, FROM, DESCRIBE, SHOW and EXPLAIN do; {_OPEN}"
    return UsageError(f"a query is read-only, and {what} does not", hint=hint)


def called(sql: str) -> Iterator[str]:
    """The names before an opening bracket, in lower case and without quotes."""
    raw, tokens = _tokens(sql)
    for this, following in pairwise([*tokens, len(raw)]):
        if raw[following : following + 1] != b"(":
            continue
        if quoted := _QUOTED.match(raw, this):  # to its own end: a comment before the bracket may hold quotes too
            name = quoted[1].decode().replace('""', '"')
        else:
            match = _WORD.match(raw[this:following].decode())
            name = match[0] if match else ""
        if name:
            yield name.lower()


def _words_at(raw: bytes, positions: Iterable[int]) -> list[str]:
    """The words at these positions in lower case; empty for signs."""
    found = (_ASCII_WORD.match(raw, position) for position in positions)
    return [match[0].decode().lower() if match else "" for match in found]


def _tokens(text: str) -> tuple[bytes, list[int]]:
    """The text in UTF-8, and where its words and signs begin: DuckDB counts in bytes, and stops silently at a NUL."""
    if "\0" in text:
        raise UsageError("a statement holds the character NUL", hint="write it as chr(0)")
    try:
        return text.encode(), [position for position, _ in duckdb.tokenize(text)]
    except UnicodeEncodeError as error:
        raise UsageError(f"a statement is not UTF-8: see its character {error.start + 1}") from error
