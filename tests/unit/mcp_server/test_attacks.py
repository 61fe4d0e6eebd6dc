"""The attempts that a query must refuse, made by a client: none reads, writes or reaches anything."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from tailpipe.config.environment import Environment
from tailpipe.home.home import Home
from tailpipe.plugin.registry import Registry
from tailpipe.plugins import core
from tests.unit.detect.world import World
from tests.unit.mcp_server.support import CONFIG, Mcp, asked, call
from tests.unit.query.attempts import ATTEMPTS, LITERALS, SECRET, SLY, bytes_of, filled, literal_text, make_outside

SOME = ATTEMPTS[::12]
FEW = ATTEMPTS[::60]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Mcp:
    world = World(tmp_path_factory.mktemp("attacked"), CONFIG)
    world.append({"event": "fine", "user": "anna", "size": 1})
    make_outside(world.home / "data" / "default")
    environment = Environment.resolve({"TAILPIPE_INSTALL_DIR": str(world.home)})
    return Mcp(world, opened=partial(_open, environment))


def _open(environment: Environment) -> Home:
    few = Registry([core.plugin])  # with hundreds of tables, each statement that names none of them takes a second
    return Home(environment, few)


@pytest.mark.parametrize(
    ("attempts", "is_stdio"),
    [
        (SOME, False),
        pytest.param(ATTEMPTS, False, marks=pytest.mark.slow),
        pytest.param(FEW, True, marks=pytest.mark.slow),
    ],
)
def test_no_attempt_of_a_client_reads_or_changes_anything(
    attacked: Mcp, attempts: list[str], is_stdio: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = attacked.world.home / "data" / "default"
    monkeypatch.chdir(place / "outside")
    monkeypatch.setenv("HOME", str(place / "outside"))

    async def ask(client: Client) -> dict[str, str]:
        answered = {}
        for sql in attempts:
            result = await client.call_tool("query", {"sql": filled(sql, place)})
            text = str(result.content[0].text)  # type: ignore[union-attr]
            assert SECRET not in text
            if not result.is_error:
                answered[sql] = text
        for sql in SLY if len(attempts) > 100 else SLY[::6]:
            result = await client.call_tool("query", {"sql": filled(sql, place)})
            assert SECRET not in str(result.content)
        assert (await call(client, "query", sql="SELECT count(*) FROM app_log"))["rows"] == [[1]]
        return answered

    before = bytes_of(place)
    answered = asked(attacked, ask, is_stdio=is_stdio)
    assert answered == {}
    assert {name: text for name, text in bytes_of(place).items() if "catalog.db" not in name} == {
        name: text for name, text in before.items() if "catalog.db" not in name
    }


def test_arguments_are_never_part_of_a_statement(attacked: Mcp) -> None:
    evil = "x' UNION ALL SELECT content FROM read_text('/etc/hostname') --"

    async def ask(client: Client) -> list[str]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("list_tables", {"pattern": evil}),
            ("describe_table", {"table": evil}),
            ("query", {"sql": "SELECT $a", "params": {"a": evil}}),
            ("search", {"text": evil, "start": "2024-01-01"}),
            ("search", {"text": "x", "tables": [evil]}),
            ("coverage", {"partition": evil}),
            ("rejected", {"partition": evil}),
            ("detections", {"pattern": evil}),
            ("hits", {"detection": evil}),
            ("explain_hit", {"hit": evil}),
        ]
        return [str((await client.call_tool(name, arguments)).content) for name, arguments in calls]

    hostname = Path("/etc/hostname").read_text().strip()
    for text in asked(attacked, ask):
        assert hostname not in text.replace(evil, "")


def test_a_literal_is_answered_as_it_is_written(attacked: Mcp) -> None:
    place = attacked.world.home / "data" / "default"
    texts = [filled(one, place) for one in LITERALS]

    async def ask(client: Client) -> Any:
        return (await call(client, "query", sql=f"SELECT {', '.join(texts)}"))["rows"][0]

    assert asked(attacked, ask) == [literal_text(one) for one in texts]
