"""Who gets in by HTTP: a caller on the right host, with the token, that is no page of a browser."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from tailpipe.errors import UsageError
from tailpipe.mcp_server.http import listening, new_token
from tests.unit.detect.world import World
from tests.unit.mcp_server.support import TOKEN, Home

BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
GOOD = {
    "Host": "127.0.0.1:{port}",
    "Authorization": f"Bearer {TOKEN}",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


@pytest.fixture(scope="module")
def port(world: World) -> Iterator[int]:
    with Home(world, may_act=True).http() as port:
        yield port


def sent(port: int, changes: dict[str, str | None], method: str = "POST", path: str = "/mcp", body: str = BODY) -> int:
    """The status of a request whose headers are changed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {**GOOD, "Content-Length": str(len(body)), **changes}.items():
        for one in (value or "").split("\n") if value is not None else ():
            connection.putheader(name, one.format(port=port))
    connection.endheaders(body.encode())
    answer = connection.getresponse()
    text = answer.read()
    assert TOKEN.encode() not in text
    connection.close()
    return answer.status


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Host": "evil.example.com"}, 421),
        ({"Host": "evil.example.com:{port}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": "127.0.0.1:{port}.evil.example.com"}, 421),
        ({"Host": "127.0.0.1:{port}\nevil.example.com"}, 421),
        ({"Host": None}, 421),
        ({"Origin": "https://evil.example.com"}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"Bearer {TOKEN}\nBearer wrong"}, 401),
        ({"Authorization": "Bearer ü"}, 401),
    ],
)
def test_a_wrong_host_origin_or_token_is_refused(port: int, changes: dict[str, str | None], status: int) -> None:
    for method in ("POST", "GET", "DELETE", "OPTIONS"):
        is_odd = "Host" in changes and "\n" in (changes["Host"] or "\n")
        expected = (status, 400) if is_odd else (status,)  # without one host, HTTP itself refuses it
        assert sent(port, changes, method) in expected


def test_a_token_in_the_address_does_not_help(port: int) -> None:
    assert sent(port, {"Authorization": None}, path=f"/mcp?token={TOKEN}") == 401
    assert sent(port, {"Authorization": None}, path="/other") == 401


def test_a_right_request_gets_in_and_a_large_one_does_not(port: int) -> None:
    assert sent(port, {}) in (200, 400)  # 400 if the protocol misses something: but past the guard
    assert sent(port, {"Host": "localhost:{port}"}) in (200, 400)
    assert sent(port, {}, body="x" * 1_100_000) == 413


def test_a_port_that_is_taken_is_refused_with_a_hint(port: int) -> None:
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
        listening(port)


@pytest.mark.parametrize("token", ["", "short", "with spaces in the middle", "ü" * 20, "line\nline-line-line-line"])
def test_a_weak_token_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(UsageError) as caught:
        new_token(token)
    assert not token or token not in str(caught.value)
    assert len(new_token(None)) > 40
