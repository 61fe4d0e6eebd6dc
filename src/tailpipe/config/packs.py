"""Packs as files: what `plugin.tpc` says, and the tables and formats of a pack, by the one decoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.config.builder import build_config
from tailpipe.config.decoder import Decoder
from tailpipe.config.functions import Surroundings
from tailpipe.config.loader import read_file
from tailpipe.config.parser import parse
from tailpipe.config.text import ConfigText, Problem
from tailpipe.errors import ConfigError, Diagnostic, PluginError
from tailpipe.model.detection import Detection
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import Declared, label, option
from tailpipe.model.table import Table
from tailpipe.plugin.packs import PACK, table_files
from tailpipe.plugin.plugin import Late, Plugin
from tailpipe.plugin.registry import Registry

if TYPE_CHECKING:
    from tailpipe.config.vocabulary import Vocabulary

_NOWHERE = Surroundings(now=datetime(1970, 1, 1, tzinfo=UTC), env={}, home="")
"""A pack says the same on every machine."""
_BLOCKS = ("plugin", "format")


class PackInfo(Declared):
    """What a pack is."""

    name: str = label("Name of the pack; its tables begin with it.")
    description: str = option("What the pack is for, in a sentence.", default="")
    version: str = option("Version of the pack.", default="")


def read_pack(folder: str) -> Plugin:
    """The plugin of a folder. Of its tables only the names are read."""
    path = Path(folder) / PACK
    text = _text(path)
    body, problems = parse(text.text)
    decoder = Decoder({}, lambda _, one: getattr(one, "value", None), _refuse)
    decoder.report_all(text, problems)
    found: list[PackInfo] = []
    for block in body.blocks:
        if block.type not in _BLOCKS:
            hint = did_you_mean(block.type, _BLOCKS, "tables stand in tables/NAME.tpc, one in each file")
            decoder.report(text, Problem(f'a pack has no block "{block.type}" here', block.span, hint))
        elif block.type == "plugin":
            found += [decoder.decode(text, block, PackInfo, "plugin")]
    if decoder.problems:
        raise ConfigError(tuple(decoder.problems))
    if len(found) != 1:
        hint = 'write one: plugin "NAME" { … }'
        raise PluginError(f'"{path}" has {len(found)} blocks "plugin"', plugins=(), hint=hint)
    info = found[0]
    presets = [".".join(label.text for label in block.labels) for block in body.blocks if block.type == "format"]
    return Plugin(
        name=info.name,
        description=info.description,
        tables=table_files(folder),
        presets=[Late(name, str(path)) for name in presets],
        detections=Path(folder) / "detections",
        package="pack",
        version=info.version,
        folder=folder,
    )


def load_file(kind: str, name: str, place: str, registry: Registry | None) -> Any:
    """The table, format or detection of that name in a file."""
    path = Path(place)
    text = _text(path)
    folder = path.parent if path.name == PACK else path.parent.parent
    config = build_config([text], _context(registry, str(folder)), _NOWHERE, is_pack=True)
    kinds: Mapping[str, Mapping[str, Any]] = {"table": config.tables, "detection": config.detections}
    found: Any = kinds.get(kind, config.formats).get(name)
    if found is None:
        raise PluginError(f'"{place}" has no {kind if kind in kinds else "format"} "{name}"', plugins=())
    if isinstance(found, Detection):
        return dataclasses.replace(found, is_shipped=True, origin=place)
    return dataclasses.replace(found, is_shipped=True) if isinstance(found, Table) else found


def _context(registry: Registry | None, folder: str) -> Registry:
    """A registry that knows the formats of tailpipe itself, and those of the pack."""
    from tailpipe.plugins.core import plugin as core

    found = dict((registry or Registry.installed()).plugins)
    found.setdefault("core", core)
    if (Path(folder) / PACK).is_file() and not any(plugin.folder == folder for plugin in found.values()):
        pack = read_pack(folder)
        found[pack.name] = pack
    if registry is not None and len(found) == len(registry.plugins):
        return registry
    return Registry(found.values())


def _text(path: Path) -> ConfigText:
    problems: list[Diagnostic] = []
    text = read_file(path, problems)
    if text is None:
        raise ConfigError(tuple(problems))
    text.hide(_no_names)
    return text


def _no_names() -> Vocabulary:
    from tailpipe.config.vocabulary import Vocabulary  # late, because most packs have no problem to show

    return Vocabulary()


def _refuse(reference: object) -> Any:
    raise ValueError(f"{reference} cannot stand here")
