"""Values of parameters as literals in the tree of a statement, where no engine can bind them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp
from sqlglot.expressions import Expr

from tailpipe.errors import UsageError
from tailpipe.query.parameters import Params

_LARGEST = 2**63


def with_values(statement: Expr, params: Params) -> Expr:
    """The statement with a literal in place of each parameter; the writer of the tree escapes it like any other."""
    given = {name.lower(): (name, value) for name, value in params.items()}
    for node in list(statement.find_all(exp.Placeholder, exp.Parameter)):
        if (found := given.get(str(node.name).lower())) is None:
            continue
        literal = _literal(*found)
        if node.arg_key == "field" and isinstance(node.parent, exp.In) and isinstance(literal, exp.Array):
            node.parent.set("expressions", literal.expressions)  # `x IN $list`
            node.parent.set("field", None)
        else:
            node.replace(literal)
    return statement


def _literal(name: str, value: Any) -> Expr:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int) and -_LARGEST < value < _LARGEST:
        number = exp.Literal.number(abs(value))
        return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number
    if isinstance(value, float):
        return _cast(repr(value) if math.isfinite(value) else str(value), "DOUBLE")
    if isinstance(value, Decimal) and value.is_finite():
        whole, _, behind = f"{abs(value):f}".partition(".")
        return _cast(f"{value:f}", f"DECIMAL({len(whole) + len(behind)}, {len(behind)})")
    if isinstance(value, datetime):
        plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return _cast(plain.isoformat(" "), "TIMESTAMP")
    if isinstance(value, date):
        return _cast(value.isoformat(), "DATE")
    if isinstance(value, list | tuple):
        return exp.Array(expressions=[_literal(name, item) for item in value])
    if isinstance(value, str) and "\0" not in value:  # before a digit, Spark reads it as another character
        return exp.Literal.string(value)
    if type(value).__name__ == "UUID":
        return exp.Literal.string(str(value))
    kind = "text with the character NUL" if isinstance(value, str) else type(value).__name__
    raise UsageError(f'the parameter "{name}" cannot be passed to Spark: {kind}', hint="remove --engine spark")


def _cast(text: str, kind: str) -> Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, dialect="duckdb"))
