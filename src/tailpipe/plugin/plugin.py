"""A plugin: the tables, sources, formats and connections that a package brings, as one value."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tailpipe.frozen import frozen
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.saved import read_saved
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.plugin.discovery import value_at

if TYPE_CHECKING:
    from tailpipe.plugin.registry import Registry

__all__ = ["Kind", "Late", "Plugin", "load_part", "refuse_misfit"]

Kind = Literal["table", "source", "format", "preset", "connection", "query", "detection"]
"""What a plugin can bring."""


class Late(NamedTuple):
    """A part that is imported on first use: `Late("x_log", "x.tables:XLog")`."""

    name: str
    """As config spells it: the name of a table, the type of a source, `type.name` of a preset."""
    place: str
    """Module and class or value, as in an entry point; or the `.tpc` file with it."""


@frozen
class Plugin:
    """What a package brings. `formats` are types of formats, `presets` ready formats of such types."""

    name: str
    description: str = ""
    tables: Sequence[type[Table] | Table | Late] = ()
    sources: Sequence[type[Source] | Late] = ()
    formats: Sequence[type[Format] | Late] = ()
    presets: Sequence[Format | Late] = ()
    connections: Sequence[type[Connection] | Late] = ()
    queries: Path | None = None
    """Directory of `.sql` files, each a saved query of the file's name."""
    detections: Path | None = None
    """Directory of `.tpc` files, each a detection of the file's name."""
    pack: str = ""
    """Folder of a pack whose tables, formats and detections are part of this plugin, which adds sources to them."""
    package: str = field(default="", compare=False)
    """Distribution that brought it; filled in when it is found."""
    version: str = field(default="", compare=False)
    folder: str = field(default="", compare=False)
    """Where a pack is; empty for a plugin in Python."""

    def declared(self, kind: Kind) -> list[Any]:
        """The parts of a kind, those that come late as `Late`; a class of a table is made."""
        if kind in ("query", "detection"):
            directory, suffix = (self.queries, ".sql") if kind == "query" else (self.detections, ".tpc")
            files = sorted(directory.glob(f"*{suffix}")) if directory is not None else []
            return [Late(file.stem, str(file)) for file in files]
        return [_made(kind, part) for part in getattr(self, f"{kind}s")]

    def parts(self, kind: Kind) -> list[tuple[str, Any]]:
        """The parts of a kind with their names."""
        return [(part.name if isinstance(part, Late) else _name(kind, part), part) for part in self.declared(kind)]

    def loaded(self, kind: Kind) -> list[Any]:
        """All parts of a kind, also those that come late."""
        return [load_part(kind, part) for part in self.declared(kind)]

    def with_code(self, code: Plugin) -> Plugin:
        """A pack, with the sources and connections of the plugin in Python that names it."""
        return dataclasses.replace(self, sources=code.sources, connections=code.connections, pack=code.pack)

    def from_package(self, package: str, version: str) -> Plugin:
        """The plugin with the package that brings it."""
        return dataclasses.replace(self, package=package, version=version)


def load_part(kind: Kind, part: Any, registry: Registry | None = None) -> Any:
    """The part itself, which is imported or read now if it comes late; the registry knows what a file refers to."""
    if not isinstance(part, Late):
        return part
    if kind == "query":
        query, flaws = read_saved(part.name, Path(part.place).read_text(encoding="utf-8"))
        if flaws:
            raise ValueError(f"{part.place}: {flaws[0].message}")
        return dataclasses.replace(query, origin=part.place)
    if part.place.endswith(".tpc"):
        from tailpipe.plugin.packs import load_file

        return load_file(kind, part, registry)
    found = _made(kind, value_at(part.place))
    refuse_misfit(kind, found)
    if (name := _name(kind, found)) != part.name:
        raise TypeError(f'{part.place} is the {kind} "{name}", not "{part.name}"')
    return found


def refuse_misfit(kind: Kind, part: Any) -> None:
    """Find now, while it is known whose fault it is, what would fail at the first question."""
    if kind in ("table", "preset"):
        base = Table if kind == "table" else Format
        if not isinstance(part, base):
            raise TypeError(f"{part!r} is not a {base.__name__.lower()}")
        return
    expected: type[Source | Format | Connection] = {"source": Source, "format": Format, "connection": Connection}[kind]
    if not (isinstance(part, type) and issubclass(part, expected)) or not part.type:
        raise TypeError(f"{part!r} is not a type of {kind}")
    if kind == "connection":
        part()  # the default one


def _made(kind: Kind, part: Any) -> Any:
    """A table that was declared as a class states all its fields, so it can be made."""
    return part() if kind == "table" and isinstance(part, type) else part


def _name(kind: Kind, part: Any) -> str:
    if kind == "table":
        return str(part.name)
    return f"{part.type}.{part.name}" if kind == "preset" else str(part.type)
