"""A cloud for each test, and no credentials of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clouds.server import Cloud


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """A server with both services."""
    with Cloud().running() as running:
        yield running


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No credentials of the machine, and no token of another test."""
    from tailpipe.plugins.azure import connection as azure
    from tailpipe.plugins.azure.container import bucket_of as container_of
    from tailpipe.plugins.gcp import connection as gcp
    from tailpipe.plugins.gcp.bucket import bucket_of

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    yield
    for cache in (azure._login, gcp._login, bucket_of, container_of):
        cache.cache_clear()
