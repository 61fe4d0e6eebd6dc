"""One warm server for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.crash.harness import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running
