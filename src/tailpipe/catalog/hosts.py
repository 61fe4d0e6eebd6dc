"""The names that a workspace has collected under: the catalog remembers them, so that none makes a stranger of it."""

from __future__ import annotations

import sqlite3

from tailpipe.catalog.schema import has_table
from tailpipe.model.host import Host

__all__ = ["own_hosts", "remember_host"]

_FACT = "host:"


def own_hosts(connection: sqlite3.Connection, name: str | None = None) -> Host:
    """Whose catalog this is: the name of today, and all that it ever had."""
    if not has_table(connection, "facts"):
        return Host(name)  # a catalog of an earlier version, opened to be read
    rows = connection.execute("SELECT name FROM facts WHERE name >= ? AND name < 'host;'", (_FACT,)).fetchall()
    return Host(name, frozenset(fact.removeprefix(_FACT) for (fact,) in rows))


def remember_host(connection: sqlite3.Connection, name: str | None) -> None:
    """Note down a name of this workspace."""
    if name is not None and name not in own_hosts(connection).before:
        connection.execute("INSERT INTO facts VALUES (?, '') ON CONFLICT DO NOTHING", (_FACT + name,))
