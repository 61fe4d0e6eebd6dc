"""Translate: a statement of DuckDB's SQL as one of Spark's. Text and names only; nothing is read here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailpipe.errors import UsageError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["Translated", "spark_name", "to_spark", "to_spark_condition"]

_REACHES_OUT = frozenset({"reflect", "java_method", "try_reflect"})
"""Functions of Spark that call any method of Java, so also those that read and write files."""


@dataclass(frozen=True)
class Translated:
    """Spark SQL, and the tables it reads by schema and name."""

    sql: str
    tables: tuple[tuple[str, str], ...]


def spark_name(schema: str, table: str) -> str:
    """How a table is called in Spark, whose temporary views have no schema."""
    return f"{schema}__{table}"


def to_spark(
    sql: str, tables: Mapping[str, Collection[str]], *, default: str, lists: Collection[str] = ()
) -> Translated:
    """The statement for Spark; `tables` are those that it may read, by schema, `default` the one without a name.

    `lists` are the columns that hold lists: Spark measures these by another function than text.
    """
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    statement = _parsed(sql)
    if not isinstance(statement, exp.Query):
        raise UsageError("on Spark a query is a SELECT", hint="leave out --engine spark for other statements")
    known = {(schema.lower(), name.lower()): (schema, name) for schema, names in tables.items() for name in names}
    used: dict[tuple[str, str], None] = {}
    for scope in traverse_scope(statement):
        for table in scope.tables:
            if table.name in scope.cte_sources or isinstance(table.this, exp.Func):
                continue
            found = known.get(((table.db or default).lower(), table.name.lower()))
            if found is None or table.catalog:
                shown = ".".join(part.name for part in table.parts)
                raise UsageError(f"there is no table {shown}", hint="see: tailpipe table list")
            used[found] = None
            alias = table.alias or table.name
            table.replace(exp.alias_(exp.table_(spark_name(*found), quoted=True), alias, table=True, quoted=True))
    for length in list(statement.find_all(exp.Length)):
        if isinstance(length.this, exp.Column) and length.this.name in lists:
            length.replace(exp.ArraySize(this=length.this))
    return Translated(statement.sql(dialect="spark"), tuple(used))


def to_spark_condition(sql: str) -> str:
    """A condition on rows for Spark."""
    return _parsed(sql).sql(dialect="spark")


def _parsed(sql: str) -> Expr:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        parsed = sqlglot.parse_one(sql, read="duckdb")
    except SqlglotError as error:
        raise UsageError(
            f"the statement cannot be translated for Spark: {_first_line(error)}",
            hint="leave out --engine spark, or write it in simpler words",
        ) from error
    for call in parsed.find_all(exp.Anonymous):
        if call.name.lower() in _REACHES_OUT:
            raise UsageError(f"{call.name} is not allowed in a query")
    return parsed


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].split(". Line")[0].rstrip(".")
