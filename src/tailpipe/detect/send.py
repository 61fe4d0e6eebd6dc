"""Send one alert to one notifier, or say why that failed; no message names an address, a key or an answer's text."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import signal
import smtplib
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tailpipe.detect.outbox import Alert
from tailpipe.model.notifier import Command, Email, File, Notifier, Slack, Webhook
from tailpipe.model.visible import shorten, visible, visible_lines

_ANSWER_BYTES = 4096
"""More of an answer is not read; nothing of it is shown."""
_SHOWN = 200
"""Columns of a value that people are shown."""
_LONGEST_WAIT = timedelta(hours=1)


class SendError(Exception):
    """An alert that did not arrive, or may not have; `wait` is how long the other side wants to be left alone.

    If it `is_general`, other alerts would fail in the same way now.
    """

    def __init__(self, message: str, *, wait: timedelta = timedelta(0), is_general: bool = True) -> None:
        super().__init__(message)
        self.wait, self.is_general = wait, is_general


def send(notifier: Notifier, alert: Alert) -> None:
    """Deliver an alert; its receiver recognises a repeated one by its id."""
    try:
        _SENDERS[type(notifier)](notifier, alert)
    except ssl.SSLError as error:
        raise SendError(f"TLS failed: {error.reason or type(error).__name__}") from None
    except (TimeoutError, subprocess.TimeoutExpired):
        raise SendError("no answer within the time limit") from None
    except OSError as error:
        raise SendError(error.strerror or type(error).__name__) from None
    except smtplib.SMTPResponseException as error:
        raise SendError(f"the mail server answered {error.smtp_code}", is_general=error.smtp_code < 550) from None
    except (http.client.HTTPException, smtplib.SMTPException, ValueError) as error:
        raise SendError(f"no valid answer: {type(error).__name__}") from None


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What a receiver compares: HMAC-SHA256 over the time, a point and the body."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _webhook(notifier: Webhook, alert: Alert) -> None:
    body = _json(alert.record)
    timestamp = str(int(time.time()))
    headers = {"Idempotency-Key": alert.hit, "X-Tailpipe-Timestamp": timestamp}
    if notifier.secret is not None:
        headers["X-Tailpipe-Signature"] = signature(notifier.secret.reveal(), timestamp, body)
    _post(notifier.webhook_url.reveal(), body, headers, notifier.timeout_seconds)


def _slack(notifier: Slack, alert: Alert) -> None:
    """Post plain text: text of a log is not markup, cannot mention people, and its links get no preview."""
    text = _text(alert.record).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = {"mrkdwn": False, "link_names": False, "unfurl_links": False, "unfurl_media": False}
    _post(notifier.webhook_url.reveal(), _json({"text": text, **plain}), {}, notifier.timeout_seconds)


def _post(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> None:
    """Post JSON. Redirects are not followed: the alert is for this host alone."""
    parts = urlsplit(url)
    host, target = parts.hostname or "", (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if parts.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, parts.port, timeout=seconds, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=seconds)
    late = threading.Event()
    timer = threading.Timer(seconds, _cut, (connection, late))  # a socket's own limit holds for each read alone
    timer.daemon = True
    timer.start()
    try:
        common = {"Content-Type": "application/json", "User-Agent": "tailpipe"}
        connection.request("POST", target, body, {**common, **headers})
        answer = connection.getresponse()
        answer.read(_ANSWER_BYTES)
        status, after = answer.status, answer.headers.get("Retry-After")
    except (OSError, http.client.HTTPException):
        if late.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
        connection.close()
    if 300 <= status < 400:
        raise SendError(f"the server answered {status}, and redirects are not followed")
    if not 200 <= status < 300:
        is_general = status in (401, 403, 404, 408, 429) or status >= 500
        raise SendError(f"the server answered {status}", wait=_wait(after), is_general=is_general)


def _cut(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    late.set()
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(2)


def _wait(after: str | None) -> timedelta:
    """What `Retry-After` says in seconds, but never very long."""
    if not (after and after.isascii() and after.isdigit()):
        return timedelta(0)
    return timedelta(seconds=int(after)) if len(after) < 5 and int(after) < 3600 else _LONGEST_WAIT


def _file(notifier: File, alert: Alert) -> None:
    """Append a line and bring it to the disk; a line that a crash has cut off is ended first."""
    path = Path(notifier.path).expanduser()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line = (b"\n" if is_cut else b"") + _json(alert.record) + b"\n"
        if os.write(descriptor, line) != len(line):
            raise SendError("the line could not be written whole")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _command(notifier: Command, alert: Alert) -> None:
    """Run the program without a shell; what it prints is dropped, and its children end with it."""
    with subprocess.Popen(
        list(notifier.command),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            process.communicate(_json(alert.record) + b"\n", timeout=notifier.timeout_seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise SendError(f"the command ended with exit code {process.returncode}", is_general=False)


def _email(notifier: Email, alert: Alert) -> None:
    record = alert.record
    message = EmailMessage()
    message["From"], message["To"] = notifier.sender, ", ".join(notifier.to)
    message["Subject"] = shorten(visible(" ".join(_headline(record).split())), _SHOWN)
    message["Message-ID"] = f"<{alert.hit}@tailpipe>"
    message.set_content(f"{_text(record)}\n\n{visible_lines(json.dumps(record, indent=2, ensure_ascii=False))}\n")
    seconds, context = notifier.timeout_seconds, ssl.create_default_context()
    if notifier.security == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(notifier.host, notifier.port, timeout=seconds, context=context)
    else:
        server = smtplib.SMTP(notifier.host, notifier.port, timeout=seconds)
    with server:
        if notifier.security == "starttls":
            server.starttls(context=context)
        if notifier.username is not None and notifier.password is not None:
            server.login(notifier.username, notifier.password.reveal())
        server.send_message(message)


def _text(record: Mapping[str, Any]) -> str:
    """A hit, or a summary of hits, in a few lines for people."""
    if record.get("is_summary"):
        lines = [
            f"{record['first_at']} to {record['last_at']} · {record['table']} · detection {record['detection']}",
            "all of them are rows of detection_hit",
        ]
    else:
        lines = [f"{record['time']} · {record['table']}.{record['partition']} · detection {record['detection']}"]
        if record["count"] != 1:
            lines.append(f"count {record['count']}")
        if key := record.get("key"):
            lines.append(f"for {', '.join(_shown(value) for value in key)}")
    return "\n".join([visible(_headline(record)), *lines, f"id {record['id']}"])


def _headline(record: Mapping[str, Any]) -> str:
    more = f": {record['count']:,} more hits" if record.get("is_summary") else ""
    return f"[{record['severity']}] {record['title']}{more}"


def _shown(value: object) -> str:
    """A value of a log on one line, so that it cannot pretend to be another line of the alert."""
    text = str(value)
    return shorten(visible(text[: 2 * _SHOWN]), _SHOWN)


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")


_SENDERS: Mapping[type[Notifier], Callable[[Any, Alert], None]] = {
    Webhook: _webhook,
    Slack: _slack,
    File: _file,
    Command: _command,
    Email: _email,
}
