"""The type `inet` and its operators, from an extension of DuckDB that is installed with us: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tailpipe.errors import TailpipeError
from tailpipe.kernel.duck import duckdb
from tailpipe.kernel.sql import literal, quoted
from tailpipe.model.types import stored_type
from tailpipe.query.statements import split_statements

__all__ = ["INET_WORDS", "as_text", "is_address", "load_statement"]

INET_WORDS = frozenset({"inet", "html_escape", "html_unescape"})
"""Loading takes longer than most answers, so it is done for statements with one of these words alone."""


def is_address(kind: str) -> bool:
    """Whether a type of DuckDB is that of addresses, or has it inside."""
    return stored_type(kind, "INET") != kind


def as_text(sql: str, names: Sequence[str], types: Sequence[str]) -> str:
    """The same query with its addresses as text: to all but DuckDB, an address is a struct of numbers."""
    casts = ", ".join(
        f"CAST(c{x} AS {stored_type(kind, 'INET')}) AS {quoted(name)}"
        if is_address(kind)
        else f"c{x} AS {quoted(name)}"
        for x, (name, kind) in enumerate(zip(names, types, strict=True))
    )
    query = split_statements(sql)[-1]
    columns = ", ".join(f"c{x}" for x in range(len(names)))
    return f"SELECT {casts} FROM (\n{query}\n) AS answer({columns})"


def load_statement() -> str:
    """The statement that loads the extension from its file."""
    spec = find_spec("duckdb_extension_inet")
    places = spec.submodule_search_locations or () if spec else ()
    for place in places:
        path = Path(place) / "extensions" / f"v{duckdb.__version__}" / "inet.duckdb_extension"
        if path.is_file():
            return f"LOAD {literal(str(path))}"
    raise TailpipeError(
        "the functions for addresses are not installed",
        hint=f"install them with: pip install duckdb-extension-inet=={duckdb.__version__}",
    )
