"""Collect logs into typed tables and query them with SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailpipe.workspace import Workspace

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(workspace: str | None = None, *, config_path: str | None = None) -> Workspace:
    """A workspace for programs: `.query(sql)`, `.tables()`, `.spark(table)`, `.collect(…)`.

    Without arguments it is the one that the command line would use, by the same variables and config.
    """
    from tailpipe.workspace import Workspace  # late, so that importing tailpipe costs nothing

    return Workspace.open(config_path=config_path, workspace=workspace)
