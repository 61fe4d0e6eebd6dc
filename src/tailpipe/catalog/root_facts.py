"""What is known of roots: which directory the catalog names for a partition, and whether that is mounted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from tailpipe.catalog.facts import drop_fact, write_fact
from tailpipe.catalog.layout import INTERNAL, Layout
from tailpipe.catalog.schema import has_table
from tailpipe.errors import CatalogError, WorkspaceError
from tailpipe.storage.storage import Storage

_ROOT = "root:"
"""The prefix of facts that name the root of a partition."""
HIVE = "hive:"
"""The prefix of facts that list the directories in the hive of a partition; empty: it must be projected."""


def load_roots(connection: sqlite3.Connection) -> dict[str, Path]:
    """The roots of partitions that are not in the data directory of the workspace."""
    if not has_table(connection, "facts"):
        return {}
    rows = connection.execute("SELECT substr(name, 6), value FROM facts WHERE name >= 'root:' AND name < 'root;'")
    return {name: Path(root) for name, root in rows}


def set_root(connection: sqlite3.Connection, partition: str, root: Path | None) -> None:
    """Set or remove the separate root of a partition; its hive has to follow."""
    write_fact(connection, HIVE + partition, "")
    if root is None:
        drop_fact(connection, _ROOT + partition)
    else:
        write_fact(connection, _ROOT + partition, str(root))


def save_roots(connection: sqlite3.Connection, roots: Mapping[str, Path]) -> None:
    """Record roots in a new catalog."""
    for partition, root in roots.items():
        set_root(connection, partition, root)


def mark_of(root: Path) -> Path:
    """The file that says whose root a directory is; on a disk that is not mounted it is missing."""
    return root / INTERNAL / "workspace"


def is_marked(root: Path, workspace: str) -> bool:
    """Whether a directory is a root of a workspace."""
    try:
        return mark_of(root).read_text(encoding="utf-8").strip() == workspace
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return False


def absent(partition: str, root: Path) -> WorkspaceError:
    """The error of a root that is not mounted."""
    return WorkspaceError(
        f'the files of {partition} are in "{root}", which is not mounted: '
        f'"{mark_of(root)}" is missing or belongs to another workspace',
        path=str(root),
        hint="mount its disk; nothing was changed; if it is lost: tailpipe doctor --repair --accept-loss",
    )


def read_roots(layout: Layout, storage: Storage) -> dict[str, Path]:
    """The roots that were written down for a rebuild; none if there is no record."""
    try:
        found = json.loads(storage.read(layout.roots_record))
        return {str(name): Path(root) for name, root in found.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as problem:
        raise CatalogError(
            f"{layout.roots_record} is damaged: {problem}",
            path=str(layout.roots_record),
            hint="it names the directory of each partition that is not in the workspace; correct it by hand",
        ) from problem


def write_roots(layout: Layout, storage: Storage, roots: Mapping[str, Path]) -> None:
    """Write the roots down."""
    text = json.dumps({name: str(root) for name, root in sorted(roots.items())}, indent=1, ensure_ascii=False)
    storage.put(layout.roots_record, f"{text}\n".encode())
