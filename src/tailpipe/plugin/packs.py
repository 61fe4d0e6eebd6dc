"""Packs: plugins that are folders of config, with no code in them.

    my_pack/plugin.tpc            plugin "my_pack" { description, version }, and formats
    my_pack/tables/NAME.tpc       the table NAME
    my_pack/samples/NAME.log      logs of the table, with NAME.expected.jsonl beside them

A pack is known by the names of its files; a table is read on first use. The room `config` reads the files; it is above
this one, so it is imported by name.
"""

# Without `Path`, which takes longer than the reading does.
# ruff: noqa: PTH113, PTH118, PTH120, PTH208

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tailpipe.plugin.discovery import value_at
from tailpipe.plugin.plugin import Late, Plugin

if TYPE_CHECKING:
    from tailpipe.plugin.registry import Registry

__all__ = ["BUILT_IN", "PACK", "is_pack", "load_file", "pack_folders", "read_pack", "table_files"]

PACK = "plugin.tpc"
"""The file that makes a folder a pack."""
SUFFIX = ".tpc"
BUILT_IN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "plugins")
"""Where the packs are that are part of tailpipe."""


def is_pack(folder: str) -> bool:
    """Whether a folder holds a pack."""
    return os.path.isfile(os.path.join(folder, PACK))


def pack_folders(directory: str) -> Iterator[str]:
    """The packs in a directory."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        folder = os.path.join(directory, name)
        if not name.startswith((".", "_")) and is_pack(folder):
            yield folder


def table_files(folder: str) -> list[Late]:
    """The tables of `tables/NAME.tpc` in a folder; a plugin in Python may have such tables too."""
    tables = os.path.join(folder, "tables")
    try:
        names = sorted(name for name in os.listdir(tables) if name.endswith(SUFFIX) and not name.startswith("."))
    except OSError:
        return []
    return [Late(name.removesuffix(SUFFIX), os.path.join(tables, name)) for name in names]


def read_pack(folder: str) -> Plugin:
    """The plugin of a folder; a `ConfigError` says what is wrong with its `plugin.tpc`."""
    found: Plugin = value_at("tailpipe.config.packs:read_pack")(folder)
    return found


def load_file(kind: str, part: Late, registry: Registry | None) -> Any:
    """A table or format that is written in a file."""
    return value_at("tailpipe.config.packs:load_file")(kind, part.name, part.place, registry)
