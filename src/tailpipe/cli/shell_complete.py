"""Completion of SQL: what may follow at the cursor, the likeliest first. Pure: text and names in, names out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen

if TYPE_CHECKING:
    from tailpipe.query.shapes import ColumnShape, TableShape

_PATH = re.compile(r'((?:"(?:[^"]|"")*"|\w+)?(?:\[\d*\])?\.)*("[^"]*|\w*)$')
_PART = re.compile(r'("(?:[^"]|"")*"|\w+)(?:\[\d*\])?\.')
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_SILENT = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$", re.DOTALL)
_CLOSED = re.compile(_SILENT.pattern.replace(r"--[^\n]*", r"--[^\n]*\n"), re.DOTALL)
_OPEN = re.compile(r"'[^']*$|--[^\n]*$|/\*(?:(?!\*/).)*$|\$(\w*)\$(?:(?!\$\1\$).)*$", re.DOTALL)
_NAME = r'(?:"(?:[^"]|"")*"|\w+)'
_USES = re.compile(
    rf"(?:\b(?:from|join|describe|summarize|table|pivot|unpivot)\s+|,\s*)({_NAME}(?:\.{_NAME})?)(?:\s+(?:as\s+)?({_NAME}))?",
    re.IGNORECASE,
)
_WANTS_TABLE = re.compile(
    rf"\b(?:from|join|describe|summarize|table|pivot|unpivot)\s+(?:{_NAME}(?:\.{_NAME})?(?:\s+(?:as\s+)?{_NAME})?\s*,\s*)*$",
    re.IGNORECASE,
)


@frozen
class Suggestion:
    """A name that may replace the `length` characters before the cursor, and its kind."""

    text: str
    length: int
    kind: str


@frozen
class Vocabulary:
    """All names there are; names without a schema are looked up in `schema`."""

    schema: str
    tables: Sequence[TableShape] = ()
    functions: Sequence[str] = ()
    keywords: Sequence[str] = ()
    reserved: frozenset[str] = frozenset()
    """The words of SQL that cannot name a column without quotes."""


def suggestions(text: str, cursor: int, words: Vocabulary) -> list[Suggestion]:
    """Completions at the cursor of a text of one or several statements."""
    statement, before = _statement(text, cursor)
    if _OPEN.search(_CLOSED.sub("", before)):
        return []
    path = _PATH.search(before)
    parents = [_bare(part) for part in _PART.findall(path[0])] if path else []
    typed = path[2] if path else ""
    prefix = typed.strip('"').lower()
    if parents:
        named = _below(parents, statement, words)
    elif _WANTS_TABLE.search(before[: len(before) - len(typed)]):
        named = _tables_and_schemas(words)
    else:
        named = _anything(statement, words, has_prefix=bool(prefix))
    found: dict[str, Suggestion] = {}
    for name, kind in named:
        if name.lower().startswith(prefix):
            shown = name if kind in ("function", "keyword") else _quoted(name, words.reserved)
            found.setdefault(shown, Suggestion(_in_case(shown, typed, kind), len(typed), kind))
    return list(found.values())


def _statement(text: str, cursor: int) -> tuple[str, str]:
    """The statement around the cursor, and the part of it before."""
    blanked = _SILENT.sub(lambda found: " " * len(found[0]), text)
    begin = blanked.rfind(";", 0, cursor) + 1
    end = blanked.find(";", cursor)
    return text[begin : None if end < 0 else end], text[begin:cursor]


def _anything(statement: str, words: Vocabulary, *, has_prefix: bool) -> Iterator[tuple[str, str]]:
    for alias, table in _used(statement, words).items():
        yield from ((column.name, f"{alias}: {column.type}") for column in table.columns)
    yield from _tables_and_schemas(words)
    if has_prefix:  # there are hundreds
        for table in words.tables:
            if table.schema == words.schema:
                yield from ((column.name, f"{table.name}: {column.type}") for column in table.columns)
        yield from ((name, "keyword") for name in words.keywords)
        yield from ((name, "function") for name in words.functions)


def _tables_and_schemas(words: Vocabulary) -> Iterator[tuple[str, str]]:
    yield from ((table.name, "table") for table in words.tables if table.schema == words.schema)
    yield from ((schema, "schema") for schema in dict.fromkeys(table.schema for table in words.tables))


def _below(parents: Sequence[str], statement: str, words: Vocabulary) -> Iterator[tuple[str, str]]:
    """Names after a dot: tables of a schema, columns of a table or its alias, fields of a struct."""
    first, rest = parents[0], parents[1:]
    if not rest:
        yield from ((table.name, "table") for table in words.tables if table.schema.lower() == first)
    used = _used(statement, words)
    for alias, table in used.items():
        if alias.lower() == first:
            yield from _fields(table.columns, rest)
    for table in used.values() or [table for table in words.tables if table.schema == words.schema]:
        yield from _fields(table.columns, parents)
    for table in words.tables:
        if table.schema.lower() == first and rest and table.name.lower() == rest[0]:
            yield from _fields(table.columns, rest[1:])


def _fields(columns: Iterable[ColumnShape], path: Sequence[str]) -> Iterator[tuple[str, str]]:
    for step in path:
        columns = next((column.fields for column in columns if column.name.lower() == step), ())
    yield from ((column.name, column.type) for column in columns)


def _used(statement: str, words: Vocabulary) -> dict[str, TableShape]:
    """The tables that a statement names, by their alias or name."""
    known = {(table.schema.lower(), table.name.lower()): table for table in words.tables}
    found: dict[str, TableShape] = {}
    for match in _USES.finditer(_SILENT.sub(" ", statement)):
        parts = [_bare(part) for part in re.findall(_NAME, match[1])]
        schema, name = parts if len(parts) == 2 else (words.schema.lower(), parts[0])
        if table := known.get((schema, name)):
            alias = match[2]
            is_alias = alias is not None and alias.lower() not in words.keywords
            found[alias if is_alias else table.name] = table
    return found


def _bare(name: str) -> str:
    """A name as it is compared: without quotes, in lower case."""
    return name.strip('"').replace('""', '"').lower()


def _quoted(name: str, reserved: frozenset[str]) -> str:
    if _PLAIN.fullmatch(name.lower()) and name.lower() not in reserved:
        return name
    return '"' + name.replace('"', '""') + '"'


def _in_case(name: str, typed: str, kind: str) -> str:
    """A word of SQL in the case in which it was begun."""
    return name.upper() if kind == "keyword" and typed[:1].isupper() else name
