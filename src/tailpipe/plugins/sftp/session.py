"""A login to an SFTP server: one connection for each process, used again, and made again when it is lost."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from tailpipe.plugin import Retry, TailpipeError, UsageError, is_transient
from tailpipe.plugins.sftp.connection import Sftp, asyncssh

T = TypeVar("T")


_SESSIONS: dict[tuple[Sftp, int], Session] = {}
_MAKING = threading.Lock()


def session_of(connection: Sftp) -> Session:
    """The session of this process, the same one each time; a fork has no threads of its parent, and makes its own."""
    with _MAKING:
        if not _SESSIONS:
            atexit.register(close_sessions)
        key = (connection, os.getpid())
        if key not in _SESSIONS:
            _SESSIONS[key] = Session(connection)
        return _SESSIONS[key]


def close_sessions() -> None:
    """End all connections of this process."""
    with _MAKING:
        own = [key for key in _SESSIONS if key[1] == os.getpid()]
        for key in own:
            _SESSIONS.pop(key).close()


class Session:
    """Requests to a server, each with a time limit; several threads may use it."""

    def __init__(self, connection: Sftp) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._client: Any = None
        self._link: Any = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sftp", daemon=True)
        self._thread.start()

    def call(self, request: Callable[[Any], Awaitable[T]]) -> T:
        """What the server answers; a connection that is lost is made again."""
        try:
            retry = Retry(retries=self.connection.max_retries)
            return retry.call(lambda: self._once(request), retried=_is_lost, recover=None)
        except Exception as error:
            if isinstance(error, TailpipeError) or not _is_lost(error):
                raise
            raise self._unreached(error) from None

    def close(self) -> None:
        """End the connection and its thread."""
        if self._loop.is_closed():
            return
        link, self._link, self._client = self._link, None, None
        if link is not None:
            with suppress(Exception):
                self._wait(_ended(link), 5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def _once(self, request: Callable[[Any], Awaitable[T]]) -> T:
        with self._lock:
            if self._client is None:
                self._link, self._client = self._wait(self._log_in(), self.connection.timeout_seconds * 2)
            client = self._client
        try:
            return self._wait(_awaited(request, client), self.connection.timeout_seconds)
        except Exception as error:
            if _is_lost(error):
                self._forget()
            raise

    def _wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self._loop)
        return future.result()

    def _forget(self) -> None:
        with self._lock:
            link, self._link, self._client = self._link, None, None
        if link is not None:
            with suppress(Exception):
                self._wait(_ended(link), 5)

    async def _log_in(self) -> tuple[Any, Any]:
        library, options = asyncssh(), self.connection
        if not options.host:
            raise UsageError(f"{options.address} has no host", hint=f'add host = "…" to {options.address}')
        try:
            link = await library.connect(**self._arguments())
            return link, await link.start_sftp_client(path_encoding=None)
        except library.HostKeyNotVerifiable:
            raise self._unknown() from None
        except library.PermissionDenied:
            raise TailpipeError(
                f"{options.server} refused the login of {options.address}",
                hint="check username, password and private_key, and that the server knows the public key",
            ) from None
        except (library.KeyImportError, library.KeyEncryptionError) as error:
            raise UsageError(
                f'the private key "{options.private_key}" cannot be read: {error}',
                hint="check the file and its passphrase; encrypted OpenSSH keys need: pip install 'tailpipe[sftp]'",
            ) from None
        except FileNotFoundError as error:
            raise UsageError(f'there is no file "{error.filename}"', hint=f"correct {options.address}") from None
        except library.ChannelOpenError as error:
            raise TailpipeError(f"{options.server} does not offer SFTP: {error.reason}") from None

    def _arguments(self) -> dict[str, Any]:
        options = self.connection
        arguments: dict[str, Any] = {
            "host": options.host,
            "port": options.port,
            "known_hosts": options.known_keys(),
            "config": None,
            "gss_host": None,
            "agent_path": os.environ.get("SSH_AUTH_SOCK") if options.agent else None,
            "login_timeout": options.timeout_seconds,
            "connect_timeout": options.timeout_seconds,
            "keepalive_interval": 30,
        }
        arguments |= {"username": options.username} if options.username else {}
        arguments |= {"password": options.password.reveal()} if options.password else {}
        arguments |= {"passphrase": options.passphrase.reveal()} if options.passphrase else {}
        if options.private_key:
            arguments["client_keys"] = [os.path.expanduser(options.private_key)]  # noqa: PTH111
        elif options.password:
            arguments["client_keys"] = None
        return arguments

    def _unknown(self) -> TailpipeError:
        options = self.connection
        found = asyncssh().match_known_hosts(options.known_keys(), options.host, "", options.port)
        where = "host_key" if options.host_key is not None else options.known_hosts
        scan = f"ssh-keyscan -p {options.port} {options.host}"
        if any(found[:2]):
            return TailpipeError(
                f"the host key of {options.server} is not the one in {where}: it has changed, or the server is another",
                hint=f"ask the owner of the server; compare with: {scan}",
            )
        return TailpipeError(
            f"the host key of {options.server} is not in {where}",
            hint=f"compare the output of {scan} with the owner's, then append it to {options.known_hosts}",
        )

    def _unreached(self, error: Exception) -> TailpipeError:
        options = self.connection
        reason = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        return TailpipeError(
            f"{options.server} does not answer: {reason}",
            hint=f"check host and port of {options.address}, or try again",
        )


async def _ended(link: Any) -> None:
    link.abort()
    await link.wait_closed()


async def _awaited(request: Callable[[Any], Awaitable[T]], client: Any) -> T:
    return await request(client)


def _is_lost(error: Exception) -> bool:
    """Whether the connection is lost, and the same request may succeed on another one."""
    names = {kind.__name__ for kind in type(error).__mro__}
    lost = {"ConnectionLost", "SFTPConnectionLost", "SFTPNoConnection", "DisconnectError"}
    refused = {"HostKeyNotVerifiable", "PermissionDenied"}
    return not names & refused and (is_transient(error) or bool(names & lost) or isinstance(error, TimeoutError))
