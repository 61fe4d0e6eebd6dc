"""The directories of a workspace: made when they are first needed, and never someone else's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tailpipe.catalog.layout import MANIFEST, Layout, foreign_data
from tailpipe.errors import StorageError, WorkspaceError
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import LocalTree, Storage


def make_directories(directories: Iterable[Path], say: Callable[[str], None], tree: LocalTree = LOCAL) -> None:
    """Make those that are missing, for their owner alone, and say which."""
    made: list[str] = []
    for directory in directories:
        try:
            if not tree.is_directory(directory):
                tree.make_directory(directory)
                made.append(str(directory))
        except OSError as error:
            hint = "use another location by TAILPIPE_INSTALL_DIR"
            message = f'cannot make "{directory}": {error.strerror}'
            raise WorkspaceError(message, path=str(directory), hint=hint) from error
    if made:
        say("created " + " and ".join(made))


def refuse_foreign(directory: Path, workspace: str) -> None:
    """Refuse a directory that holds someone else's data."""
    if (foreign := foreign_data(directory)) is not None:
        raise WorkspaceError(
            f'"{directory}" contains data of another program: {foreign}',
            path=str(directory),
            hint=f'move it away, or name another directory: workspace "{workspace}" {{ location = "…" }}',
        )


def is_begun(layout: Layout, storage: Storage = LOCAL) -> bool:
    """Whether anything was ever collected: there is a catalog, or something that only a catalog leaves behind."""
    try:
        return layout.database.exists() or has_history(layout, storage)
    except PermissionError as problem:
        place = str(problem.filename or layout.home)
        reason, hint = str(problem.strerror).lower(), "run tailpipe as its owner, or use another workspace"
        raise StorageError(f"cannot use {place}: {reason}", path=place, hint=hint) from problem


def has_history(layout: Layout, storage: Storage = LOCAL) -> bool:
    """Whether there are manifests, a head that speaks of some, or stored files."""
    has_manifests = any(path.suffix == MANIFEST for path in storage.objects(layout.manifests))
    return storage.exists(layout.head) or has_manifests or has_files(layout, storage)


def has_files(layout: Layout, storage: Storage = LOCAL) -> bool:
    """Whether any file is stored, whether or not a catalog knows it."""
    return any(True for _ in storage.objects(layout.files))
