"""A bucket for each test, and no credentials of the machine."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from tailpipe.plugins.aws.buckets import region_of
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.s3_bucket import bucket_of
from tests.aws.proxy import Proxy
from tests.aws.server import owner

_NUMBERS = itertools.count(1)


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No credentials of the machine, and no session of another test."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    yield
    Aws().renew()
    bucket_of.cache_clear()
    region_of.cache_clear()


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The address of a server that answers for the other services."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@dataclass
class TestBucket:
    """A bucket to fill."""

    __test__ = False
    url: str
    name: str

    @property
    def client(self) -> Any:
        return owner(self.url).client("s3")

    def put(self, key: str, data: bytes | str, **options: Any) -> str:
        """Write an object; its etag."""
        body = data.encode() if isinstance(data, str) else data
        answer = self.client.put_object(Bucket=self.name, Key=key, Body=body, **options)
        return str(answer["ETag"]).strip('"')

    def put_rows(self, key: str, *messages: str, day: date) -> None:
        """Write lines of JSON, with a time of that day."""
        text = "".join(json.dumps({"time": f"{day}T10:00:00Z", "message": one}) + "\n" for one in messages)
        self.put(key, gzip.compress(text.encode()) if key.endswith(".gz") else text)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)


@pytest.fixture
def bucket(s3_url: str) -> TestBucket:
    """A fresh bucket."""
    made = TestBucket(s3_url, f"bucket-{next(_NUMBERS)}")
    made.client.create_bucket(Bucket=made.name)
    return made


@pytest.fixture
def proxy(s3_url: str) -> Iterator[Proxy]:
    """A proxy in front of the server."""
    with Proxy(s3_url).running() as running:
        yield running


def moment(text: str) -> datetime:
    """A time of day one of the tests."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
