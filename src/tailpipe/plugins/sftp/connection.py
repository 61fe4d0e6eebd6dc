"""How to reach an SFTP server: address, login, and by which keys it is known."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tailpipe.plugin import Connection, Secret, TailpipeError, UsageError, option, parse_duration

_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.:%-]{0,252}[A-Za-z0-9_])?")


def asyncssh() -> Any:
    """The library, or a message that says how to get it."""
    try:
        import asyncssh as library
    except ImportError as error:
        hint = "run: pip install 'tailpipe[sftp]'"
        raise TailpipeError("SFTP needs asyncssh, which is not installed", hint=hint) from error
    return library


def _check_host(host: str) -> None:
    if host and not _HOST.fullmatch(host):
        raise UsageError(f'"{host}" is not a host', hint="write its name or address alone; the port is an option")


def _check_port(port: int) -> None:
    if not 1 <= port <= 65_535:
        raise UsageError("port must be between 1 and 65,535")


def _check_timeout(text: str) -> None:
    if parse_duration(text).total_seconds() <= 0:
        raise UsageError(f'"{text}" is no time', hint="write it as 30s or 2m")


def _check_retries(count: int) -> None:
    if not 0 <= count <= 20:
        raise UsageError("max_retries must be between 0 and 20")


class Sftp(Connection):
    """An SFTP server, how to log in, and the keys that verify it."""

    type = "sftp"
    host: str = option("Name or address of the server.", default="", check=_check_host)
    port: int = option("Port of the server.", default=22, check=_check_port)
    username: str | None = option("User to log in as; the current user if not given.", default=None)
    password: Secret | None = option("Password of the user.", default=None)
    private_key: str | None = option(
        "File with the private key; the keys of `~/.ssh` and of the agent if not given.", default=None
    )
    passphrase: Secret | None = option("Passphrase of the private key.", default=None)
    agent: bool = option("Whether to use the keys of the SSH agent.", default=True)
    known_hosts: str = option("File with the keys of known servers.", default="~/.ssh/known_hosts")
    host_key: str | None = option(
        "Public key of the server, such as `ssh-ed25519 AAAA…`, instead of `known_hosts`.", default=None
    )
    timeout: str = option("How long to wait for the server to answer.", default="30s", check=_check_timeout)
    max_retries: int = option("How many times to reconnect.", default=3, check=_check_retries)

    @property
    def server(self) -> str:
        """The address as `known_hosts` and URIs write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 22 else f"{host}:{self.port}"

    @property
    def timeout_seconds(self) -> float:
        """The timeout as a number."""
        return parse_duration(self.timeout).total_seconds()

    def known_keys(self) -> Any:
        """The keys by which servers are known, as asyncssh takes them."""
        library = asyncssh()
        try:
            if self.host_key is not None:
                return library.import_known_hosts(
                    f"[{self.host}]:{self.port} {self.host_key}\n{self.host} {self.host_key}\n"
                )
            path = Path(self.known_hosts).expanduser()
            return library.import_known_hosts(path.read_text(errors="replace") if path.exists() else "")
        except (ValueError, OSError) as error:
            what = '"host_key"' if self.host_key is not None else f'"{self.known_hosts}"'
            raise UsageError(
                f"the host keys of {what} cannot be read: {error}", hint=f"correct {self.address}"
            ) from None
