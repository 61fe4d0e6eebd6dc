"""Notifiers: where hits of detections are sent, and what each kind of place needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from tailpipe.errors import UsageError
from tailpipe.model.names import check_reference_name
from tailpipe.model.option import Declared, Secret, label, option

_LOCAL = ("localhost", "127.0.0.1", "::1")
_ADDRESS = re.compile(r"[^@\s<>,]+@[^@\s<>,]+")


def _check_url(url: Secret) -> None:
    """Refuse an address whose traffic others could read; errors do not repeat it, because it may hold a token."""
    from urllib.parse import urlsplit  # late, because few configs have one

    text = url.reveal()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or any(sign <= " " for sign in text):
        raise UsageError("webhook_url is not an address", hint="write https://HOST/PATH")
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOCAL):
        raise UsageError("webhook_url must begin with https://", hint="http:// is allowed for localhost only")


def _check_seconds(seconds: float) -> None:
    if not 0 < seconds <= 300:
        raise UsageError("timeout_seconds must be greater than 0 and at most 300")


def _check_rate(number: int) -> None:
    if not 1 <= number <= 100_000:
        raise UsageError("alerts_per_hour must be from 1 to 100000")


def _check_command(command: Sequence[str]) -> None:
    if not command or not command[0]:
        raise UsageError("the command is empty", hint='name the program and its arguments: ["notify", "--quiet"]')


def _check_addresses(addresses: Sequence[str]) -> None:
    if not addresses:
        raise UsageError("there is no recipient")
    for address in addresses:
        _check_address(address)


def _check_address(address: str) -> None:
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f'"{address}" is not an e-mail address')


def _check_path(path: str) -> None:
    if not path.startswith(("/", "~/")):
        raise UsageError(f'"{path}" is not an absolute path', hint="commands are run from different directories")


class Notifier(Declared):
    """A place that hits are sent to; a subclass is a kind of place."""

    type: ClassVar[str] = ""
    name: str = label("Name of the notifier.", check=check_reference_name)
    alerts_per_hour: int = option(
        "Most alerts of one detection in an hour; further hits are counted in a summary.", default=50, check=_check_rate
    )

    @property
    def address(self) -> str:
        """How config names it: `notifier.slack.security`."""
        return f"notifier.{self.type}.{self.name}"


class Webhook(Notifier):
    """Posts each hit as JSON to an HTTPS address."""

    type = "webhook"
    webhook_url: Secret = option("Address to post to: `https://…`, or `http://` on localhost.", check=_check_url)
    secret: Secret | None = option(
        "Key of the HMAC-SHA256 signature; without one, requests are not signed.", default=None
    )
    timeout_seconds: float = option("Time limit per request.", default=10.0, check=_check_seconds)
    alerts_per_hour = 1000


class Slack(Notifier):
    """Posts each hit as a message to an incoming webhook of Slack."""

    type = "slack"
    webhook_url: Secret = option("Address of the incoming webhook.", check=_check_url)
    timeout_seconds: float = option("Time limit per request.", default=10.0, check=_check_seconds)


class File(Notifier):
    """Appends each hit to a file as a line of JSON."""

    type = "file"
    path: str = option(
        "File to append to, an absolute path or one below `~`; it is created if it does not exist.", check=_check_path
    )
    alerts_per_hour = 1000


class Command(Notifier):
    """Runs a program for each hit, without a shell, with the hit as JSON on its standard input."""

    type = "command"
    command: Sequence[str] = option("Program and its arguments.", check=_check_command)
    timeout_seconds: float = option(
        "Time limit per run; the program is killed after it.", default=30.0, check=_check_seconds
    )


class Email(Notifier):
    """Sends each hit as an e-mail by SMTP."""

    type = "email"
    host: str = option("Host name of the SMTP server.")
    port: int = option("Port of the SMTP server.", default=587)
    security: Literal["starttls", "tls", "none"] = option(
        "Encryption of the connection; `none` is allowed for localhost only.", default="starttls"
    )
    username: str | None = option("User name at the SMTP server.", default=None)
    password: Secret | None = option("Password at the SMTP server.", default=None)
    sender: str = option("Address that the e-mails come from.", check=_check_address)
    to: Sequence[str] = option("Addresses of the recipients.", check=_check_addresses)
    timeout_seconds: float = option("Time limit per e-mail.", default=30.0, check=_check_seconds)

    def __post_init__(self) -> None:
        if self.security == "none" and self.host not in _LOCAL:
            raise UsageError('security = "none" is allowed for localhost only', hint='use "starttls" or "tls"')


NOTIFIERS: dict[str, type[Notifier]] = {one.type: one for one in (Webhook, Slack, File, Command, Email)}
"""The kinds of notifiers by name."""
