"""Where the server listens, and with which token; who gets in is in `tests/unit/http_guard`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tailpipe.errors import UsageError
from tailpipe.mcp_server.http import listening, new_token
from tests.unit.detect.world import World
from tests.unit.mcp_server.support import Mcp


@pytest.fixture(scope="module")
def port(world: World) -> Iterator[int]:
    with Mcp(world, may_act=True).http() as port:
        yield port


def test_a_port_that_is_taken_is_refused_with_a_hint(port: int) -> None:
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
        listening(port)


@pytest.mark.parametrize("token", ["", "short", "with spaces in the middle", "ü" * 20, "line\nline-line-line-line"])
def test_a_weak_token_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(UsageError) as caught:
        new_token(token)
    assert not token or token not in str(caught.value)
    assert len(new_token(None)) > 40
