"""The command line with an engine that needs no Spark, for tests of what it prints."""

from __future__ import annotations

import sys
from typing import Any

from tailpipe.cli import main
from tailpipe.config.environment import Environment
from tailpipe.home import home
from tailpipe.plugin import Registry
from tailpipe.testing import InProcessEngine


class _Home(home.Home):
    def __init__(self, environment: Environment, registry: Registry, say: home.Say, _: object, **flags: Any) -> None:
        super().__init__(environment, registry, say, InProcessEngine(), **flags)


if __name__ == "__main__":
    setattr(home, "Home", _Home)  # noqa: B010 - mypy knows it as a class
    sys.exit(main())
