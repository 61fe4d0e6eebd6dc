"""The gate: it serves ranges of the files that it was given, to this process, and nothing else to nobody."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tailpipe.errors import ObjectStoreError
from tailpipe.stores.gate import Gate, is_own

DATA = bytes(range(256)) * 4


class Served:
    """A gate with one file, and what was read of it."""

    def __init__(self) -> None:
        self.read: list[tuple[int, int]] = []
        self.gate = Gate()
        self.address = self.gate.serve("files/a", len(DATA), self._read)

    def _read(self, start: int, length: int) -> bytes:
        self.read.append((start, length))
        return DATA[start : start + length]

    def ask(self, method: str = "GET", target: str | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=30)
        try:
            connection.putrequest(method, parts.path if target is None else target, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    @property
    def token(self) -> str:
        return urlsplit(self.address).path.split("/")[1]


@pytest.fixture
def served() -> Iterator[Served]:
    one = Served()
    yield one
    one.gate.close()


def test_a_range_is_served(served: Served) -> None:
    status, headers, data = served.ask(Range="bytes=10-19")
    assert (status, data) == (206, DATA[10:20])
    assert headers["content-range"] == "bytes 10-19/1024"
    assert served.read == [(10, 10)]


def test_head_is_answered_without_a_request(served: Served) -> None:
    status, headers, data = served.ask("HEAD")
    assert (status, headers["content-length"], headers["accept-ranges"], data) == (200, "1024", "bytes", b"")
    assert served.read == []


@pytest.mark.parametrize("text", ["bytes=1000-99999999", "bytes=1000-", "bytes=1000-999999999999999999"])
def test_a_range_beyond_the_end_is_cut_to_the_file(served: Served, text: str) -> None:
    status, _, data = served.ask(Range=text)
    assert (status, data) == (206, DATA[1000:])
    assert served.read == [(1000, 24)]


@pytest.mark.parametrize(
    "text",
    [
        "bytes=-5",
        "bytes=0-1,5-6",
        "bytes=5-1",
        "bytes=1024-2000",
        "bytes=999999999999999999-",
        "bytes=9999999999999999999999999999-",
        "bytes=-0",
        "bytes=a-b",
        "bytes= 1-2",
        "bytes=+1-2",
        "bytes=--1",
        "bytes=0x1-0x2",
        "lines=1-2",
        "",
    ],
)
def test_any_other_range_is_refused_without_a_request(served: Served, text: str) -> None:
    status, _, data = served.ask(**({"Range": text} if text else {}))
    assert status in (400, 416)
    assert data == b""
    assert served.read == []


@pytest.mark.parametrize(
    "target",
    [
        "/{token}/",
        "/{token}/1",
        "/{token}/0?",
        "/{token}/0?s3_endpoint=127.0.0.1",
        "/{token}/0#x",
        "/{token}/0/",
        "/{token}//0",
        "//{token}/0",
        "/{token}/../{token}/0",
        "/{token}/%2e%2e/{token}/0",
        "/{token}/%30",
        "/{token}/files/a",
        "/{token}/../../../../etc/passwd",
        "/{token}/0%00",
        "/{token}x/0",
        "/{guess}/0",
        "/0",
        "/",
        "*",
        "http://127.0.0.1/{token}/0",
        "http://example.com/",
        "http://169.254.169.254/latest/meta-data/",
        "s3://bucket/key",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_any_other_address_is_refused_without_a_request(served: Served, method: str, target: str) -> None:
    target = target.format(token=served.token, guess="A" * len(served.token))
    status, headers, data = served.ask(method, target, Range="bytes=0-9")
    assert (status, data) == (404, b"")
    assert "location" not in headers
    assert served.read == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "PROPFIND"])
def test_any_other_method_is_refused(served: Served, method: str) -> None:
    status, _, data = served.ask(method, Range="bytes=0-9")
    assert (status, data) == (501, b"")
    assert served.read == []


@pytest.mark.parametrize("host", ["example.com", "localhost:{port}", "127.0.0.1", ""])
def test_somebody_who_came_by_another_name_is_refused(served: Served, host: str) -> None:
    port = str(urlsplit(served.address).port)
    status, _, _ = served.ask(Range="bytes=0-9", Host=host.replace("{port}", port))
    assert status == 404


def test_it_listens_on_loopback_alone(served: Served) -> None:
    assert served.gate._server.server_address[0] == "127.0.0.1"


def test_tokens_are_long_and_never_the_same(served: Served) -> None:
    other = Gate()
    try:
        assert other.prefix.split("/")[3] != served.token
        assert len(served.token) >= 43
    finally:
        other.close()


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="only Linux tells whose a connection is")
def test_another_process_is_refused_even_with_the_token(served: Served) -> None:
    code = (
        "import sys, urllib.request, urllib.error\n"
        "request = urllib.request.Request(sys.argv[1], headers={'Range': 'bytes=0-9'})\n"
        "opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n"
        "try:\n    print(opener.open(request).status)\nexcept urllib.error.HTTPError as error:\n    print(error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, served.address], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "404"
    assert served.read == []


def test_where_nobody_tells_whose_a_connection_is_the_token_decides(tmp_path: Path) -> None:
    assert is_own(1, 2, tmp_path / "none")


def test_after_the_session_the_address_is_dead(served: Served) -> None:
    served.gate.close()
    parts = urlsplit(served.address)
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", parts.port or 0), timeout=10):
        pass


def test_a_failure_of_the_store_is_kept_for_whoever_reports_it() -> None:
    def fail(start: int, length: int) -> bytes:
        raise ObjectStoreError("the store is gone", location="s3://bucket")

    served = Served()
    try:
        served.address = served.gate.serve("files/b", 100, fail)
        status, _, data = served.ask(Range="bytes=0-9")
        assert (status, data) == (502, b"")
        assert served.gate.failure is not None
        assert served.gate.failure.message == "the store is gone"
    finally:
        served.gate.close()


def test_an_object_that_is_shorter_than_it_was_is_not_served() -> None:
    served = Served()
    try:
        served.address = served.gate.serve("files/b", 100, lambda _start, _length: b"short")
        assert served.ask(Range="bytes=0-9")[0] == 502
    finally:
        served.gate.close()
