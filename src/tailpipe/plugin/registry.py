"""The registry: which plugins there are, and who brings which name. A value, not a global."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import metadata
from typing import Any, Literal, TypeVar

from tailpipe.errors import PluginError
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.plugin.plugin import LateTable, Plugin

__all__ = ["ENTRY_POINTS", "Registry"]

ENTRY_POINTS = "tailpipe.plugins"
T = TypeVar("T")
Kind = Literal["table", "source", "format", "preset", "connection"]


class Registry:
    """All names that plugins bring. `Registry([plugin])` is the whole world of a test.

    Nothing is imported before the first question is asked. A plugin that cannot be loaded is left out
    with a warning; two plugins that bring the same name are refused.
    """

    def __init__(self, plugins: Iterable[Plugin] | Callable[[Registry], Iterable[Plugin]] = ()) -> None:
        self._found = plugins
        self.warnings: list[str] = []
        """What went wrong while loading, one line for each plugin left out."""

    @classmethod
    def installed(cls) -> Registry:
        """The plugins of the current environment, by their entry points."""
        return cls(_load_entry_points)

    @cached_property
    def plugins(self) -> Mapping[str, Plugin]:
        """The plugins by name."""
        found = self._found(self) if callable(self._found) else self._found
        plugins: dict[str, Plugin] = {}
        for plugin in sorted(found, key=lambda plugin: plugin.name):
            if (twin := plugins.get(plugin.name)) is not None:
                raise PluginError(
                    f'two plugins are named "{plugin.name}": {_origin(twin)} and {_origin(plugin)}',
                    plugins=(plugin.name,),
                    hint="uninstall one of them",
                )
            plugins[plugin.name] = plugin
        return plugins

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """Tables by name; one that comes late is loaded when it is asked for."""
        found = ((plugin, table.name, table) for plugin in self.plugins.values() for table in plugin.late_tables())
        return _Tables(_without_twins("table", found), lambda name: self.owner("table", name) or "")

    @cached_property
    def sources(self) -> Mapping[str, type[Source]]:
        """Types of sources by name."""
        return _without_twins("source", ((p, s.type, s) for p in self.plugins.values() for s in p.sources))

    @cached_property
    def formats(self) -> Mapping[str, type[Format]]:
        """Types of formats by name."""
        return _without_twins("format", ((p, f.type, f) for p in self.plugins.values() for f in p.formats))

    @cached_property
    def presets(self) -> Mapping[str, Format]:
        """Ready formats, by `type.name`."""
        made = ((p, f"{f.type}.{f.name}", f) for p in self.plugins.values() for f in p.presets)
        return _without_twins("format", made)

    @cached_property
    def connections(self) -> Mapping[str, type[Connection]]:
        """Types of connections by name; each has a connection `default`."""
        return _without_twins("connection", ((p, c.type, c) for p in self.plugins.values() for c in p.connections))

    def owner(self, kind: Kind, name: str) -> str | None:
        """The plugin that brings a name, if one does."""
        return self._owners.get((kind, name))

    @cached_property
    def _owners(self) -> Mapping[tuple[Kind, str], str]:
        owners: dict[tuple[Kind, str], str] = {}
        for plugin in self.plugins.values():
            owners.update({("table", table.name): plugin.name for table in plugin.late_tables()})
            owners.update({("source", source.type): plugin.name for source in plugin.sources})
            owners.update({("format", format_.type): plugin.name for format_ in plugin.formats})
            owners.update({("preset", f"{preset.type}.{preset.name}"): plugin.name for preset in plugin.presets})
            owners.update({("connection", connection.type): plugin.name for connection in plugin.connections})
        return owners


class _Tables(Mapping[str, Table]):
    """Tables by name, each loaded when it is first asked for."""

    def __init__(self, tables: Mapping[str, LateTable | Table], owner: Callable[[str], str]) -> None:
        self._tables = dict(tables)
        self._owner = owner

    def __getitem__(self, name: str) -> Table:
        table = self._tables[name]
        if isinstance(table, LateTable):
            try:
                table = self._tables[name] = table.load()
            except Exception as error:
                owner, why = self._owner(name), f"{type(error).__name__}: {error}"
                hint = f"install another version of it, or uninstall it: tailpipe plugin uninstall {owner}"
                message = f'table "{name}" of plugin "{owner}" cannot be loaded: {why}'
                raise PluginError(message, plugins=(owner,), hint=hint) from error
        return table

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _without_twins(kind: str, claims: Iterable[tuple[Plugin, str, T]]) -> Mapping[str, T]:
    brought: dict[str, T] = {}
    owners: dict[str, Plugin] = {}
    for plugin, name, value in claims:
        if name in owners:
            first = owners[name]
            raise PluginError(
                f'{kind} "{name}" is defined by plugin "{first.name}" and by plugin "{plugin.name}"',
                plugins=(first.name, plugin.name),
                hint=f"uninstall one of them: tailpipe plugin uninstall {plugin.name}",
            )
        owners[name] = plugin
        brought[name] = value
    return brought


def _load_entry_points(registry: Registry) -> Iterator[Plugin]:
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        package = ""
        try:
            package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("", "")
            plugin = entry.load()
            if not isinstance(plugin, Plugin):
                raise TypeError(f"{entry.value} is a {type(plugin).__name__}, not a Plugin")
            _refuse_misfits(plugin)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a foreign module raises at import
            why = " ".join(str(error).split()) or "no reason given"
            origin = f' of package "{package}"' if package else ""
            registry.warnings.append(f'plugin "{entry.name}"{origin} is left out: {type(error).__name__}: {why}')
        else:
            yield plugin.from_package(package, version)


def _refuse_misfits(plugin: Plugin) -> None:
    """Find now, while it is known whose fault it is, what would fail at the first question."""
    types: dict[type[Any], Sequence[Any]] = {
        Source: plugin.sources,
        Format: plugin.formats,
        Connection: plugin.connections,
    }
    for base, declared in types.items():
        for part in declared:
            is_type = isinstance(part, type) and issubclass(part, base)
            if not is_type or not part.type:
                raise TypeError(f"{part!r} is not a type of {base.__name__.lower()}")
    tables = [table for table in plugin.late_tables() if not isinstance(table, LateTable)]
    values: dict[type[Any], Sequence[Any]] = {Table: tables, Format: plugin.presets}
    for base, made in values.items():
        for part in made:
            if not isinstance(part, base):
                raise TypeError(f"{part!r} is not a {base.__name__.lower()}")
    for connection in plugin.connections:
        connection()  # the default one


def _origin(plugin: Plugin) -> str:
    return f'package "{plugin.package}"' if plugin.package else "one given directly"
