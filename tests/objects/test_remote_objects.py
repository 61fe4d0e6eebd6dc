"""A bucket that is slow, busy, far away or closed: what happened is known or called unknown, and no secret is shown."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.errors import ObjectStoreError, TailpipeError
from tailpipe.plugin import Secret
from tailpipe.plugins.aws.connection import Aws
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.storage.remote_objects import SINGLE_PUT_BYTES, Backoff, RemoteObjects
from tests.aws.conftest import TestBucket
from tests.aws.proxy import Answer, Cut, Fault, Lost, Proxy
from tests.aws.server import ACCESS_KEY, READER_KEY, READER_SECRET, SECRET_KEY, owner
from tests.bucket_server import Asked
from tests.objects.conftest import patient, remote


class First:
    """Goes wrong with the first requests of a method."""

    def __init__(self, times: int, fault: Fault, *methods: str, text: str = "") -> None:
        self.times, self.fault, self.methods, self.text = times, fault, methods, text
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Fault:
        if asked.method not in self.methods or self.text not in f"{asked.path}?{asked.query}":
            return None
        with self._lock:
            self.times -= 1
            return self.fault if self.times >= 0 else None


@pytest.fixture
def objects(proxy: Proxy, bucket: TestBucket) -> RemoteObjects:
    return remote(proxy.url, bucket.name, prefix="/p")


def sent(proxy: Proxy, method: str) -> list[Asked]:
    return [one for one in proxy.asked if one.method == method]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fails(call: Callable[[], object], message: str) -> ObjectStoreError:
    """The error of a call, in which no secret is, wherever one looks."""
    with pytest.raises(ObjectStoreError, match=message) as caught:
        call()
    shown = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value)) + caught.value.with_hint
    for secret in (SECRET_KEY, READER_SECRET, "wrong-secret", "Signature=", "X-Amz-Signature"):
        assert secret not in shown
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value


def test_the_reply_to_a_put_is_lost(objects: RemoteObjects, proxy: Proxy) -> None:
    proxy.fault = First(1, Lost(), "PUT")
    error = fails(lambda: objects.put("log/1", b"mine"), r'cannot write "s3://.*/p/log/1": the connection .* was cut')
    assert error.is_unknown
    assert (error.key, error.location) == ("log/1", objects.location)
    assert len(sent(proxy, "PUT")) == 1
    assert objects.get("log/1") == b"mine"
    assert not objects.put("log/1", b"mine")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_put_is_never_repeated_after_an_answer_that_says_nothing(
    objects: RemoteObjects, proxy: Proxy, status: int
) -> None:
    proxy.fault = First(1, Answer(status, "SlowDown"), "PUT")
    error = fails(lambda: objects.put("log/1", b"x"), f"too busy .{status} SlowDown")
    assert error.is_unknown
    assert len(sent(proxy, "PUT")) == 1
    assert objects.put("log/1", b"x")


@pytest.mark.parametrize("answer", [Answer(409, "ConditionalRequestConflict"), Answer(429, "TooManyRequests")])
def test_a_put_that_was_refused_for_certain_is_repeated(objects: RemoteObjects, proxy: Proxy, answer: Answer) -> None:
    proxy.fault = First(2, answer, "PUT")
    assert objects.put("log/1", b"x")
    assert len(sent(proxy, "PUT")) == objects.requests["put"] == 3


def test_a_put_that_takes_too_long_is_unknown(proxy: Proxy, bucket: TestBucket) -> None:
    may_answer = threading.Event()
    store = owner(proxy.url).object_store(f"s3://{bucket.name}")
    objects = RemoteObjects(store, "s3://x", timeout=timedelta(milliseconds=300))

    def wait(_: Asked) -> Fault:
        may_answer.wait(60)
        return None

    proxy.fault = wait
    try:
        assert fails(lambda: objects.put("a", b"x"), "did not answer in time").is_unknown
    finally:
        may_answer.set()


def test_every_put_is_conditional_and_carries_its_digest(objects: RemoteObjects, proxy: Proxy, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"file")
    objects.put("a", b"bytes")
    objects.put_file("b", tmp_path / "f", sha256=sha256(b"file"))
    objects.replace("c", b"again")
    for asked, data in zip(sent(proxy, "PUT"), (b"bytes", b"file", b"again"), strict=True):
        digest = hashlib.sha256(data).digest()
        assert asked.headers["x-amz-checksum-sha256"] == base64.b64encode(digest).decode()
        assert asked.headers["x-amz-meta-sha256"] == digest.hex()
        assert asked.headers.get("if-none-match") == (None if data == b"again" else "*")


def test_a_key_is_never_a_query(objects: RemoteObjects, proxy: Proxy) -> None:
    objects.put("a?versionId=1&s3_endpoint=evil", b"x")
    (asked,) = sent(proxy, "PUT")
    assert asked.path.endswith("/p/a?versionId=1&s3_endpoint=evil")
    assert asked.query == {}


def test_reads_are_repeated(objects: RemoteObjects, proxy: Proxy) -> None:
    objects.put("a/b", b"0123456789")
    for fault in (Answer(503, "SlowDown"), Answer(500, "InternalError"), Lost()):
        proxy.fault = First(3, fault, "GET", "HEAD")
        assert objects.get("a/b", 2, 3) == b"234"
        proxy.fault = First(3, fault, "GET", "HEAD")
        assert objects.head("a/b") is not None
        proxy.fault = First(3, fault, "GET", "HEAD")
        assert [one.key for one in objects.list("a")] == ["a/b"]
    proxy.fault = First(3, Cut(4), "GET")
    assert objects.get("a/b") == b"0123456789"


def test_reads_are_not_repeated_for_ever(objects: RemoteObjects, proxy: Proxy) -> None:
    objects.put("a", b"x")
    proxy.fault = First(1000, Answer(503, "SlowDown"), "GET", "HEAD")
    for call in (lambda: objects.get("a"), lambda: objects.head("a"), lambda: list(objects.list(""))):
        before = len(proxy.asked)
        error = fails(call, "the store is too busy")
        assert not error.is_unknown
        assert len(proxy.asked) - before == 4


def test_pauses_grow_and_end() -> None:
    pauses: list[float] = []
    backoff = Backoff(sleep=pauses.append)
    for failures in range(1, 20):
        backoff.wait(failures)
    assert 0.1 <= pauses[0] <= 0.2
    assert 5 <= pauses[-1] <= 10
    assert pauses[5] > pauses[0]


def test_derived_objects_and_deletions_are_repeated(objects: RemoteObjects, proxy: Proxy) -> None:
    for fault in (Answer(503, "SlowDown"), Lost()):
        proxy.fault = First(3, fault, "PUT")
        objects.replace("tags/x", b"1")
        proxy.fault = First(3, fault, "POST")
        objects.delete(["tags/x", "nothing"])
        proxy.fault = lambda _: None
        assert objects.head("tags/x") is None
    proxy.fault = First(1000, Answer(503, "SlowDown"), "PUT", "POST")
    assert fails(lambda: objects.replace("tags/x", b"1"), "cannot write").is_unknown
    assert fails(lambda: objects.delete(["tags/x"]), "cannot delete").is_unknown


def test_a_copy_goes_on_where_it_was_cut(objects: RemoteObjects, proxy: Proxy, tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    objects.put("a", data)
    proxy.fault = First(6, Cut(2_500_000, is_reset=False), "GET")
    assert objects.fetch("a", tmp_path / "copy") == sha256(data)
    assert (tmp_path / "copy").read_bytes() == data
    first, *rest = sent(proxy, "GET")
    assert "range" not in first.headers
    assert rest
    assert all(one.headers["range"].startswith("bytes=") and one.headers["if-match"] for one in rest)
    assert objects.requests["get"] == len(proxy.gets)


def test_a_copy_is_of_one_object_only(objects: RemoteObjects, proxy: Proxy, tmp_path: Path) -> None:
    objects.replace("a", bytes(5_000_000))

    def replaced(asked: Asked) -> Fault:
        if asked.method != "GET":
            return None
        if len(sent(proxy, "GET")) == 1:
            return Cut(3_000_000, is_reset=False)
        if len(sent(proxy, "GET")) == 2:
            objects.replace("a", os.urandom(5_000_000))
        return None

    proxy.fault = replaced
    fails(lambda: objects.fetch("a", tmp_path / "copy"), "412")


def test_a_large_file_that_fails_leaves_nothing(objects: RemoteObjects, proxy: Proxy, tmp_path: Path) -> None:
    source, data = tmp_path / "source", bytes(SINGLE_PUT_BYTES + 1)
    source.write_bytes(data)
    proxy.fault = First(1, Answer(403, "AccessDenied"), "PUT", text="'partNumber': '3'")
    error = fails(lambda: objects.put_file("d/x", source, sha256=sha256(data)), "permission denied")
    assert not error.is_unknown
    assert objects.head("d/x") is None
    assert [one for one in sent(proxy, "DELETE") if "uploadId" in one.query]
    assert objects.put_file("d/x", source, sha256=sha256(data))
    parts = [one for one in sent(proxy, "PUT") if "partNumber" in one.query]
    assert all(one.headers["x-amz-checksum-sha256"] for one in parts)


def test_the_end_of_a_large_file_is_lost(objects: RemoteObjects, proxy: Proxy, tmp_path: Path) -> None:
    source, data = tmp_path / "source", bytes(SINGLE_PUT_BYTES + 1)
    source.write_bytes(data)
    proxy.fault = First(1, Lost(), "POST", text="uploadId")
    # The upload is finished a second time: the server may take that for the same, or know the upload no more.
    raised: ObjectStoreError | None = None
    try:
        objects.put_file("d/x", source, sha256=sha256(data))
    except ObjectStoreError as error:
        raised = error
    assert raised is None or raised.is_unknown
    assert objects.fetch("d/x", tmp_path / "copy") == sha256(data)
    assert not objects.put_file("d/x", source, sha256=sha256(data))


def every_call(objects: Objects, tmp_path: Path) -> dict[str, Callable[[], object]]:
    (tmp_path / "f").write_bytes(b"")
    return {
        "put": lambda: objects.put("a", b""),
        "put_file": lambda: objects.put_file("a", tmp_path / "f", sha256=sha256(b"")),
        "replace": lambda: objects.replace("a", b""),
        "get": lambda: objects.get("a"),
        "fetch": lambda: objects.fetch("a", tmp_path / "copy"),
        "head": lambda: objects.head("a"),
        "list": lambda: list(objects.list("")),
        "delete": lambda: objects.delete(["a"]),
        "now": objects.now,
    }


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"secret_key": Secret("wrong-secret")}, "the credentials were rejected .SignatureDoesNotMatch"),
        ({"access_key": "AKIANOBODY"}, "the credentials were rejected .InvalidAccessKeyId"),
        ({"access_key": READER_KEY, "secret_key": Secret(READER_SECRET)}, "permission denied"),
    ],
)
def test_credentials_that_do_not_suffice(
    bucket: TestBucket, tmp_path: Path, keys: dict[str, Any], message: str
) -> None:
    objects = remote(bucket.url, bucket.name, **keys)
    calls = every_call(objects, tmp_path)
    if keys.get("access_key") == READER_KEY:
        calls.pop("list")  # it may do that, and nothing else
    for call in calls.values():
        # An answer to HEAD has no body, so it does not say what is wrong.
        error = fails(call, f"{message}|permission denied")
        assert not error.is_unknown
        assert "credentials" in error.hint or "keys of the connection" in error.hint
    fails(lambda: objects.put("a", b""), message)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:1", "cannot connect to 127.0.0.1"),
        ("http://no-such-host.invalid", 'there is no host "no-such-host.invalid"|cannot connect|answered'),
    ],
)
def test_a_server_that_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for call in every_call(remote(url, "some-bucket", retries=1), tmp_path).values():
        error = fails(call, message)
        assert not error.is_unknown  # nothing was sent
        assert "endpoint" in error.hint


@pytest.mark.parametrize(
    ("answer", "message", "hint"),
    [
        (Answer(409, "BlobImmutableDueToPolicy"), "the store answered 409 BlobImmutableDueToPolicy", "check s3://"),
        (Answer(404, "NoSuchBucket"), "the bucket does not exist", "create the bucket"),
        (Answer(403, "ExpiredToken"), "the credentials have expired", "log in again"),
        (Answer(400, "AuthorizationHeaderMalformed"), "the bucket is in another region", "set the region"),
        (Answer(403, "RequestTimeTooSkewed"), "the clock of this machine", "timedatectl"),
        (Answer(507, "InsufficientStorage"), "the store is full", "free some space"),
        (Answer(400, "BadDigest"), "damaged on the way", "run it again"),
        (Answer(418, "Teapot"), "the store answered 418 Teapot: by the proxy", "check s3://"),
    ],
)
def test_what_a_server_refuses_is_told_with_the_next_step(
    objects: RemoteObjects, proxy: Proxy, answer: Answer, message: str, hint: str
) -> None:
    proxy.fault = lambda _: answer
    for call in (lambda: objects.put("a", b""), lambda: objects.get("a"), lambda: list(objects.list("x"))):
        error = fails(call, message)
        assert hint in error.hint
        assert error.is_unknown == (answer.status >= 500 and error.key == "a" and "write" in error.message)
    assert len(proxy.asked) == 3


def test_the_region_of_the_bucket_is_found_or_named(objects: RemoteObjects, proxy: Proxy) -> None:
    proxy.fault = lambda _: Answer(301, "PermanentRedirect")
    error = fails(lambda: objects.put("a", b""), "the bucket is in another region")
    assert "region" in error.hint


def test_without_credentials_the_login_is_named() -> None:
    with pytest.raises(TailpipeError, match=r"there are no credentials for connection\.aws\.x") as caught:
        open_objects("s3://some-bucket", Aws(name="x", region="eu-west-1"))
    assert "aws sso login" in caught.value.hint


def test_a_login_that_has_expired_is_named(tmp_path: Path) -> None:
    (tmp_path / "aws-config").write_text(
        "[profile audit]\nsso_session = s\nsso_account_id = 123456789012\nsso_role_name = r\nregion = eu-west-1\n"
        "[sso-session s]\nsso_start_url = https://example.invalid/start\nsso_region = eu-west-1\n"
    )
    connection = Aws(name="x", profile="audit", endpoint_url="http://127.0.0.1:1")
    objects = open_objects("s3://some-bucket/p", connection)
    error = fails(lambda: objects.put("a", b""), r'cannot write "s3://some-bucket/p/a": the credentials of connection')
    assert not error.is_unknown
    assert "aws sso login --profile audit" in error.hint


def test_the_secrets_of_a_connection_are_in_no_text_of_the_objects(bucket: TestBucket) -> None:
    objects = remote(bucket.url, bucket.name)
    assert SECRET_KEY not in repr(objects) + repr(objects.location)
    assert ACCESS_KEY not in repr(objects)


def test_objects_that_others_wrote_have_no_digest(objects: RemoteObjects, bucket: TestBucket) -> None:
    bucket.put("p/foreign", b"x")
    found = objects.head("foreign")
    assert found is not None
    assert found.sha256 is None


def test_two_prefixes_of_a_bucket_are_two_places(bucket: TestBucket) -> None:
    one, other = remote(bucket.url, bucket.name, prefix="/one"), remote(bucket.url, bucket.name, prefix="/one/more/")
    whole = remote(bucket.url, bucket.name, prefix="")
    one.put("a", b"1")
    other.put("a", b"2")
    assert [found.key for found in other.list("")] == ["a"]
    assert [found.key for found in one.list("")] == ["a", "more/a"]
    assert [found.key for found in whole.list("")] == ["one/a", "one/more/a"]
    assert whole.get("one/more/a") == b"2"


def test_a_connection_with_a_dead_endpoint_does_not_stop_others(bucket: TestBucket) -> None:
    dead = replace(owner(bucket.url), name="dead", endpoint_url="http://127.0.0.1:1")
    open_objects("s3://some-bucket", dead)
    assert remote(bucket.url, bucket.name).put("a", b"")


@pytest.mark.parametrize(
    ("location", "hint"),
    [("gs://bucket/x", "GOOGLE_APPLICATION_CREDENTIALS"), ("az://container/x", "AZURE_STORAGE_ACCOUNT_KEY")],
)
def test_an_environment_without_credentials(
    location: str, hint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"):
        monkeypatch.setenv(name, "127.0.0.1:1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_MSI_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    error = fails(lambda: open_objects(location).put("a", b""), "no credentials found")
    assert hint in error.hint
    assert not error.is_unknown


def test_a_signature_in_the_environment_is_in_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2021-08-06&sp=rw&sig=wrong-secret%3D")
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    for call in every_call(patient(open_objects("az://container/x")), tmp_path).values():
        fails(call, "cannot connect")


@pytest.mark.slow
@pytest.mark.xdist_group("azure")
def test_what_azure_refuses(azure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    missing = patient(open_objects("az://no-such-container/x"))
    for name, call in every_call(missing, tmp_path).items():
        if name not in ("head", "delete"):  # these do not tell a container from an object
            assert "create the container" in fails(call, "the container does not exist").hint
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"wrong-secret").decode())
    for call in every_call(patient(open_objects(azure)), tmp_path).values():
        error = fails(call, "the credentials were rejected|permission denied")
        assert not error.is_unknown
    fails(lambda: open_objects(azure).put("a", b""), "the credentials were rejected")
