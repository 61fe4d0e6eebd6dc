"""The type `inet` and its operators, from an extension of DuckDB that is installed with us: nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailpipe.sql.extension import load_extension
from tailpipe.sql.macros import make_macros

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

INET_WORDS = frozenset({"inet", "html_escape", "html_unescape"})
"""Loading takes longer than most answers, so it is done for SQL with one of these words alone."""
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(INET_WORDS))})\b", re.IGNORECASE)


_OPERATORS = {"<<=": "TRY_CAST(a AS INET), CAST(b AS INET)", ">>=": "CAST(a AS INET), TRY_CAST(b AS INET)"}
"""The operators on addresses and networks, with what is made of text: a network must be one, other text gives null."""


def wants_inet(texts: Iterable[str | None]) -> bool:
    """Whether one of these pieces of SQL may want the extension."""
    return any(text and _WORDS.search(text) for text in texts)


def load_for(connection: duckdb.DuckDBPyConnection, texts: Iterable[str | None]) -> None:
    """Load the extension if one of these pieces of SQL may want it, and make the macros that they call."""
    texts = list(texts)
    if wants_inet(texts):
        connection.execute(load_statement())
    make_macros(connection, texts)


def load_statement() -> str:
    """The statement that loads the extension from its file."""
    return load_extension("inet", "the functions for addresses are")


def compares_addresses(sql: str) -> bool:
    """Whether a statement may use an operator on addresses."""
    return any(operator in sql for operator in _OPERATORS)


def load_with_operators() -> str:
    """The statements that load the extension and let its operators take text, as columns of addresses are stored."""
    macro = 'CREATE OR REPLACE TEMP MACRO "{0}"(a, b) AS system.main."{0}"({1})'
    return "; ".join([load_statement(), *(macro.format(name, sides) for name, sides in _OPERATORS.items())])
