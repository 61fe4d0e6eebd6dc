"""Check the `where` of schemas: that it is one condition, and that the tables have what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tailpipe.catalog.snapshot import Snapshot
from tailpipe.config.config import Config
from tailpipe.errors import Diagnostic, UsageError
from tailpipe.model.partition import Schema
from tailpipe.model.table import Table
from tailpipe.query.statements import is_refused
from tailpipe.query.views import shows, table_views
from tailpipe.sql.duck import duckdb


def check_schemas(config: Config, tables: Mapping[str, Table]) -> Iterator[Diagnostic]:
    """Every problem in the conditions of the config's schemas, with its place; each once, for the first table."""
    from tailpipe.sql.check import check_condition

    nothing = Snapshot(Path("/"), (), {}, 0)
    for schema in config.schemas.values():
        seen: set[tuple[str, int | None]] = set()
        address = f"schema.{schema.name}.where"
        for view in table_views(nothing, {name: table for name, table in tables.items() if shows(schema, name)}):
            is_closed = not tables[view.name].map_fields
            for problem in check_condition("where", schema.where or "true", view.columns, is_closed=is_closed):
                place = config.place(address, problem.position, problem.length)
                if place is not None and (problem.message, problem.position) not in seen:
                    seen.add((problem.message, problem.position))
                    yield Diagnostic(f'{problem.message} (table "{view.name}")', place, problem.hint)


def refuse_broken(connection: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    """Raise if the condition of a schema is not one condition on one row, and could so leave its view."""
    from tailpipe.sql.references import read_expression, weakness

    if schema.where is None:
        return
    expression = read_expression(connection, schema.where)
    what = expression.error
    if expression.subqueries:
        what = "a subquery is not allowed here"
    elif refused := [word.name for word in expression.functions if is_refused(word.name)]:
        what = f'the function "{refused[0]}" may do more than read'
    elif expression.weak_arrows:
        what, _ = weakness(expression.weak_arrows[0])
    if what:
        hint = "see where with: tailpipe config check --sql"
        raise UsageError(f'the where of schema "{schema.name}" cannot be used: {what}', hint=hint)
