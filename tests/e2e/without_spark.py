"""The command line with an engine that needs no Spark, for tests of what it prints."""

from __future__ import annotations

import sys
from typing import Any

from tailpipe.data import Say

from tailpipe import workspace
from tailpipe.cli import main
from tailpipe.config.environment import Environment
from tailpipe.plugin import Registry
from tailpipe.testing import InProcessEngine


class _Workspace(workspace.Workspace):
    def __init__(self, environment: Environment, registry: Registry, say: Say, _: object, **flags: Any) -> None:
        super().__init__(environment, registry, say, InProcessEngine(), **flags)


if __name__ == "__main__":
    setattr(workspace, "Workspace", _Workspace)  # noqa: B010 - mypy knows it as a class
    sys.exit(main())
