"""Translate: a statement of DuckDB's SQL as one of Spark's. Text and names only; nothing is read here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError
from sqlglot.expressions import Expr
from sqlglot.generators.spark import SparkGenerator

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.query.allowed import refuse_unknown, refused
from tailpipe.query.dialects import reconcile
from tailpipe.query.literals import with_values
from tailpipe.query.parameters import Params
from tailpipe.query.relations import rename_relations
from tailpipe.query.statements import words


class _DuckDB(DuckDB):
    """DuckDB's SQL with its paths of JSON as they are written: the translator would take a key apart at its dots."""

    def to_json_path(self, path: Expr | None) -> Expr | None:
        return path


class _Spark(Spark):
    """Spark's SQL without `${`, which Spark would replace in the text by a variable of this machine."""

    class Generator(SparkGenerator):
        def escape_str(self, text: str, *args: Any, **options: Any) -> str:
            return super().escape_str(text, *args, **options).replace("${", "$\\u007b")


@frozen
class Translated:
    """Spark SQL; the relations in it by their names there, and what the statement calls them."""

    sql: str
    names: Mapping[str, str]

    def in_own_words(self, text: str) -> str:
        """A text of Spark with the names that the statement has."""
        for name in sorted(self.names, key=len, reverse=True):  # one name may be the beginning of another
            text = text.replace(name, self.names[name])
        return text


def refuse_other(sql: str) -> None:
    """Refuse what is no SELECT."""
    if not isinstance(_parsed(sql), exp.Query):
        raise UsageError("only SELECT statements run on Spark", hint="remove --engine spark for other statements")


def to_spark(
    sql: str,
    tables: Mapping[tuple[str, str], str],
    *,
    default: str,
    prefix: str,
    types: Mapping[str, str] | None = None,
    params: Params | None = None,
) -> Translated:
    """The statement for Spark, in which each relation has a name that the statement cannot know.

    `tables` names the tables that it may read, by schema and name in lower case; `default` is the schema without a
    name; the names of its CTEs begin with the prefix. `types` are those of the columns, by name in lower case.
    `params` become literals of the statement's tree, as if they had been written there; no text is put together.
    """
    statement = with_values(_parsed(sql), params or {})
    names = rename_relations(statement, tables, default=default, prefix=prefix)
    return Translated(_written(statement, types or {}), names)


def to_spark_condition(sql: str, types: Mapping[str, str] | None = None) -> str:
    """A condition on rows for Spark, which reads nothing else."""
    condition = _parsed(sql)
    rename_relations(condition, {}, default="", prefix="")
    return _written(condition, types or {})


def _written(statement: Expr, types: Mapping[str, str]) -> str:
    reconciled = reconcile(statement, types)
    for length in list(reconciled.find_all(exp.Length)):
        # Spark measures lists by another function than text.
        if isinstance(length.this, exp.Column) and types.get(length.this.name.lower(), "").endswith("[]"):
            length.replace(exp.ArraySize(this=length.this))
    refuse_unknown(reconciled)
    try:
        # Comments could be hints; names in quotes are never taken for words of Spark.
        return reconciled.sql(_Spark, unsupported_level=ErrorLevel.RAISE, comments=False, identify=True)
    except UnsupportedError as error:
        raise _untranslatable(error) from error


def _parsed(sql: str) -> Expr:
    try:
        if any(token.token_type.name == "TILDE" for token in sqlglot.tokenize(sql, read="duckdb")):
            raise refused("~", "write regexp_matches")
        return sqlglot.parse_one(sql, read=_DuckDB)
    except SqlglotError as error:
        raise (refused("inet") if "inet" in words(sql) else _untranslatable(error)) from error


def _untranslatable(error: Exception) -> UsageError:
    reason = str(error).partition("\n")[0].split(". Line")[0].rstrip(".")
    return UsageError(
        f"the statement cannot be translated for Spark: {reason}", hint="remove --engine spark, or simplify it"
    )
