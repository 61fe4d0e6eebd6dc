"""Relations: every table and CTE of a statement gets a name that only this program knows.

What a statement reads is decided here alone: a name that is neither a CTE in scope nor one of the given tables is
refused, wherever it is written, and no word of the statement is left where Spark expects a relation.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.expressions import CTE, Expr, Identifier, Table

from tailpipe.errors import UsageError

Address = tuple[str, str]

_TABLE_PARTS = frozenset({"this", "db", "catalog", "alias", "joins", "laterals", "sample", "pivots"})
"""What may belong to a table; whether these parts are allowed themselves is checked for each node."""


def rename_relations(statement: Expr, tables: Mapping[Address, str], *, default: str, prefix: str) -> dict[str, str]:
    """Rename readable `tables` (schema and name in lower case) and CTEs; the former name of each new one."""
    ctes = {id(cte): f"{prefix}_{number}" for number, cte in enumerate(statement.find_all(exp.CTE))}
    found = [(table, _cte_in_scope(table)) for table in statement.find_all(exp.Table)]  # before any name changes
    names = {ctes[id(cte)]: cte.alias for cte in statement.find_all(exp.CTE)}
    for table, cte in found:
        if isinstance(table.this, exp.Func) and not table.db and not table.catalog:
            continue  # the rows of a function, which is checked like any other
        shown = ".".join(part.name for part in table.parts)
        address = ((table.db or default).lower(), table.name.lower())
        name = tables.get(address) if cte is None else ctes[id(cte)]
        parts = {key for key, value in table.args.items() if value}
        is_odd = table.catalog or not isinstance(table.this, exp.Identifier) or not parts <= _TABLE_PARTS
        if name is None or is_odd:
            raise UsageError(f"there is no table {shown}", hint="see: tailpipe table list")
        names[name] = shown
        _rename(table, name)
    for cte in statement.find_all(exp.CTE):
        cte.args["alias"].set("this", _identifier(ctes[id(cte)]))
    for column in statement.find_all(exp.Column):
        if (column.text("db").lower(), column.text("table").lower()) in tables:  # the table is known by its own name
            column.set("db", None)
            column.set("catalog", None)
    return names


def _rename(table: Table, name: str) -> None:
    """Give a table its new name; its alias is what the rest of the statement calls it."""
    alias = table.args.get("alias")
    if alias is None:
        table.set("alias", exp.TableAlias(this=_identifier(table.name)))
    elif alias.this is None:
        alias.set("this", _identifier(table.name))
    table.set("this", _identifier(name))
    table.set("db", None)


def _cte_in_scope(table: Table) -> CTE | None:
    """The CTE that a name without a schema means: the innermost one that is defined before it."""
    node: Expr = table
    while not table.db and (parent := node.parent) is not None:
        seen: list[CTE] = []
        if isinstance(parent, exp.With):
            place = next(number for number, cte in enumerate(parent.expressions) if cte is node)
            seen = parent.expressions[: place + _is_recursion(table, parent.expressions[place], parent)]
        elif isinstance(parent, exp.Query) and (given := parent.args.get("with_")) is not None and given is not node:
            seen = given.expressions
        for cte in seen:
            if cte.alias.lower() == table.name.lower():
                return cte
        node = parent
    return None


def _is_recursion(table: Table, cte: CTE, given: Expr) -> bool:
    """Whether a name in a CTE may mean the CTE itself: in the second half of a recursive UNION."""
    if not given.args.get("recursive") or not isinstance(cte.this, exp.Union):
        return False
    node: Expr | None = table
    while node is not None and node.parent is not cte.this:
        node = node.parent
    return node is cte.this.expression


def _identifier(name: str) -> Identifier:
    return exp.to_identifier(name, quoted=True)
