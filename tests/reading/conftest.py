"""A store of each kind: a directory, and a bucket of a real S3 server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.model.store import Store
from tests.aws.conftest import TestBucket, bucket, no_credentials, proxy
from tests.aws.server import owner
from tests.e2e.conftest import demo_directory
from tests.reading.support import Remote

__all__ = ["bucket", "demo_directory", "no_credentials", "proxy"]


@pytest.fixture(params=["directory", pytest.param("s3", marks=[pytest.mark.xdist_group("s3"), pytest.mark.slow])])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store."""
    if request.param == "directory":
        (tmp_path / "store").mkdir()
        return Store(name="lake", location=str(tmp_path / "store"))
    made: TestBucket = request.getfixturevalue("bucket")
    return Store(name="lake", location=f"s3://{made.name}/logs", connection=owner(made.url))


@pytest.fixture
def remote(store: Store, tmp_path: Path) -> Remote:
    """A workspace without files."""
    root = tmp_path / "workspace" / ".tailpipe"
    (root / "files").mkdir(parents=True)
    return Remote(root, store)


@pytest.fixture
def here(tmp_path: Path) -> Remote:
    """The same with a store that is a directory: for what does not depend on its kind."""
    (tmp_path / "store").mkdir()
    root = tmp_path / "workspace" / ".tailpipe"
    (root / "files").mkdir(parents=True)
    return Remote(root, Store(name="lake", location=str(tmp_path / "store")))
