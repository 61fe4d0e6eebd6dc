"""A store in a directory and in a bucket."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tests.aws.conftest import TestBucket, bucket, no_credentials
from tests.delta.lake import TABLE
from tests.delta.readers import Place, s3_options
from tests.objects.conftest import Open, remote

__all__ = ["bucket", "no_credentials"]


@dataclass(frozen=True)
class Store:
    """A place for objects, and where the Delta table in it is."""

    open: Open
    place: Place


@pytest.fixture(params=["directory", pytest.param("s3", marks=[pytest.mark.slow, pytest.mark.xdist_group("s3")])])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store."""
    if request.param == "directory":
        (tmp_path / "store").mkdir()
        return Store(lambda: open_objects(str(tmp_path / "store")), Place(str(tmp_path / f"store/data/{TABLE}")))
    filled: TestBucket = request.getfixturevalue("bucket")
    place = Place(f"s3://{filled.name}/lake/data/{TABLE}", filled.url, s3_options(filled.url))
    return Store(lambda: remote(filled.url, filled.name, prefix="/lake"), place)


@pytest.fixture(params=["UTC", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of the process and of the sessions of engines."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield str(request.param)
    time.tzset()


@pytest.fixture
def objects(store: Store) -> Objects:
    """The objects of the store."""
    return store.open()


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    """Where files are written before they are put."""
    (tmp_path / "staging").mkdir()
    return tmp_path / "staging"
