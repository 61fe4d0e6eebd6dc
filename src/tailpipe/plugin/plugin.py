"""A plugin: the tables, sources, formats and connections that a package brings, as one value."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.source import Source
from tailpipe.model.table import Table

__all__ = ["LateTable", "Plugin"]


@dataclass(frozen=True)
class LateTable:
    """A table that is imported when it is asked for, for a plugin with many: `LateTable("x_log", "x.tables:XLog")`."""

    name: str
    place: str
    """Module and class, as in an entry point."""

    def load(self) -> Table:
        """The table itself."""
        module, _, found = self.place.partition(":")
        table = getattr(import_module(module), found)()
        if not isinstance(table, Table) or table.name != self.name:
            raise TypeError(f'{self.place} is not the table "{self.name}"')
        return table


@dataclass(frozen=True)
class Plugin:
    """What a package brings. `formats` are types of formats, `presets` ready formats of such types."""

    name: str
    description: str = ""
    tables: Sequence[type[Table] | Table | LateTable] = ()
    sources: Sequence[type[Source]] = ()
    formats: Sequence[type[Format]] = ()
    presets: Sequence[Format] = ()
    connections: Sequence[type[Connection]] = ()
    package: str = field(default="", compare=False)
    """Distribution that brought it; filled in when it is found."""
    version: str = field(default="", compare=False)

    def late_tables(self) -> tuple[LateTable | Table, ...]:
        """The tables, those that come late still to be loaded; one that was declared as a class is made."""
        made: list[LateTable | Table] = []
        for table in self.tables:
            declared: Any = table  # a class states all fields, which its type cannot tell
            made.append(declared() if isinstance(table, type) else table)
        return tuple(made)

    def made_tables(self) -> tuple[Table, ...]:
        """All tables as values."""
        return tuple(table.load() if isinstance(table, LateTable) else table for table in self.late_tables())

    def from_package(self, package: str, version: str) -> Plugin:
        """The same plugin, knowing where it came from."""
        return dataclasses.replace(self, package=package, version=version)
