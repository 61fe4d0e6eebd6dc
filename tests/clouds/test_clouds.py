"""The same collecting from every cloud: what is listed, read, refused and attacked."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.collect.events import Summary
from tailpipe.model.option import options_of
from tailpipe.plugin import ChangedError, Secret, TailpipeError, Window
from tailpipe.plugins.azure.connection import Azure
from tailpipe.plugins.azure.storage import BlobStorage
from tailpipe.plugins.buckets.fetch import RANGE_BYTES
from tailpipe.plugins.buckets.login import Login
from tailpipe.plugins.buckets.source import BucketSource
from tailpipe.plugins.gcp import connection as gcp_connection
from tailpipe.plugins.gcp.connection import Gcp
from tailpipe.plugins.gcp.storage import StorageBucket
from tests.bucket_server import Asked
from tests.clouds.server import ACCOUNT, ACCOUNT_KEY, SAS, Answer, Cloud
from tests.unit.collect.support import World

ALL = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC))
TODAY = date(2024, 3, 10)
HOSTILE = [
    "resourceId=/S/y=2024/PT1H.json",
    "10:00:00+(x)~!'*,;@$.json",
    "a//b",
    "a/./b",
    "a/../b",
    "tab\tand\nline",
    "q?x=1&y#z%41",
    "ü/☃",
    " lead",
    "<x>&amp;",
    "/first",
    "e\u0301",
]
TABLE = """
table "app" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  SOURCE
}
"""
LAYOUT = "file_layout = `%{WORD:account}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}`"


@dataclass
class Place:
    """A bucket of a cloud, and how to get at it."""

    cloud: Cloud
    kind: str
    name: str = "logs"

    def source(self, **options: Any) -> BucketSource:
        if self.kind == "gcs":
            return StorageBucket(bucket=self.name, connection=self.gcp(), **options)
        return BlobStorage(container=self.name, account_name=ACCOUNT, connection=self.azure(), **options)

    def gcp(self, **options: Any) -> Gcp:
        return replace(Gcp(name="c", endpoint_url=self.cloud.url, max_retries=2), **options)

    def azure(self, **options: Any) -> Azure:
        url = f"{self.cloud.url}/{ACCOUNT}"
        way: dict[str, Any] = {"sas_token": Secret(f"?{SAS}")} if self.kind == "sas" else {}
        way |= {"account_key": Secret(ACCOUNT_KEY)} if self.kind == "key" else {}
        return replace(Azure(name="c", endpoint_url=url, max_retries=2, **way), **options)

    def put(self, name: str, data: bytes | str, **facts: Any) -> Any:
        return self.cloud.put(self.name, name, data, **facts)

    def world(self, root: Path) -> World:
        if self.kind == "gcs":
            login = f'connection "gcp" "c" {{\n endpoint_url = "{self.cloud.url}"\n max_retries = 2\n}}\n'
            source = f'source "gcp_storage_bucket" {{\n bucket = "{self.name}"\n'
            source += f" connection = connection.gcp.c\n {LAYOUT}\n}}"
        else:
            way = f'account_key = "{ACCOUNT_KEY}"' if self.kind == "key" else f'sas_token = "{SAS}"'
            url = f"{self.cloud.url}/{ACCOUNT}"
            login = f'connection "azure" "c" {{\n endpoint_url = "{url}"\n {way}\n max_retries = 2\n}}\n'
            source = f'source "azure_blob_storage" {{\n container = "{self.name}"\n account_name = "{ACCOUNT}"\n'
            source += f" connection = connection.azure.c\n {LAYOUT}\n}}"
        return World(root, login + TABLE.replace("SOURCE", source), now=datetime(2024, 3, 10, 12, tzinfo=UTC))


@pytest.fixture(params=["gcs", "key", "sas"])
def place(request: pytest.FixtureRequest, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A bucket of Google, and a container of Azure by key and by signature."""
    made = Place(cloud, request.param)
    cloud.buckets["logs"] = {}
    login = Login(lambda: ("good-token", datetime.now(UTC) + timedelta(hours=1)))
    monkeypatch.setattr(gcp_connection, "_login", Cached(login))
    return made


class Cached:
    """A login in place of the machine's."""

    def __init__(self, login: Login) -> None:
        self.login = login

    def __call__(self, connection: Gcp, is_write: bool) -> Login:
        return self.login

    def cache_clear(self) -> None:
        pass


@pytest.fixture
def azure(cloud: Cloud) -> Place:
    cloud.buckets["logs"] = {}
    return Place(cloud, "key")


def rows(*messages: str, day: date = TODAY) -> str:
    return "".join(json.dumps({"time": f"{day}T10:00:00Z", "message": one}) + "\n" for one in messages)


def key(day: date, name: str = "a.jsonl", account: str = "one") -> str:
    return f"{account}/{day:%Y/%m/%d}/{name}"


def told(summary: Summary) -> str:
    return " / ".join([summary.error, *(reason for failed in summary.failed for reason in failed.reasons)])


def test_objects_of_any_name_are_listed_page_by_page_and_read(place: Place) -> None:
    for name in HOSTILE:
        place.put(name, f"bytes of {name}")
    place.cloud.page_size = 3
    source = place.source()
    found = {one.uri: source.open(one).read().decode() for one in source.artifacts(ALL)}
    assert sorted(found.values()) == sorted(f"bytes of {name}" for name in HOSTILE)
    assert len(found) == len(HOSTILE)
    with source.opener(list(source.artifacts(ALL))) as opened:
        assert sorted(opened(one).read().decode() for one in source.artifacts(ALL)) == sorted(found.values())


def test_a_large_object_comes_in_ranges_of_one_version(place: Place) -> None:
    text = b"0123456789abcde\n" * (RANGE_BYTES // 8)
    blob = place.put("large", text)
    source = place.source()
    [artifact] = source.artifacts(ALL)
    assert source.open(artifact).read() == text
    blob.append(b"x")
    with pytest.raises(ChangedError, match="was replaced after it was listed"):
        source.open(artifact).read()
    del place.cloud.buckets["logs"]["large"]
    with pytest.raises(ChangedError, match="was deleted after it was listed"):
        source.open(artifact).read()


def test_days_are_collected_once_late_and_replaced_objects_too(place: Place, tmp_path: Path) -> None:
    for back in (0, 1, 2, 3, 30, 31):
        day = TODAY - timedelta(days=back)
        place.put(key(day), rows(str(day), day=day))
    world = place.world(tmp_path)
    done = world.collect()
    assert done.is_done, told(done)
    assert len(world.rows()) == 5
    late, replaced = TODAY - timedelta(days=2), TODAY - timedelta(days=1)
    place.put(key(late, "late.jsonl", "new"), rows("late", day=late))
    place.put(key(replaced), gzip.compress(rows("replaced", day=replaced).encode()))
    place.cloud.asked.clear()
    done = world.collect()
    assert done.is_done, told(done)
    assert {one.unit for one in done.committed} == {str(late), str(replaced)}
    assert len(world.rows()) == 6
    assert {"late", "replaced"} <= set(world.rows())
    assert not world.has_twins()
    assert len(place.cloud.lists) <= 12


def test_a_growing_append_blob_is_exact_at_each_run(azure: Place, tmp_path: Path) -> None:
    """It grows between listing and reading, too: the run takes what was listed, the next one the rest."""
    name = key(TODAY, "PT1H.json")
    blob = azure.put(name, rows("1", "2"), kind="AppendBlob")
    world = azure.world(tmp_path)
    count = iter(range(3, 1000))

    def grow(asked: Asked) -> None:
        if not asked.is_list and asked.method == "GET" and asked.path.endswith("PT1H.json"):
            blob.append(rows(str(next(count))).encode())

    azure.cloud.fault = grow
    for _ in range(3):
        before = rows_in(blob.data)
        done = world.collect()
        assert done.is_done, told(done)
        assert sorted(world.rows(), key=int) == before, "what it had when it was listed"
    azure.cloud.fault = lambda _: None
    assert world.collect().is_done
    assert sorted(world.rows(), key=int) == rows_in(blob.data)
    assert not world.has_twins()
    assert world.collect().committed == ()


def rows_in(data: bytes) -> list[str]:
    return [json.loads(line)["message"] for line in data.splitlines()]


def test_an_append_blob_that_was_made_anew_is_not_taken_for_one_that_has_grown(azure: Place) -> None:
    azure.put("x", "12345", kind="AppendBlob")
    source = azure.source()
    [artifact] = source.artifacts(ALL)
    azure.put("x", "abcdefgh", kind="AppendBlob", created=datetime.now(UTC) + timedelta(seconds=5))
    with pytest.raises(ChangedError, match="was replaced"):
        source.open(artifact).read()


def test_a_large_append_blob_grows_while_it_is_read(azure: Place) -> None:
    text = b"0123456789abcde\n" * (RANGE_BYTES // 8)
    blob = azure.put("x", text, kind="AppendBlob")
    source = azure.source()
    [artifact] = source.artifacts(ALL)
    with source.open(artifact) as stream:
        first = stream.read(10)
        blob.append(b"more")
        assert first + stream.read() == text


def test_an_archived_blob_is_reported_and_not_read(azure: Place, tmp_path: Path) -> None:
    azure.put(key(TODAY), rows("here"))
    azure.put(key(TODAY, "cold.jsonl"), rows("cold"), tier="Archive")
    world = azure.world(tmp_path)
    done = world.collect()
    assert done.is_done
    assert [(one.artifacts, "Archive" in one.reason) for one in done.unavailable_artifacts] == [(1, True)]
    assert world.rows() == ["here"]


def test_what_is_stored_compressed_comes_as_it_is_stored(place: Place) -> None:
    data = gzip.compress(b"text\n" * 100)
    place.put("x", data, encoding="gzip")
    place.put("a//x", data, encoding="gzip")
    source = place.source()
    assert [source.open(one).read() for one in source.artifacts(ALL)] == [data, data]


def _bomb() -> bytes:
    levels = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    text = f'<!DOCTYPE l [<!ENTITY x0 "boom">{levels}]><ListBucketResult>&x11;</ListBucketResult>'
    return f'<?xml version="1.0"?>{text}'.encode()


def _external() -> bytes:
    return b'<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/passwd">]><EnumerationResults>&f;</EnumerationResults>'


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(200, _bomb()), "document type"),
        (Answer(200, _external()), "document type"),
        (Answer(200, _external().decode().encode("utf-16")), "document type"),
        (Answer(200, b"<html>hotel login</html>"), "not a listing but <html>"),
        (Answer(200, b"not xml \x1b[31m"), "not XML"),
        (Answer(200, b"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"), "listing"),
        (Answer(302, b"", {"Location": "http://evil.example/x?secret=1"}), "redirects to evil.example"),
        (Answer(307, b"", {"Location": "http://169.254.169.254/latest"}), "redirects to 169.254.169.254"),
        (Answer(403, b"<Error><Code>AuthenticationFailed</Code></Error>"), "credentials were rejected"),
        (Answer(403), "permission denied"),
        (Answer(404, b"<Error><Code>NoSuchBucket</Code></Error>"), "does not exist"),
        (Answer(503, b"<Error><Code>ServerBusy</Code></Error>"), "too busy"),
    ],
    ids=[
        "bomb",
        "file",
        "utf-16",
        "html",
        "text",
        "no name",
        "redirect",
        "metadata",
        "wrong",
        "denied",
        "gone",
        "busy",
    ],
)
def test_a_listing_that_is_wrong_says_why_and_shows_no_secret(
    place: Place, answer: Answer, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailpipe.plugin.retry._between", lambda low, _: 0.0)
    place.cloud.fault = lambda _: answer
    with pytest.raises(TailpipeError) as caught:
        list(place.source().artifacts(ALL))
    shown = f"{caught.value.message} {caught.value.hint}"
    assert message in shown
    for secret in (ACCOUNT_KEY, "c2lnbmF0dXJl", "good-token", "secret=1", "root:"):
        assert secret not in shown


def test_a_marker_that_repeats_ends_with_an_error(place: Place) -> None:
    place.put("a", "x")
    more = "<NextContinuationToken>x</NextContinuationToken><IsTruncated>true</IsTruncated>"
    loop = f"<ListBucketResult>{more}</ListBucketResult>"
    if place.kind != "gcs":
        loop = "<EnumerationResults><Blobs/><NextMarker>x</NextMarker></EnumerationResults>"
    place.cloud.fault = lambda asked: Answer(200, loop.encode()) if asked.is_list else None
    with pytest.raises(TailpipeError, match="the pages repeat"):
        list(place.source().artifacts(ALL))
    assert len(place.cloud.lists) == 2


def test_an_object_that_is_redirected_sends_no_secret_elsewhere(place: Place) -> None:
    place.put("plain", "x")
    place.put("a//b", "y")
    with Cloud().running() as evil:
        evil.put(ACCOUNT, "x", "stolen")
        source = place.source()
        artifacts = list(source.artifacts(ALL))
        other = evil.url.replace("127.0.0.1", "localhost")
        place.cloud.fault = lambda _: Answer(307, b"", {"Location": f"{other}/{ACCOUNT}/x"})
        for one in artifacts:
            with pytest.raises(TailpipeError):
                source.open(one).read()
        for asked in evil.asked:
            assert "authorization" not in asked.headers
            assert "sig" not in asked.query


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_busy_service_is_asked_again(place: Place, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailpipe.plugin.retry._between", lambda low, _: 0.0)
    place.put("plain", "x")
    place.put("a//b", "y")
    seen: dict[str, int] = {}

    def fault(asked: Asked) -> Answer | None:
        what = f"{asked.path} {asked.is_list}"
        seen[what] = seen.get(what, 0) + 1
        return Answer(status) if seen[what] == 1 else None

    place.cloud.fault = fault
    source = place.source()
    assert sorted(source.open(one).read() for one in source.artifacts(ALL)) == [b"x", b"y"]


def test_a_token_that_is_refused_is_renewed_once(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.put("logs", "a", "x")
    tokens = iter(["old", "good-token", "third"])
    login = Login(lambda: (next(tokens), datetime.now(UTC) + timedelta(hours=1)))
    monkeypatch.setattr(gcp_connection, "_login", Cached(login))
    source = Place(cloud, "gcs").source()
    [artifact] = source.artifacts(ALL)
    cloud.tokens = {"third"}
    assert source.open(artifact).read() == b"x"


def test_no_account_is_an_error(cloud: Cloud) -> None:
    with pytest.raises(TailpipeError, match="names no storage account"):
        list(BlobStorage(name="s", container="logs", connection=Place(cloud, "key").azure()).artifacts(ALL))


@pytest.mark.parametrize("wrong", [Secret("d3Jvbmc="), Secret("bm90aXQ=")])
def test_a_wrong_key_is_refused(azure: Place, wrong: Secret) -> None:
    source = BlobStorage(container="logs", account_name=ACCOUNT, connection=azure.azure(account_key=wrong))
    with pytest.raises(TailpipeError, match="credentials were rejected") as caught:
        list(source.artifacts(ALL))
    assert "connection.azure.c" in (caught.value.hint or "")
    assert wrong.reveal() not in f"{caught.value.message}{caught.value.hint}"


def test_a_wrong_key_is_refused_for_blobs_too(azure: Place) -> None:
    azure.put("plain", "x")
    [artifact] = azure.source().artifacts(ALL)
    wrong = azure.azure(account_key=Secret("d3Jvbmc="))
    source = BlobStorage(container="logs", account_name=ACCOUNT, connection=wrong)
    with pytest.raises(TailpipeError, match="credentials were rejected"):
        source.open(artifact)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StorageBucket(), "name a bucket, or paths"),
        (lambda: StorageBucket(paths=["s3://x/y"]), "is not a path in a bucket"),
        (lambda: BlobStorage(container="x/y"), "is not the name of a bucket"),
        (lambda: BlobStorage(container="logs", account_name="Not An Account"), "not the name of a storage account"),
        (lambda: Azure(client_secret=Secret("s")), "client_secret needs a tenant_id and a client_id"),
        (lambda: Azure(account_key=Secret("a2V5"), sas_token=Secret("x")), "not both"),
        (lambda: Azure(account_key=Secret("no base64!")), "account_key is not base64"),
        (lambda: Azure(certificate_password=Secret("x")), "belongs to a certificate_path"),
        (lambda: Gcp(endpoint_url="storage"), "is not the address of a server"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TailpipeError, match=message):
        check(make())


def check(made: object) -> None:
    """What config does when it declares something."""
    for one in options_of(type(made)).values():
        if one.check is not None and (value := getattr(made, one.field)):
            one.check(value)
