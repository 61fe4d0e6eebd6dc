"""The place of the files: the catalog remembers where they are, so that another `data_dir` is not taken for a loss."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from tailpipe.catalog.facts import read_fact, write_fact
from tailpipe.catalog.layout import INTERNAL, Layout
from tailpipe.catalog.root_facts import load_roots
from tailpipe.catalog.schema import here_alone
from tailpipe.errors import WorkspaceError
from tailpipe.storage.storage import LocalTree

_PLACE = "data_dir"
_HOME = "."
"""Stands for the directory of the catalog itself: a workspace may be moved whole."""


def check_place(connection: sqlite3.Connection, layout: Layout, tree: LocalTree, *, may_be_lost: bool = False) -> None:
    """Refuse a place in which the live files are not, unless they `may_be_lost` and it is the place where they were.

    Files are looked for only if the catalog remembers another place, or none, or if their directory is gone.
    """
    known = read_fact(connection, _PLACE)
    is_known = known == _name(layout)
    if (may_be_lost and (is_known or known is None)) or (is_known and tree.is_directory(layout.files)):
        return
    query = f"SELECT path FROM files WHERE state = 'live'{here_alone(connection)} ORDER BY path"  # noqa: S608 - ours
    elsewhere = replace(layout, roots=load_roots(connection))
    live = [path for (path,) in connection.execute(query) if elsewhere.stored(path) == layout.stored(path)]
    if not live or (known is None and any(tree.exists(layout.stored(path)) for path in live)):
        return
    missing = sum(not tree.exists(layout.stored(path)) for path in live)
    if not missing:
        return
    many = f"{missing:,} of {len(live):,}" if missing < len(live) else f"all {len(live):,}"
    if known is None or is_known:
        raise WorkspaceError(
            f"{many} files of the workspace are missing in {layout.data}",
            path=str(layout.data),
            hint="check that its disk is mounted and data_dir is right; if they are lost: tailpipe doctor --repair",
        )
    place, move = Path(known), f'move what is in {known} to {layout.data}, or set data_dir = "{known}" again'
    if known == _HOME:
        place, move = layout.home, "take data_dir out of the config, or move files, manifests and rejected of "
        move += f"{layout.home / INTERNAL} to {layout.internal}"
    raise WorkspaceError(
        f"data_dir is now {layout.data}, but the files of the workspace are in {place}: {many} files are missing",
        path=str(layout.data),
        hint=f"{move}; nothing was changed",
    )


def remember_place(connection: sqlite3.Connection, layout: Layout) -> None:
    """Note down where the files are."""
    if read_fact(connection, _PLACE) != _name(layout):
        write_fact(connection, _PLACE, _name(layout))


def _name(layout: Layout) -> str:
    return _HOME if layout.data == layout.home else str(layout.data)
