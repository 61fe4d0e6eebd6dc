"""Locations: which are taken, which are refused, and what is missing to open them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailpipe.errors import ObjectStoreError, TailpipeError, UsageError
from tailpipe.model.connection import Connection
from tailpipe.plugin import Secret
from tailpipe.plugins.aws.connection import Aws
from tailpipe.storage.directory_objects import DirectoryObjects
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.remote_objects import RemoteObjects

AWS = Aws(name="x", access_key="AKIATEST", secret_key=Secret("very-secret"), region="eu-west-1")


class Other(Connection):
    """A connection that opens nothing."""

    type = "other"


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("s3://bucket", "s3://bucket"),
        ("s3://my.bucket_1/a/b=c d/", "s3://my.bucket_1/a/b=c d"),
        ("gs://bucket/a", "gs://bucket/a"),
        ("az://container/a/", "az://container/a"),
        ("abfss://container@account.dfs.core.windows.net/a", "abfss://container@account.dfs.core.windows.net/a"),
        ("abfss://container@account.dfs.core.chinacloudapi.cn", "abfss://container@account.dfs.core.chinacloudapi.cn"),
    ],
)
def test_buckets_and_containers_are_opened_without_a_request(
    location: str, shown: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    objects = open_objects(location, AWS if location.startswith("s3:") else None)
    assert isinstance(objects, RemoteObjects)
    assert objects.location == shown
    assert not objects.requests


def test_an_account_in_the_location_is_the_one_that_is_asked() -> None:
    store = open_objects("abfss://container@account.dfs.core.chinacloudapi.cn/x")._store  # type: ignore[attr-defined]
    assert store.config["account_name"] == "account"
    assert store.config["endpoint"] == "https://account.blob.core.chinacloudapi.cn"
    assert "endpoint" not in open_objects("abfss://container@account.dfs.core.windows.net")._store.config  # type: ignore[attr-defined]


def test_directories_are_paths_or_urls(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    for location in (f"{tmp_path}/a b", f"file://{tmp_path}/a%20b", f"file://localhost{tmp_path}/a b/"):
        objects = open_objects(location)
        assert isinstance(objects, DirectoryObjects)
        assert not objects.put("x", b"") or (tmp_path / "a b/x").exists()


@pytest.mark.parametrize(
    "location",
    [
        "",
        "relative/path",
        "~/home",
        "http://host/bucket",
        "s3:/bucket",
        "s3://",
        "s3:///path",
        "s3://b",
        "s3://bucket?s3_endpoint=evil",
        "s3://bucket/a?x=y",
        "s3://bucket/a#b",
        "s3://AKIAKEY:hidden-word@bucket/a",
        "s3://user@bucket/a",
        "az://c@account.dfs.core.windows.net/x",
        "abfss://container@host/x",
        "file://host/path",
        "file:///path?x",
        "/path\0x",
    ],
)
def test_other_locations_are_refused_with_the_forms_that_work(location: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_objects(location, AWS if location.startswith("s3:") else None)
    assert "s3://bucket/prefix" in caught.value.hint
    assert "hidden-word" not in caught.value.with_hint


@pytest.mark.parametrize("location", ["s3://bucket/a/../b", "s3://bucket/a//b", "s3://bucket/./b", "s3://bucket/a\nb"])
def test_prefixes_that_are_no_keys_are_refused(location: str) -> None:
    with pytest.raises(TailpipeError):
        open_objects(location, AWS)


def test_a_bucket_of_s3_needs_a_connection() -> None:
    with pytest.raises(UsageError, match='"s3://bucket/x" needs a connection') as caught:
        open_objects("s3://bucket/x")
    assert "connection.aws.default" in caught.value.hint


@pytest.mark.parametrize(
    ("connection", "location"), [(Other(name="o"), "s3://bucket"), (AWS, "gs://bucket"), (AWS, "az://container/x")]
)
def test_a_connection_says_what_it_cannot_open(connection: Connection, location: str) -> None:
    with pytest.raises(UsageError, match=f'{connection.address} cannot open "{location}"') as caught:
        open_objects(location, connection)
    assert f'"{connection.type}"' in caught.value.hint


def test_azure_without_an_account_says_what_to_set() -> None:
    with pytest.raises(ObjectStoreError, match="no storage account is set") as caught:
        open_objects("az://container/x")
    assert "AZURE_STORAGE_ACCOUNT_NAME" in caught.value.hint


def test_a_file_of_credentials_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text('{"private_key": "hidden-word"')
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "key.json"))
    with pytest.raises(ObjectStoreError, match='cannot open "gs://bucket": the credentials') as caught:
        open_objects("gs://bucket")
    assert "GOOGLE_*" in caught.value.hint
    assert "hidden-word" not in caught.value.with_hint


def test_without_obstore_the_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['obstore'] = sys.modules['obstore.store'] = None\n"
        "from tailpipe.storage.object_stores import open_objects\n"
        "from tailpipe.errors import TailpipeError\n"
        "try: open_objects('gs://bucket/x')\n"
        "except TailpipeError as error: print(error.with_hint)\n"
        "open_objects('/tmp')\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown == "cannot open \"gs://bucket/x\": obstore is not installed (run: pip install 'tailpipe[aws]')\n"


def test_opening_a_directory_loads_no_client_of_buckets() -> None:
    code = (
        "import sys\nfrom tailpipe.storage.object_stores import open_objects\nopen_objects('/tmp').requests\n"
        "print([name for name in ('obstore', 'boto3', 'asyncio', 'concurrent.futures') if name in sys.modules])\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown == "[]\n"
