"""Collect logs into typed tables and query them with SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailpipe.workspace import Collect, Detect, Query, Window, Workspace

__version__ = "0.1.0"
__all__ = ["Collect", "Detect", "Query", "Window", "Workspace", "__version__", "open"]


def open(workspace: str | None = None, *, config_path: str | None = None) -> Workspace:
    """A workspace for programs: `.query(sql)`, `.tables()`, `.spark(table)`, `.collect(…)`.

    Without arguments it is the one that the command line would use, by the same variables and config.
    """
    from tailpipe.workspace import Workspace  # late, so that importing tailpipe costs nothing

    return Workspace.open(config_path=config_path, workspace=workspace)


def __getattr__(name: str) -> Any:
    if name in __all__:
        from tailpipe import workspace  # late, for the same reason

        return getattr(workspace, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
