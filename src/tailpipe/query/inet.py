"""Addresses in answers, which are text to all but DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

from tailpipe.model.types import stored_type
from tailpipe.query.statements import find_statements
from tailpipe.sql.quoting import quoted


def is_address(kind: str) -> bool:
    """Whether a type of DuckDB is that of addresses, or has it inside."""
    return stored_type(kind, "INET") != kind


def as_text(sql: str, names: Sequence[str], types: Sequence[str]) -> str:
    """A query with its addresses cast to text: to all but DuckDB, an address is a struct of numbers."""
    casts = ", ".join(
        f"CAST(c{x} AS {stored_type(kind, 'INET')}) AS {quoted(name)}"
        if is_address(kind)
        else f"c{x} AS {quoted(name)}"
        for x, (name, kind) in enumerate(zip(names, types, strict=True))
    )
    _, query = find_statements(sql)[-1]
    columns = ", ".join(f"c{x}" for x in range(len(names)))
    return f"SELECT {casts} FROM (\n{query}\n) AS answer({columns})"
