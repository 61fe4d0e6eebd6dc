"""Saved queries on the command line: a bare word becomes the statement of that name, with its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from tailpipe.cli.options import completes, home_of
from tailpipe.cli.params import named_in
from tailpipe.cli.statements import Statement
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.nearest import did_you_mean
from tailpipe.operations.facts import table_names

if TYPE_CHECKING:
    from tailpipe.home.home import Home
    from tailpipe.model.saved import SavedQuery

_BARE = re.compile(r"[A-Za-z_][\w-]*")


def resolved(statements: Sequence[Statement], given: Mapping[str, Any], home: Home) -> list[Statement]:
    """The statements, saved queries in place of their names, each with the values that it names.

    A value that none of them names is refused. One word that DuckDB itself takes for a statement stays one.
    """
    saved = [find_saved(home, one.sql) if is_name(one, home) else None for one in statements]
    found, used = [], set[str]()
    for query, statement in zip(saved, statements, strict=True):
        # The session, or the saved query, refuses what a single statement does not name.
        values = given if len(statements) == 1 else named_in(query.text if query else statement.sql, given)
        used |= values.keys()
        if query:
            found.append(statement_of(query, query.values(values, now=datetime.now(UTC))))
        else:
            found.append(replace(statement, params=values))
    refuse_unused(given, used, "see: tailpipe saved show NAME" if any(saved) else "write it as $name in one of them")
    return found


def refuse_unused(given: Mapping[str, Any], used: set[str], hint: str = "see: tailpipe saved show NAME") -> None:
    """Refuse a value that no query names."""
    for name in given:
        if name not in used:
            raise UsageError(f'no statement has a parameter "{name}"', hint=hint)


def statement_of(query: SavedQuery, values: Mapping[str, Any]) -> Statement:
    """A saved query as a statement with its place: in its file, or else in itself."""
    file = query.origin or query.file or f"query {query.name}"
    return Statement(query.text, file, "\n" * query.line + query.text, query.line, values, query.name)


def find_saved(home: Home, name: str) -> SavedQuery:
    """The saved query of that name, or an error with the nearest one, or with what a table is read by."""
    queries: Mapping[str, SavedQuery] = home.queries
    if name in queries:
        return queries[name]
    if name.lower() in (table.lower() for table in table_names(home)):
        raise UsageError(f'"{name}" is a table, not a saved query', hint=f'to read it: tailpipe query "FROM {name}"')
    hint = did_you_mean(name, queries, "see: tailpipe saved list")
    raise UsageError(f"saved query not found: {name}", hint=hint)


def is_name(statement: Statement, home: Home) -> bool:
    """Whether a statement is one word that names a saved query, or means to: no SQL consists of it alone."""
    if statement.file or not _BARE.fullmatch(statement.sql):
        return False
    return statement.sql in home.queries or not _is_sql(statement.sql)


def _is_sql(word: str) -> bool:
    """Whether a word alone is a statement, as SHOW is."""
    from tailpipe.sql.duck import blank, duckdb

    with blank() as connection:
        try:
            return bool(connection.extract_statements(word))
        except duckdb.Error:
            return False


complete_names = completes(lambda home: sorted(home.queries))


def complete_params(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """What may follow `--param`: the parameters of the saved queries that the call names."""
    # While a flag still lacks its value, click leaves the arguments unparsed.
    words = [*context.args, *(context.params.get("sources") or ()), *(context.params.get("names") or ())]
    try:
        queries = home_of(context).queries
        named = [queries[word] for word in words if word in queries]
        found = dict.fromkeys(f"{one.name}=" for query in named for one in query.params)
        return [name for name in found if name.startswith(incomplete)]
    except TailpipeError:
        return []
