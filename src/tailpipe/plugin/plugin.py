"""A plugin: the tables, sources, formats and connections that a package brings, as one value."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.source import Source
from tailpipe.model.table import Table

__all__ = ["Plugin"]


@dataclass(frozen=True)
class Plugin:
    """What a package brings. `formats` are types of formats, `presets` ready formats of such types."""

    name: str
    description: str = ""
    tables: Sequence[type[Table] | Table] = ()
    sources: Sequence[type[Source]] = ()
    formats: Sequence[type[Format]] = ()
    presets: Sequence[Format] = ()
    connections: Sequence[type[Connection]] = ()
    package: str = field(default="", compare=False)
    """Distribution that brought it; filled in when it is found."""
    version: str = field(default="", compare=False)

    def made_tables(self) -> tuple[Table, ...]:
        """The tables as values; one that was declared as a class is made."""
        made: list[Table] = []
        for table in self.tables:
            declared: Any = table  # a class states all fields, which its type cannot tell
            made.append(declared() if isinstance(table, type) else table)
        return tuple(made)

    def from_package(self, package: str, version: str) -> Plugin:
        """The same plugin, knowing where it came from."""
        return dataclasses.replace(self, package=package, version=version)
