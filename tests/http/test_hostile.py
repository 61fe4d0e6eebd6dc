"""A service that misbehaves: a run ends in bounded time and memory, with a message, and no secret leaves."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tailpipe.plugins.http import transport
from tests.http.raw import RawServer, Script, answer, scripted
from tests.http.server import Events, Reply, Server, refusal, served
from tests.http.world import SOURCE, FakeTime, actors, config, world

DAY = ("2024-03-09", "2024-03-09")
SECRET = "s3cret-of-the-test"
BEARER = f'auth "bearer" {{ token = "{SECRET}" }}\n'
ADA = b'[{"id": "1", "time": "2024-03-09T10:00:00Z", "actor": "ada"}]'


def nested(times: int) -> bytes:
    data = ADA
    for _ in range(times):
        data = gzip.compress(data)
    return data


def send(data: bytes) -> Callable[[RawServer], Script]:
    return lambda _: lambda connection, _: connection.sendall(data)


def drip(first: bytes, again: bytes) -> Callable[[RawServer], Script]:
    def script(server: RawServer) -> Script:
        def play(connection: socket.socket, _: bytes) -> None:
            connection.sendall(first)
            server.drip(connection, again, 0.02)

        return play

    return script


OK = b"HTTP/1.1 200 OK\r\n"
HOSTILE = {
    "a body that drips": (drip(OK + b"Content-Length: 99999999\r\n\r\n", b" "), "no answer within 100ms"),
    "chunks that drip": (drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"), "no answer within 100ms"),
    "headers that drip": (drip(OK + b"X-Long: ", b"x"), "no answer within 100ms"),
    "100 for ever": (drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "no answer within 100ms"),
    "headers without end": (send(OK + b"X-A: 1\r\n" * 100_000), "got more than 100 headers"),
    "a header without end": (send(OK + b"X-A: " + b"x" * 1_000_000), "got more than 65536 bytes when reading header"),
    "no status": (send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "SSH-2.0-OpenSSH_9.6"),
    "a length that is too large": (send(OK + b"Content-Length: 900\r\n\r\n" + ADA), "the answer ended after"),
    "a length that is negative": (send(OK + b"Content-Length: -1\r\n\r\n" + ADA[:20]), "perhaps it was cut"),
    "a chunk that is no number": (send(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), "IncompleteRead"),
    "gzip that is damaged": (send(answer(gzip.compress(ADA)[:-9] + b"x" * 9)), "the compressed answer is damaged"),
    "gzip that is cut": (send(answer(gzip.compress(ADA)[:-9])), "the compressed answer ended too early"),
    "gzip in gzip in gzip": (send(answer(nested(3))), "the response is not JSON"),
    "many gzip members": (send(answer(gzip.compress(b"") * 200_000)), ""),
    "an encoding nobody wants": (send(answer(b"x", "Content-Encoding: br")), 'is encoded as "br"'),
    "deep JSON": (send(answer(b"[" * 500_000)), "the response is nested too deeply"),
    "a number without end": (send(answer(b"[" + b"1" * 100_000 + b"]")), "the response is not JSON"),
    "a redirect to a file": (
        send(answer(b"", "Location: file:///etc/passwd", status="302 Found")),
        "redirects to an address that is not http: file",
    ),
    "a redirect to the cloud": (
        send(answer(b"", "Location: http://169.254.169.254/latest/meta-data", status="302 Found")),
        "redirects into a private network: 169.254.169.254",
    ),
    "a redirect to the cloud in IPv6": (
        send(answer(b"", "Location: http://[::ffff:169.254.169.254]/", status="302 Found")),
        "redirects into a private network: ::ffff:169.254.169.254",
    ),
    "a redirect to a port that is none": (
        send(answer(b"", "Location: http://127.0.0.1:99999/", status="302 Found")),
        "Port out of range",
    ),
    "a next page that is no address": (
        send(answer(ADA, 'Link: <http://[::1/x>; rel="next"')),
        "the next page has no valid address",
    ),
    "a pause of a year": (
        send(answer(b"", "Retry-After: 31536000", status="429 Too Many Requests")),
        "answered 429",
    ),
    "a date that is none": (
        send(answer(b"", "Retry-After: Sat, 01 Jan 99999999999 00:00:00 GMT", status="503 Busy")),
        "answered 503",
    ),
    "429 for ever": (send(answer(b"", "Retry-After: 0", status="429 Too Many Requests")), "answered 429"),
    "a negative pause": (send(answer(b"", "Retry-After: -5", status="429 Too Many Requests")), "answered 429"),
    "a pause that is no number": (send(answer(b"", "Retry-After: nan", status="429 Too Many")), "answered 429"),
    "a date of the year 0": (send(answer(b"", "Date: Sat, 01 Jan 0000 00:00:00 GMT", status="401 No")), "refuses"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_service_that_misbehaves_fails_the_day_with_a_message(tmp_path: Path, clock: FakeTime, name: str) -> None:
    script, message = HOSTILE[name]
    with scripted(script) as server:
        links = SOURCE + 'pagination "link_header" {}'
        made = world(tmp_path, config(server.url, links, BEARER + 'timeout = "100ms"\n max_retries = 1'))
        summary = made.collect(*DAY)
    if message:
        assert not summary.is_done
        [failed] = summary.failed
        assert message in failed.reasons[0]
        assert "Traceback" not in failed.reasons[0]
    assert sum(clock.slept) <= 3600
    assert SECRET not in str(summary)
    assert_no_secret(tmp_path)


def test_a_body_that_unpacks_beyond_the_limit_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_BODY", 1_000_000)
    server.answer = lambda _: Reply(bomb(), headers=(("Content-Encoding", "gzip"),))
    [failed] = world(tmp_path, config(server.url)).collect(*DAY).failed
    assert "a page has more than 1,000,000 bytes" in failed.reasons[0]


def bomb() -> bytes:
    return gzip.compress(gzip.compress(b" " * 50_000_000))


@pytest.mark.parametrize(
    ("record", "actor"),
    [
        (b'"actor": NaN', "NaN"),
        (b'"actor": -Infinity', "-Infinity"),
        (b'"actor": "a\\ud800b"', "a?b"),
        (b'"actor": "first", "actor": "last"', "last"),
        (b'"actor": "nul\\u0000"', "nul\x00"),
        (b'"actor": "' + b"x" * 2_000_000 + b'"', "x" * 2_000_000),
        (b'"actor": 1e999', "Infinity"),
        (b'"actor": "a", "deep": ' + b"[" * 400 + b"]" * 400, "a"),
    ],
)
def test_odd_values_are_rows(server: Server, tmp_path: Path, record: bytes, actor: str) -> None:
    server.answer = lambda _: Reply(b'[{"id": "1", "time": "2024-03-09T10:00:00Z", ' + record + b"}]")
    made = world(tmp_path, config(server.url))
    summary = made.collect(*DAY)
    assert summary.is_done, summary
    assert summary.accounts.read == 1
    assert summary.accounts.rejected or actors(made) == [actor]


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", "UTF-8", "unicode_escape", "nonsense"])
def test_a_body_is_decoded_by_the_charset_that_it_names(server: Server, tmp_path: Path, charset: str) -> None:
    text = json.dumps([{"id": "1", "time": "2024-03-09T10:00:00Z", "actor": "zoë"}], ensure_ascii=False)
    encoding = charset if charset in ("iso-8859-1", "utf-16") else "utf-8"
    headers = (("Content-Type", f"application/json; charset={charset}"),)
    server.answer = lambda _: Reply(text.encode(encoding), headers=headers)
    made = world(tmp_path, config(server.url))
    assert made.collect(*DAY).is_done
    assert actors(made) == ["zoë"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_request_is_not_redirected_to_another_server(
    server: Server, tmp_path: Path, clock: FakeTime, status: int
) -> None:
    with served() as other:
        server.answer = lambda asked: (
            refusal(status, Location=f"{other.url}/steal") if asked.path == "/token" else Reply([])
        )
        login = f"""auth "oauth2" {{
          token_url = "{server.url}/token"
          client_id = "me"
          client_secret = "{SECRET}"
        }}"""
        summary = world(tmp_path, config(server.url, SOURCE, login)).collect(*DAY)
        assert "redirects a POST to another server" in str(summary)
        assert other.asked == []
        assert SECRET not in str(summary)


def test_cookies_are_neither_kept_nor_sent(server: Server, tmp_path: Path) -> None:
    events = Events(server)
    events.say("2024-03-09", "ada", "bob", "cy")
    made = world(tmp_path, config(server.url, SOURCE + 'pagination "link_header" {}'))
    plain = events.answer

    def answering(asked: object) -> Reply:
        reply = plain(asked)  # type: ignore[arg-type]
        return Reply(reply.body, headers=(*reply.headers, ("Set-Cookie", "session=1; Path=/")))

    server.answer = answering
    assert made.collect(*DAY).is_done
    assert len(server.asked) == 2
    assert all("cookie" not in one.headers for one in server.asked)


@pytest.mark.parametrize(
    "proxy", [f"http://me:a/{SECRET}@127.0.0.1:9", f"socks5://me:{SECRET}@127.0.0.1:9", f"http://me:{SECRET}@[::1"]
)
def test_a_proxy_of_the_environment_that_is_none_does_not_show_its_password(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    summary = world(tmp_path, config(server.url)).collect(*DAY)
    assert "the proxy of connection.http.api is not the address of an HTTP proxy" in str(summary)
    assert SECRET not in str(summary)
    assert "a/" not in str(summary)


def assert_no_secret(root: Path) -> None:
    found = [path for path in root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert found == []
