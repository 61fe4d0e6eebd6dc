"""Running the explorer: from the address to listen on until Ctrl-C."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.http_guard.browsers import BrowserAccess
from tailpipe.serve.app import Explorer
from tailpipe.serve.limits import Limits
from tailpipe.serve.listen import Server, bind, is_loopback
from tailpipe.sql.without_pandas import without_pandas

_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@frozen
class Listening:
    """Where to listen, under which names, and whether to open a browser; elsewhere than on loopback only with TLS."""

    host: str = "127.0.0.1"
    port: int | None = None
    names: tuple[str, ...] = ()
    """Other names that clients reach this machine by."""
    certificate: str | None = None
    key: str | None = None
    opens_browser: bool = True

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def is_secure(self) -> bool:
        """Whether connections are encrypted."""
        return self.certificate is not None

    @property
    def known_as(self) -> list[str]:
        """The names that requests may use for this machine."""
        names = list(self.names)
        if self.is_local:
            return [*_LOCAL, *names]
        try:
            if ipaddress.ip_address(self.host).is_unspecified:
                return [*names, socket.gethostname(), *_LOCAL]
        except ValueError:
            pass
        return [f"[{self.host}]" if ":" in self.host else self.host, *names]

    def check(self) -> None:
        """Refuse to be reached by others without encryption, or with a certificate that cannot be used."""
        if (self.certificate is None) != (self.key is None):
            raise UsageError("--tls-cert and --tls-key go together", hint="give both files")
        if not self.is_local and not self.is_secure:
            hint = "give --tls-cert and --tls-key, or forward a port: ssh -L 8347:127.0.0.1:8347 HOST"
            raise UsageError(f'"{self.host}" can be reached by others, which needs TLS', hint=hint)
        if self.certificate is not None and self.key is not None:
            for path in (self.certificate, self.key):
                if not Path(path).is_file():
                    raise UsageError(f'there is no file "{path}"')
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, lambda: b"")
            except (OSError, ssl.SSLError) as error:
                hint = "both must be PEM, match each other, and the key must have no password"
                raise UsageError("the certificate or its key cannot be used", hint=hint) from error


def serve(home: Home, listening: Listening, show: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `show` gets the address, `say` what a person should know."""
    listening.check()
    home.layout()  # what is wrong with config or data is said before anybody waits for a page
    limits = Limits()
    with bind(listening.host, listening.port) as found:
        port = found.getsockname()[1]
        access = BrowserAccess.to(listening.known_as, port, is_secure=listening.is_secure)
        scheme = "https" if listening.is_secure else "http"
        address = f"{scheme}://{listening.known_as[0]}:{port}/?token="

        def announce() -> None:
            show(address + access.token)
            is_local = listening.is_local
            say("press Ctrl-C to stop" if is_local else "read-only, for whoever has the address; Ctrl-C stops")
            if listening.opens_browser:
                threading.Thread(target=_open, args=(address + access.new_code(),), daemon=True).start()

        with without_pandas():
            asyncio.run(_serve(home, access, limits, listening, found, announce))


def _open(address: str) -> None:
    """Open a browser, if this machine has one with windows: one in this terminal would take it over."""
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        if type(browser) is not webbrowser.GenericBrowser:
            browser.open(address)


async def _serve(
    home: Home,
    access: BrowserAccess,
    limits: Limits,
    listening: Listening,
    found: socket.socket,
    announce: Callable[[], None],
) -> None:
    explorer = Explorer(home, access, limits, is_read_only=not listening.is_local)
    server = Server(explorer.app, limits, explorer.pool, certificate=listening.certificate, key=listening.key)
    announce()
    try:
        await server.serve([found])
    except OSError as error:
        raise TailpipeError(f"the server failed: {error.strerror or error}") from error
    finally:
        explorer.pool.close()
