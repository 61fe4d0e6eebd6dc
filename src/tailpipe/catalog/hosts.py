"""The names that this workspace has had on its stores: files and commands under any of them are its own."""

from __future__ import annotations

import sqlite3

from tailpipe.catalog.facts import write_fact
from tailpipe.catalog.schema import has_table
from tailpipe.model.host import Host


def own_hosts(connection: sqlite3.Connection, name: str | None = None) -> Host:
    """The current name of this workspace, with all earlier names."""
    if not has_table(connection, "facts"):
        return Host(name)  # a catalog of an earlier version, opened to be read
    rows = connection.execute("SELECT substr(name, 6) FROM facts WHERE name >= 'host:' AND name < 'host;'").fetchall()
    return Host(name, frozenset(before for (before,) in rows))


def remember_host(connection: sqlite3.Connection, name: str | None) -> None:
    """Record a name of this workspace."""
    if name is not None and name not in own_hosts(connection).before:
        write_fact(connection, f"host:{name}", "")
