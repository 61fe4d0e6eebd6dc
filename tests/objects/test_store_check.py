"""`tailpipe store check`: on stores that can be used, and on those that lack something."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailpipe.cli.app import app
from tailpipe.errors import ConfigError, ObjectStoreError, UsageError
from tailpipe.model.store import Store
from tailpipe.plugin import Secret
from tailpipe.storage.directory_objects import DirectoryObjects
from tailpipe.storage.objects import Objects
from tailpipe.stores.check import check_store
from tailpipe.stores.open import open_store
from tests.aws.conftest import TestBucket
from tests.aws.server import ACCESS_KEY, READER_KEY, READER_SECRET, SECRET_KEY, owner
from tests.object_faults import FaultyObjects, Lost, script
from tests.objects.conftest import remote

NAMES = ["write", "read", "list", "conditional write", "delete"]


class Overwriting(DirectoryObjects):
    """A server that knows nothing of conditional writes."""

    def put(self, key: str, data: bytes, *, sha256: str | None = None) -> bool:
        del sha256
        self.replace(key, data)
        return True


class Undeletable(DirectoryObjects):
    """A server that refuses to delete."""

    def delete(self, keys: object) -> None:
        del keys
        raise ObjectStoreError("access denied", location=self.location, hint="ask its owner")


class Forgetful(DirectoryObjects):
    """A server that does not list what was just written."""

    def list(self, prefix: str, *, after: str | None = None):  # type: ignore[no-untyped-def] # nothing to yield
        del prefix, after
        return iter(())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


def test_a_store_that_can_be_used_passes_and_is_left_empty(objects: Objects) -> None:
    steps = check_store(objects)
    assert [(step.name, step.result, step.message) for step in steps] == [(name, "ok", "") for name in NAMES]
    assert list(objects.list("")) == []


def test_a_server_without_conditional_writes_is_found_out(directory: Path) -> None:
    objects = Overwriting(directory, str(directory))
    (failed,) = [step for step in check_store(objects) if step.result != "ok"]
    assert failed.name == "conditional write"
    assert "overwritten" in failed.message
    assert list(objects.list("")) == []


def test_a_lost_reply_of_the_winner_is_no_second_winner(directory: Path) -> None:
    # The puts are: the object, the same again, then four writers of each of three keys.
    faults = script({("put", number): Lost() for number in range(2, 14)})
    steps = check_store(FaultyObjects(DirectoryObjects(directory, str(directory)), faults))
    assert [step.result for step in steps] == ["ok"] * len(NAMES)


def test_what_is_not_listed_or_not_deleted_is_named_with_what_it_takes(directory: Path) -> None:
    (failed,) = [step for step in check_store(Forgetful(directory, str(directory))) if step.result != "ok"]
    assert (failed.name, failed.message) == ("list", "an object that was written is not listed")
    (failed,) = [step for step in check_store(Undeletable(directory, str(directory))) if step.result != "ok"]
    assert (failed.name, failed.message, failed.hint) == ("delete", "access denied", "ask its owner")
    assert failed.needs == "write permission on the directory"


def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    steps = check_store(open_store(Store(name="lake", location=str(tmp_path / "none"))))
    assert [step.result for step in steps] == ["failed", "skipped", "failed", "skipped", "skipped"]
    assert not (tmp_path / "none").exists()


@pytest.mark.xdist_group("s3")
def test_a_key_that_may_only_list_is_told_which_permission_lacks(bucket: TestBucket) -> None:
    objects = remote(bucket.url, bucket.name, access_key=READER_KEY, secret_key=Secret(READER_SECRET))
    steps = {step.name: step for step in check_store(objects)}
    assert [steps[name].result for name in NAMES] == ["failed", "skipped", "ok", "skipped", "skipped"]
    assert steps["write"].needs == "s3:PutObject"
    assert READER_SECRET not in repr(steps)


@pytest.mark.xdist_group("s3")
def test_a_store_is_opened_with_its_connection(bucket: TestBucket) -> None:
    store = Store(name="lake", location=f"s3://{bucket.name}/a", connection=owner(bucket.url))
    objects = open_store(store)
    assert objects.put("x", b"1")
    assert [facts.key for facts in open_store(replace(store, location=f"s3://{bucket.name}")).list("a")] == ["a/x"]


def test_a_store_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(UsageError, match=r'^store "lake": "s3://acme" needs a connection'):
        open_store(Store(name="lake", location="s3://acme"))


def config_of(root: Path, text: str) -> dict[str, str]:
    """The environment of a command line with this config."""
    (root / "install" / "config").mkdir(parents=True)
    (root / "install" / "config" / "main.tpc").write_text(text)
    return {"TAILPIPE_INSTALL_DIR": str(root / "install")}


@pytest.mark.xdist_group("s3")
def test_the_command_checks_every_store_and_fails_if_one_does(bucket: TestBucket, tmp_path: Path) -> None:
    env = config_of(
        tmp_path,
        f"""
        connection "aws" "local" {{
          access_key = "{ACCESS_KEY}"
          secret_key = "{SECRET_KEY}"
          endpoint_url = "{bucket.url}"
          region = "us-east-1"
          s3_force_path_style = true
        }}
        store "bucket" {{
          location = "s3://{bucket.name}/lake"
          connection = connection.aws.local
        }}
        store "gone" {{ location = "{tmp_path}/gone" }}
        """,
    )
    one = CliRunner().invoke(app, ["store", "check", "bucket"], env=env)
    assert one.exit_code == 0, one.output
    assert "bucket can be used" in one.output
    every = CliRunner().invoke(app, ["store", "check", "--output", "json"], env=env)
    assert every.exit_code == 1
    rows = json.loads(every.stdout)
    assert {row["store"]: row["result"] for row in rows if row["step"] == "write"} == {"bucket": "ok", "gone": "failed"}
    assert SECRET_KEY not in one.output + every.output


def test_list_and_show_name_the_partitions_of_a_store_and_make_no_request(tmp_path: Path) -> None:
    env = config_of(
        tmp_path,
        """
        store "lake" {
          location = "gs://acme-logs"
          here { newer_than = "30d" }
        }
        store "other" { location = "/srv/other" }
        workspace "default" { store = store.lake }
        table "web_log" {
          format = format.jsonl.default
          column "tp_timestamp" { source = "at" }
        }
        partition "web_log" "a" { source "file" { paths = ["/x"] } }
        partition "web_log" "b" {
          store = store.other
          source "file" { paths = ["/x"] }
        }
        """,
    )
    rows = json.loads(CliRunner().invoke(app, ["store", "list", "--output", "json"], env=env).stdout)
    assert {row["name"]: row["partitions"] for row in rows} == {"lake": ["web_log.a"], "other": ["web_log.b"]}
    shown = json.loads(CliRunner().invoke(app, ["store", "show", "store.lake", "--output", "json"], env=env).stdout)
    assert shown["location"] == "gs://acme-logs"
    assert shown["options"]["here"] == {"newer_than": "30d", "where": None, "path": None}


def test_an_unset_variable_is_shown_where_it_stands_and_stops_no_other_command(tmp_path: Path) -> None:
    env = config_of(tmp_path, 'store "lake" {\n  location = env("TP_TEST_UNSET")\n}\n')
    found = CliRunner().invoke(app, ["store", "list"], env=env)
    assert found.exit_code == 0
    checked = CliRunner().invoke(app, ["store", "check"], env=env)
    assert isinstance(checked.exception, ConfigError)
    (problem,) = checked.exception.diagnostics
    assert (problem.place.line, problem.place.column) == (2, 14)
