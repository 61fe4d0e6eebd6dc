"""Facts: named texts that the catalog keeps, such as the place of its files."""

from __future__ import annotations

import sqlite3

from tailpipe.catalog.schema import has_table


def read_fact(connection: sqlite3.Connection, name: str) -> str | None:
    """The text of a fact; None if there is none, also in a catalog of an earlier version that is only read."""
    if not has_table(connection, "facts"):
        return None
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else None


def write_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Set a fact; the caller holds the transaction."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def drop_fact(connection: sqlite3.Connection, name: str) -> None:
    """Remove a fact; the caller holds the transaction."""
    connection.execute("DELETE FROM facts WHERE name = ?", (name,))
