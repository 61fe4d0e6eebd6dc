"""The same attacks on both HTTP servers: each is refused, and what is no attack is answered."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterator
from typing import Any

import pytest

from tailpipe.http_guard.browsers import BrowserAccess
from tailpipe.http_guard.guard import Guard, Policy
from tailpipe.http_guard.programs import ProgramAccess, text_refusal
from tests.http_attacks import ATTACKS, Attack, Target, explorer_target, mcp_target
from tests.unit.detect.world import World
from tests.unit.mcp_server.support import TOKEN, Mcp
from tests.unit.serve.support import serving

KINDS = ("explorer", "mcp")
POLICIES: tuple[Policy, ...] = (
    BrowserAccess.to(["localhost"], 1),
    ProgramAccess(frozenset({"localhost:1"}), "a token"),
)


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Target]]:
    """Both servers over one workspace."""
    world = World(tmp_path_factory.mktemp("attacked"), "")
    world.append({"event": "fine", "user": "anna"})
    with serving(world.open()) as client, Mcp(world, may_act=True).http() as port:
        yield {"explorer": explorer_target(client.port, client.access.token), "mcp": mcp_target(port, TOKEN)}


@pytest.mark.parametrize(
    ("kind", "attack"),
    [pytest.param(kind, attack, id=f"{kind}: {attack}") for attack in ATTACKS for kind in attack.refusals],
)
def test_an_attack_is_refused_and_gives_nothing_away(targets: dict[str, Target], kind: str, attack: Attack) -> None:
    targets[kind].check(attack)


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        ("explorer", {}),
        ("explorer", {"Host": "localhost:{port}"}),
        ("explorer", {"Host": "LocalHost:{port}"}),
        ("explorer", {"Host": "[::1]:{port}"}),
        ("explorer", {"Host": "[::1]:{port}", "Origin": "http://[::1]:{port}"}),
        ("explorer", {"Host": "localhost:{port}", "Origin": "http://localhost:{port}"}),
        ("explorer", {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}),
        ("explorer", {"Sec-Fetch-Site": "none"}),
        ("explorer", {"Cookie": ["other=1", "{cookie}={session}"]}),
        ("mcp", {}),
        ("mcp", {"Host": "localhost:{port}"}),
        ("mcp", {"Sec-Fetch-Site": "none"}),
    ],
)
def test_what_is_no_attack_is_answered(
    targets: dict[str, Target], kind: str, headers: dict[str, str | list[str]]
) -> None:
    method, path, body = ("GET", "/api/meta", "") if kind == "explorer" else targets[kind].requests[0]
    status, _, content = targets[kind].send(method, path, body, Attack("none", {}, headers))
    assert status == 200
    assert (b"app_log" if kind == "explorer" else b"serverInfo") in content


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_are_compared_in_constant_time(
    targets: dict[str, Target], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    constant_time = hmac.compare_digest

    def compare_digest(given: bytes, expected: bytes) -> bool:
        compared.append((given, expected))
        return constant_time(given, expected)

    monkeypatch.setattr(hmac, "compare_digest", compare_digest)
    target = targets[kind]
    (name,) = target.credentials
    for credentials in ("wrong", "a" * len(target.token), target.credentials[name][:-1], target.credentials[name]):
        given = f"{{cookie}}={credentials}" if kind == "explorer" and "=" not in credentials else credentials
        compared.clear()
        target.send(*target.requests[0], Attack("", {}, {name: given}))
        assert len(compared) == 1
        assert compared[0][1].endswith((target.session if kind == "explorer" else TOKEN).encode())
    if kind == "explorer":
        compared.clear()
        target.send("GET", "/?token=wrong", "", Attack("", {}, is_anonymous=True))
        assert compared == [(b"wrong", target.token.encode())]


def answered(policy: Policy, scope: dict[str, Any]) -> list[Any]:
    """What the guard sends by itself; the application must not be called."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the application was called")

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("the guard reads no body")

    asyncio.run(Guard(app, policy, text_refusal, 1000)(scope, receive, send))
    return sent


@pytest.mark.parametrize("policy", POLICIES)
def test_a_web_socket_is_closed(policy: Policy) -> None:
    assert answered(policy, {"type": "websocket", "headers": []}) == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_long_head_that_comes_at_once_is_refused(policy: Policy) -> None:
    long = {"headers": [(b"x", b"a" * 500), (b"y", b"a" * 500)]}, {"path": "/" * 1001}, {"query_string": b"a" * 1001}
    for change in long:
        request = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], **change}
        start, body = answered(policy, request)
        assert (start["status"], body["body"]) == (431, b"the headers are larger than 1,000 bytes")


def test_a_policy_does_not_show_its_token() -> None:
    for policy in (BrowserAccess.to(["x"], 1, token="secret"), ProgramAccess(frozenset(), "secret")):
        assert "secret" not in repr(policy)
