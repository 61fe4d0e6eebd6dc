"""An SFTP server in this process, over a directory, with a key of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh


class Login(asyncssh.SSHServer):
    """Lets `anna` in, by password or key."""

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == ("anna", "open-sesame")


class Server:
    """A server that can be asked for its key, and that can cut all connections."""

    def __init__(self, root: Path, authorized: str | None = None, factory: Callable[[Any], Any] | None = None) -> None:
        self.root = root
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.links: list[Any] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._factory = factory or (lambda link: asyncssh.SFTPServer(link, chroot=bytes(root)))
        self._authorized = authorized
        self._acceptor = self._run(self._listen())
        self.port: int = self._acceptor.get_port()

    @property
    def host_key(self) -> str:
        return str(self.key.export_public_key().decode()).strip()

    def cut(self) -> None:
        """Cut all connections."""

        async def cut() -> None:
            await self._abort()

        self._run(cut())

    def close(self) -> None:
        async def close() -> None:
            self._acceptor.close()
            await self._acceptor.wait_closed()
            await self._abort()

        self._run(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _abort(self) -> None:
        links, self.links = self.links, []
        for link in links:
            link.abort()
        for link in links:
            await link.wait_closed()

    async def _listen(self) -> Any:
        def made(link: Any) -> Any:
            self.links.append(link.get_connection())
            return self._factory(link)

        return await asyncssh.create_server(
            Login,
            "127.0.0.1",
            0,
            server_host_keys=[self.key],
            authorized_client_keys=self._authorized,
            sftp_factory=made,
        )

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)
