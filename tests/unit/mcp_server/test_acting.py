"""Tools that change data: they exist only if they are allowed, run commands of ours, and end when cancelled."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.mcp_server import acting
from tailpipe.mcp_server.work import Stop
from tests.unit.detect.world import World
from tests.unit.mcp_server.support import CONFIG, Mcp, asked, call, failure


def test_names_are_never_taken_for_flags_and_errors_are_those_of_the_command(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(world.home))
    stop = Stop(None)
    with pytest.raises(TailpipeError) as caught:
        acting.collect(stop, (), ["--overwrite"], None, None)
    assert "--overwrite" in caught.value.message
    assert "Traceback" not in caught.value.message
    with pytest.raises(UsageError, match="end needs start"):
        acting.collect(stop, (), [], None, "2024-01-01")


def test_a_command_does_not_get_the_token() -> None:
    assert acting._environment({"TAILPIPE_MCP_TOKEN": "x", "HOME": "y"}) == {"HOME": "y"}


def test_a_cancelled_command_is_interrupted_once_and_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program in place of Python that waits for Ctrl-C, as a long collection would."""
    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport sys, time\nopen({str(tmp_path / 'begun')!r}, 'w').close()\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
        "    print('interrupted: what is committed stays', file=sys.stderr)\n    sys.exit(130)\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    stop = Stop(None)

    def cancel() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.02)
        stop.cancel()

    threading.Thread(target=cancel).start()
    with stop.watching(), pytest.raises(TailpipeError, match="what is committed stays"):
        acting.collect(stop, (), [], None, None)


@pytest.mark.slow
def test_an_assistant_collects_and_detects_if_it_may(tmp_path: Path) -> None:
    world = World(tmp_path, CONFIG)
    world.begin()
    world.log({"event": "failed", "user": "anna"}, {"event": "fine"})

    async def ask(client: Client) -> dict[str, Any]:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        for name in ("collect", "detect"):
            hints = tools[name].annotations
            assert hints is not None
            assert hints.read_only_hint is False
        return {
            "wrong": await failure(client, "collect", partitions=["nope.x"]),
            "collect": await call(client, "collect", partitions=["app_log.p"], start="2024-01-10", end="2024-01-10"),
            "rows": await call(client, "query", sql="SELECT count(*) FROM app_log"),
            "detect": await call(client, "detect"),
            "hits": await call(client, "hits"),
        }

    found = asked(Mcp(world, may_act=True), ask, is_stdio=True)
    assert "nope.x" in found["wrong"]
    assert found["collect"]["exit_code"] == 0
    assert found["rows"]["rows"] == [[2]]
    (hit,) = found["detect"]["report"]["hits"]
    assert hit["event"]["user"] == "anna"
    assert [one["event"]["user"] for one in found["hits"]["rows"]] == ["anna"]
