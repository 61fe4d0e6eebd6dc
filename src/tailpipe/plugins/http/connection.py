"""How to reach and log in to an HTTP API."""

from __future__ import annotations

import dataclasses
import ipaddress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tailpipe.plugin import Connection, Declared, Secret, UsageError, nested, option, parse_duration
from tailpipe.plugins.checks import check_retries
from tailpipe.plugins.http.auth import ApiKey, Auth, AwsSigV4, Basic, Bearer, Google, Header, Hmac, OAuth2
from tailpipe.plugins.http.template import added_options, filled_in, placeholders


def check_span(text: str) -> None:
    """Refuse what is not a duration of some length."""
    if parse_duration(text).total_seconds() <= 0:
        raise UsageError(f'"{text}" is not a duration', hint="write it as 30s, 10m, 2h or 7d")


def _check_address(url: str) -> None:
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise UsageError("an address must not contain a user name or a password", hint='write auth "basic" { … }')
    if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise UsageError(f'"{url}" is not the address of a service', hint="write it as https://host/path")


def _check_proxy(url: str) -> None:
    if "@" in url:
        raise UsageError("an address must not contain a password", hint="use proxy_username and proxy_password")


def _check_count(count: int) -> None:
    if count < 1:
        raise UsageError("must be at least 1")


class RateLimit(Declared):
    """How many requests are sent, by all tasks on a host together."""

    requests: int | None = option("How many requests are sent in `per`.", default=None, check=_check_count)
    per: str = option("The time for that many requests.", default="1m", check=check_span)
    parallel: int = option("How many requests are sent at a time.", default=4, check=_check_count)
    remaining: str = option("Header that has the number of requests that remain.", default="X-RateLimit-Remaining")
    reset: str = option("Header with the time of the reset: in seconds, or since 1970.", default="X-RateLimit-Reset")

    @property
    def per_second(self) -> float | None:
        """How many requests are sent in a second."""
        return None if self.requests is None else self.requests / parse_duration(self.per).total_seconds()


class HttpConnection(Connection):
    """An HTTP API: its address, how to log in, and what it allows."""

    type = "http"
    base_url: str = option(
        "Address of the service, such as `https://api.example.com`.", default="", check=_check_address
    )
    auth: Header | Bearer | Basic | ApiKey | OAuth2 | Google | AwsSigV4 | Hmac | None = nested(
        "How to log in.", block="auth", default=None
    )
    rate_limit: RateLimit | None = nested("How many requests are sent.", block="rate_limit", default=None)
    timeout: str = option("How long to wait for the service to send something.", default="60s", check=check_span)
    max_retries: int = option("How many times to retry a failed request.", default=5, check=check_retries)
    max_wait: str = option(
        "How long a request may wait in all, for limits and retries.", default="1h", check=check_span
    )
    ca_file: str | None = option("File with certificates (PEM) to trust besides those of the system.", default=None)
    client_certificate: str | None = option("File with the certificate (PEM) of this client.", default=None)
    client_key: str | None = option("File with the key of that certificate, if it is in another file.", default=None)
    client_key_password: Secret | None = option("Password of that key.", default=None)
    proxy: str | None = option(
        'Address of a proxy; `HTTPS_PROXY` and `NO_PROXY` count if it is not given, `""` means none.',
        default=None,
        check=_check_proxy,
    )
    proxy_username: str | None = option("Name to log in to the proxy with.", default=None)
    proxy_password: Secret | None = option("Password to log in to the proxy with.", default=None)
    allow_http: bool = option("Whether to log in without encryption.", default=False)

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url)
        if url.scheme == "http" and self.auth is not None and not self.allow_http and not _is_here(url.hostname or ""):
            hint = "use https, or set allow_http = true"
            raise UsageError("credentials would be sent unencrypted", hint=hint)
        if self.client_key is not None and self.client_certificate is None:
            raise UsageError("client_key requires client_certificate", hint="give both")

    @property
    def timeout_seconds(self) -> float:
        """The timeout as a number."""
        return parse_duration(self.timeout).total_seconds()

    @property
    def max_wait_seconds(self) -> float:
        """The longest wait as a number."""
        return parse_duration(self.max_wait).total_seconds()

    def path(self, text: str) -> str:
        """The path of a file that an option names."""
        return str(Path(text).expanduser())

    def resolved(self) -> Self:
        """The connection with the options of its preset in their places; what is missing is an error."""
        names: dict[str, str] = {}
        for name in added_options(type(self), HttpConnection):
            value: Any = getattr(self, name)
            if value is not None:
                names[name] = value.reveal() if isinstance(value, Secret) else str(value)
        changed: dict[str, Any] = {"base_url": filled_in(self.base_url, names), "auth": filled_in(self.auth, names)}
        missing = [*placeholders(changed["base_url"]), *_missing(self, names)]
        if missing or not changed["base_url"]:
            what = missing[0] if missing else "base_url"
            raise UsageError(f'{self.address} has no argument "{what}"', hint=f"add it to {self.address}")
        _check_address(changed["base_url"])
        return dataclasses.replace(self, **changed)


def _missing(connection: HttpConnection, names: dict[str, str]) -> list[str]:
    """The options that the preset's way to log in needs, and that were not given."""
    if not isinstance(connection.auth, Auth):
        return []
    fields = (getattr(connection.auth, one.name) for one in dataclasses.fields(connection.auth))
    texts = (one.reveal() if isinstance(one, Secret) else one for one in fields)
    needed = [name for text in texts for name in placeholders(text if isinstance(text, str) else "")]
    own = added_options(type(connection), HttpConnection)
    return [name for name in needed if name in own and name not in names]


def _is_here(host: str) -> bool:
    """Whether the host is this machine, so that traffic cannot be overheard."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
