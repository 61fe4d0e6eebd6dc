"""The same suite for every place that holds objects: a directory, S3, and Azure where Node is installed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.storage.remote_objects import Backoff, RemoteObjects
from tests.aws.conftest import TestBucket, bucket, no_credentials, proxy
from tests.aws.server import owner
from tests.objects import azurite

__all__ = ["Open", "bucket", "no_credentials", "patient", "proxy", "remote"]

_NUMBERS = itertools.count(1)
Open = Callable[[], Objects]
"""Opens the same place each time, as another process would."""


def patient(objects: Objects) -> RemoteObjects:
    """Repeats requests without a pause."""
    assert isinstance(objects, RemoteObjects)
    objects.backoff = replace(objects.backoff, sleep=lambda _: None)
    return objects


def remote(url: str, name: str, *, prefix: str = "/root of it/a=b", retries: int = 3, **options: Any) -> RemoteObjects:
    """A bucket of an S3 server, opened as the product does."""
    objects = open_objects(f"s3://{name}{prefix}", replace(owner(url), **options))
    assert isinstance(objects, RemoteObjects)
    objects.backoff = Backoff(retries, sleep=lambda _: None)
    return objects


@pytest.fixture(scope="session")
def azure_url() -> Iterator[str]:
    """The address of an Azure account."""
    if lacking := azurite.missing():
        pytest.skip(f"NOT TESTED ON AZURE: {lacking} is not installed")
    with azurite.azurite() as url:
        yield url


@pytest.fixture
def azure(azure_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The location of a fresh container, with the credentials in the environment as users set them."""
    name = f"container-{next(_NUMBERS)}"
    azurite.make_container(azure_url, name)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", azurite.ACCOUNT)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", azurite.ACCOUNT_KEY)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", azure_url)
    return f"az://{name}/root"


@pytest.fixture(
    params=[
        "directory",
        pytest.param("s3", marks=[pytest.mark.slow, pytest.mark.xdist_group("s3")]),
        pytest.param("azure", marks=[pytest.mark.slow, pytest.mark.xdist_group("azure")]),
    ]
)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """A way to open an empty place for objects."""
    if request.param == "directory":
        (tmp_path / "store").mkdir()
        return lambda: open_objects(str(tmp_path / "store"))
    if request.param == "s3":
        filled: TestBucket = request.getfixturevalue("bucket")
        return lambda: remote(filled.url, filled.name)
    location = request.getfixturevalue("azure")
    return lambda: open_objects(location)


@pytest.fixture
def objects(opened: Open) -> Objects:
    """An empty place for objects."""
    return opened()
