"""Translate: a statement of DuckDB's SQL as one of Spark's. Text and names only; nothing is read here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tailpipe.errors import UsageError
from tailpipe.query.dialects import reconcile, refused
from tailpipe.query.statements import words

if TYPE_CHECKING:
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.expressions import Expr

__all__ = ["Translated", "refuse_other", "spark_name", "to_spark", "to_spark_condition"]

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


def refuse_other(sql: str) -> None:
    """Refuse what is no SELECT."""
    from sqlglot import exp

    if not isinstance(_parsed(sql), exp.Query):
        raise UsageError("on Spark a query is a SELECT", hint="leave out --engine spark for other statements")


def to_spark(
    sql: str, tables: Mapping[str, Collection[str]], *, default: str, types: Mapping[str, str] | None = None
) -> Translated:
    """The statement for Spark; `tables` are those that it may read, by schema, `default` the one without a name.

    `types` are those of the columns, by name in lower case.
    """
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    statement = _parsed(sql)
    known = {(schema.lower(), name.lower()): (schema, name) for schema, names in tables.items() for name in names}
    used: dict[tuple[str, str], None] = {}
    for scope in traverse_scope(statement):
        for table in scope.tables:
            if table.name.lower() in map(str.lower, scope.cte_sources) or isinstance(table.this, exp.Func):
                continue
            found = known.get(((table.db or default).lower(), table.name.lower()))
            if found is None or table.catalog:
                shown = ".".join(part.name for part in table.parts)
                raise UsageError(f"there is no table {shown}", hint="see: tailpipe table list")
            used[found] = None
            alias = table.alias or table.name
            table.replace(exp.alias_(exp.table_(spark_name(*found), quoted=True), alias, table=True, quoted=True))
    for column in statement.find_all(exp.Column):
        if (column.text("db").lower(), column.text("table").lower()) in known:  # the table is known by its own name
            column.set("db", None)
            column.set("catalog", None)
    return Translated(_written(statement, types or {}), tuple(used))


def to_spark_condition(sql: str, types: Mapping[str, str] | None = None) -> str:
    """A condition on rows for Spark."""
    return _written(_parsed(sql), types or {})


def _written(statement: Expr, types: Mapping[str, str]) -> str:
    from sqlglot import exp
    from sqlglot.errors import ErrorLevel, UnsupportedError

    reconciled = reconcile(statement, types)
    for length in list(reconciled.find_all(exp.Length)):
        # Spark measures lists by another function than text.
        if isinstance(length.this, exp.Column) and types.get(length.this.name.lower(), "").endswith("[]"):
            length.replace(exp.ArraySize(this=length.this))
    try:
        return reconciled.sql(dialect="spark", unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise _untranslatable(error) from error


def _parsed(sql: str) -> Expr:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        if any(token.token_type.name == "TILDE" for token in sqlglot.tokenize(sql, read="duckdb")):
            raise refused("~", "write regexp_matches")
        parsed = sqlglot.parse_one(sql, read=_dialect())
    except SqlglotError as error:
        raise (refused("inet") if "inet" in words(sql) else _untranslatable(error)) from error
    for call in parsed.find_all(exp.Anonymous):
        if call.name.lower() in _REACHES_OUT:
            raise UsageError(f"{call.name} is not allowed in a query")
    return parsed


@cache
def _dialect() -> type[DuckDB]:
    """DuckDB's SQL with its paths of JSON as they are written: the translator would take a key apart at its dots."""
    from sqlglot.dialects.duckdb import DuckDB

    class AsWritten(DuckDB):
        def to_json_path(self, path: Expr | None) -> Expr | None:
            return path

    return AsWritten


def _untranslatable(error: Exception) -> UsageError:
    return UsageError(
        f"the statement cannot be translated for Spark: {_first_line(error)}",
        hint="leave out --engine spark, or write it in simpler words",
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].split(". Line")[0].rstrip(".")
