"""The registry: which plugins there are, and who brings which name. A value, not a global."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, get_args

from tailpipe.errors import ConfigError, PluginError, TailpipeError
from tailpipe.model.connection import Connection
from tailpipe.model.detection import Detection
from tailpipe.model.format import Format
from tailpipe.model.saved import SavedQuery
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.plugin.discovery import entry_points
from tailpipe.plugin.lazy import LazyMap
from tailpipe.plugin.packs import BUILT_IN, pack_folders, read_pack
from tailpipe.plugin.plugin import Kind, Late, Plugin, load_part, refuse_misfit

__all__ = ["ENTRY_POINTS", "Registry"]

ENTRY_POINTS = "tailpipe.plugins"
_KINDS: tuple[Kind, ...] = get_args(Kind)
_WORDS: Mapping[Kind, str] = {"preset": "format", "query": "saved query"}
"""What a person calls a kind, where that is another word."""


class Registry:
    """All names that plugins bring. `Registry([plugin])` is the whole world of a test.

    Plugins are imported on first use, and late parts on their own first use. A plugin that cannot be loaded is skipped
    with a warning; two plugins that bring the same name are refused.
    """

    def __init__(self, plugins: Iterable[Plugin] | Callable[[Registry], Iterable[Plugin]] = ()) -> None:
        self._found = plugins
        self.warnings: list[str] = []
        """What went wrong while loading, one line for each plugin left out."""

    @classmethod
    def installed(cls, packs: str | None = None) -> Registry:
        """The plugins of the current environment, by their entry points, and packs: built in, and in a directory."""

        def found(registry: Registry) -> Iterator[Plugin]:
            code: dict[str, Plugin] = {}
            for plugin in _load_entry_points(registry):
                if plugin.pack:
                    code[plugin.pack] = plugin
                else:
                    yield plugin
            folders = [folder for directory in (BUILT_IN, packs) if directory for folder in pack_folders(directory)]
            for folder in dict.fromkeys([*folders, *code]):
                yield from _load_pack(registry, folder, code.get(folder))

        return cls(found)

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
        """Tables by name."""
        return self._parts("table")

    @cached_property
    def sources(self) -> Mapping[str, type[Source]]:
        """Types of sources by name."""
        return self._parts("source")

    @cached_property
    def formats(self) -> Mapping[str, type[Format]]:
        """Types of formats by name."""
        return self._parts("format")

    @cached_property
    def presets(self) -> Mapping[str, Format]:
        """Ready formats, by `type.name`."""
        return self._parts("preset")

    @cached_property
    def connections(self) -> Mapping[str, type[Connection]]:
        """Types of connections by name; each has a connection `default`."""
        return self._parts("connection")

    @cached_property
    def queries(self) -> Mapping[str, SavedQuery]:
        """Saved queries by name."""
        return self._parts("query")

    @cached_property
    def detections(self) -> Mapping[str, Detection]:
        """Detections by name."""
        return self._parts("detection")

    def owner(self, kind: Kind, name: str) -> str | None:
        """The plugin that brings a name, if one does."""
        return self._owners.get((kind, name))

    @cached_property
    def _owners(self) -> Mapping[tuple[Kind, str], str]:
        kinds = ((plugin, kind) for plugin in self.plugins.values() for kind in _KINDS)
        return {(kind, name): plugin.name for plugin, kind in kinds for name, _ in plugin.parts(kind)}

    def _parts(self, kind: Kind) -> Mapping[str, Any]:
        """The parts of a kind by name, each loaded on first use; two plugins cannot bring the same."""
        owners: dict[str, Plugin] = {}
        makers: dict[str, Callable[[], Any]] = {}
        for plugin in self.plugins.values():
            for name, part in plugin.parts(kind):
                if (first := owners.setdefault(name, plugin)) is not plugin or name in makers:
                    raise PluginError(
                        f'{_WORDS.get(kind, kind)} "{name}" is defined by plugin "{first.name}" and by plugin'
                        f' "{plugin.name}"',
                        plugins=(first.name, plugin.name),
                        hint=f"uninstall one of them: tailpipe plugin uninstall {plugin.name}",
                    )
                makers[name] = partial(_load, self, plugin, kind, part)
        return LazyMap(makers)


def _load(registry: Registry, plugin: Plugin, kind: Kind, part: Any) -> Any:
    try:
        return load_part(kind, part, registry)
    except Exception as error:
        why = _first(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
        raise PluginError(
            f'{_WORDS.get(kind, kind)} "{part.name}" of plugin "{plugin.name}" cannot be loaded: {why}',
            plugins=(plugin.name,),
            hint=f"install another version of it, or uninstall it: tailpipe plugin uninstall {plugin.name}",
        ) from error


def _first(error: ConfigError) -> str:
    """The first problem of a pack's file, with its place."""
    first, *others = error.diagnostics
    more = f" (and {len(others)} more)" if others else ""
    return f"{first.place.file}:{first.place.line}: {first.message}{more}"


def _load_entry_points(registry: Registry) -> Iterator[Plugin]:
    for entry in entry_points(ENTRY_POINTS):
        package, version = entry.package()
        try:
            plugin = entry.load()
            if not isinstance(plugin, Plugin):
                raise TypeError(f"{entry.value} is a {type(plugin).__name__}, not a Plugin")
            for kind in _KINDS:
                for part in plugin.declared(kind):
                    if not isinstance(part, Late):
                        refuse_misfit(kind, part)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a foreign module raises at import
            why = " ".join(str(error).split()) or "no reason given"
            origin = f' of package "{package}"' if package else ""
            registry.warnings.append(f'plugin "{entry.name}"{origin} is left out: {type(error).__name__}: {why}')
        else:
            yield plugin.from_package(package, version)


def _load_pack(registry: Registry, folder: str, code: Plugin | None) -> Iterator[Plugin]:
    """The pack of a folder, with the code that belongs to it."""
    try:
        pack = read_pack(folder)
    except TailpipeError as error:
        why = _first(error) if isinstance(error, ConfigError) else error.message
        registry.warnings.append(f'pack "{folder}" is left out: {why}')
    else:
        yield pack.with_code(code) if code is not None else pack


def _origin(plugin: Plugin) -> str:
    if plugin.folder:
        return f'the pack in "{plugin.folder}"'
    return f'package "{plugin.package}"' if plugin.package else "one given directly"
