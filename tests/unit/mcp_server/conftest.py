"""One workspace for all tests: they only read it."""

from __future__ import annotations

import pytest

from tests.unit.detect.world import World
from tests.unit.mcp_server.support import Mcp, make_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("mcp"))


@pytest.fixture(scope="session")
def home(world: World) -> Mcp:
    return Mcp(world)
