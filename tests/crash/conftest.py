"""One warm server for all tests of a worker, and a place without a slow disk under it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.harness import Server


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory, if there is one: a kill loses nothing there either, and fsync costs nothing."""
    memory = "/dev/shm"
    made = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    try:
        yield made
    finally:
        shutil.rmtree(made)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running
