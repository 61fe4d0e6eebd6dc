"""The directories of a workspace: made when they are first needed, and never someone else's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tailpipe.catalog.layout import Layout, foreign_data
from tailpipe.errors import WorkspaceError

__all__ = ["has_history", "is_begun", "make_directories", "refuse_foreign"]


def make_directories(directories: Iterable[Path], say: Callable[[str], None]) -> None:
    """Make those that are missing, for their owner alone, and say which."""
    made: list[str] = []
    for directory in directories:
        try:
            if not directory.is_dir():
                for missing in reversed([directory, *directory.parents]):
                    if not missing.exists():
                        missing.mkdir(mode=0o700)
                made.append(str(directory))
        except OSError as error:
            hint = "name another place by TAILPIPE_INSTALL_DIR"
            message = f'cannot make "{directory}": {error.strerror}'
            raise WorkspaceError(message, path=str(directory), hint=hint) from error
    if made:
        say("created " + " and ".join(made))


def refuse_foreign(directory: Path, workspace: str) -> None:
    """Refuse a directory that holds someone else's data."""
    if (foreign := foreign_data(directory)) is not None:
        raise WorkspaceError(
            f'"{directory}" holds data that is not ours: {foreign}',
            path=str(directory),
            hint=f'move it away, or name another directory: workspace "{workspace}" {{ location = "…" }}',
        )


def is_begun(layout: Layout) -> bool:
    """Whether anything was ever collected: there is a catalog, or something that only a catalog leaves behind."""
    return layout.database.exists() or has_history(layout)


def has_history(layout: Layout) -> bool:
    """Whether there are manifests, a head that speaks of some, or stored files."""
    return layout.head.exists() or any(layout.manifests.glob("*.manifest")) or layout.has_files()
