"""A real server on a free port, over a workspace that a test makes; and a client that knows the token."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tailpipe.home.home import Home
from tailpipe.http_guard.browsers import BrowserAccess
from tailpipe.serve.app import Explorer
from tailpipe.serve.limits import Limits
from tailpipe.serve.listen import Server, bind
from tailpipe.serve.run import Listening


class Client:
    """Requests to a running explorer."""

    def __init__(self, explorer: Explorer, server: Server, port: int) -> None:
        self.explorer, self.server, self.port = explorer, server, port
        self.access = explorer.access
        self.cookie = f"{self.access.cookie}={self.access.session}"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str | None] | None = None,
        timeout: float = 20,
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of an answer; a header of None is not sent."""
        given: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if method == "POST":
            given |= {"Content-Type": "application/json"}
        given |= headers or {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if data is not None:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """The answer to a question that must succeed."""
        status, _, content = self.request("POST", f"/api/{path}", body)
        assert status == 200, content
        found: dict[str, Any] = json.loads(content)
        return found

    def get(self, path: str) -> dict[str, Any]:
        """The same of a route that is only read."""
        status, _, content = self.request("GET", f"/api/{path}")
        assert status == 200, content
        found: dict[str, Any] = json.loads(content)
        return found

    def failure(self, path: str, body: Any, status: int = 400) -> dict[str, Any]:
        """What is wrong with a question that must fail."""
        got, _, content = self.request("POST" if body is not None else "GET", f"/api/{path}", body)
        assert got == status, (got, content)
        found: dict[str, Any] = json.loads(content)["error"]
        return found

    def lines(self, sql: str, **more: Any) -> list[dict[str, Any]]:
        """The lines of the answer to a statement."""
        status, _, content = self.request("POST", "/api/sql", {"sql": sql, **more})
        assert status == 200, content
        return [json.loads(line) for line in content.splitlines()]

    def raw(self) -> socket.socket:
        """A connection of which nothing is known yet."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)


@contextmanager
def serving(home: Home, limits: Limits | None = None, *, is_read_only: bool = False) -> Iterator[Client]:
    """An explorer that runs until the block ends."""
    chosen = limits or Limits()
    with bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        access = BrowserAccess.to(Listening().known_as, port)
        explorer = Explorer(home, access, chosen, is_read_only=is_read_only)
        server = Server(explorer.app, chosen, explorer.pool)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            yield Client(explorer, server, port)
        finally:
            server.handle_exit(2, None)
            thread.join(20)
            explorer.pool.close()
            assert not thread.is_alive()
