"""Alerts against real receivers that fail in every way; no failure tells a secret."""

from __future__ import annotations

import json
import re
import socketserver
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email import message_from_string
from email.policy import default
from pathlib import Path

import pytest

from tailpipe.detect.outbox import GIVE_UP, Alert, alerts_in, failed
from tailpipe.detect.send import SendError, send, signature
from tailpipe.model.notifier import Command, Email, File, Slack, Webhook
from tailpipe.model.option import Secret
from tests.unit.detect.receiver import Receiver

NOW = datetime(2024, 1, 1, tzinfo=UTC)
RECORD = {
    "id": "h1",
    "detection": "d",
    "title": "Failed <login> & more",
    "severity": "high",
    "mitre": [],
    "table": "t",
    "partition": "p",
    "tp_id": "x-1",
    "time": "2024-01-01T00:00:00Z",
    "count": 2,
    "key": ["1.1.1.1"],
    "event": {"user": "zoë"},
}
ALERT = Alert("h1", "notifier.webhook.w", RECORD, NOW)
SECRET = "a-very-secret-key"


def webhook(url: str, seconds: float = 5.0) -> Webhook:
    return Webhook(name="w", webhook_url=Secret(url), secret=Secret(SECRET), timeout_seconds=seconds)


def test_a_webhook_gets_the_hit_signed_and_with_its_id() -> None:
    with Receiver(200) as receiver:
        send(webhook(receiver.url), ALERT)
    ((path, headers, body),) = receiver.requests
    assert path == "/hook/TOKEN-IN-PATH"
    assert json.loads(body) == RECORD
    assert headers["Idempotency-Key"] == "h1"
    assert headers["X-Tailpipe-Signature"] == signature(SECRET, headers["X-Tailpipe-Timestamp"], body)
    assert abs(int(headers["X-Tailpipe-Timestamp"]) - time.time()) < 300
    assert SECRET not in str(headers)


@pytest.mark.parametrize(
    ("after", "minutes"),
    [("1800", 30), ("31536000", 60), ("9" * 5000, 60), ("-5", 0), ("soon", 0), ("1e9", 0), ("", 0)],
)
def test_a_receiver_is_left_alone_for_an_hour_at_most(after: str, minutes: int) -> None:
    with Receiver(f"after {after}") as receiver, pytest.raises(SendError) as caught:
        send(webhook(receiver.url, 5.0), ALERT)
    assert caught.value.wait == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (500, "the server answered 500"),
        (400, "the server answered 400"),
        ("redirect", "the server answered 302, and redirects are not followed"),
        ("hang", "no answer within the time limit"),
        ("drip", "no answer within the time limit"),
        ("die", "no valid answer: BadStatusLine"),
        ("busy", "the server answered 429"),
    ],
)
def test_a_receiver_that_fails_is_told_without_any_secret(step: int | str, message: str) -> None:
    with Receiver(step) as receiver:
        seconds = 0.3 if step in ("hang", "drip") else 5.0
        with pytest.raises(SendError) as caught:
            send(webhook(receiver.url, seconds), ALERT)
    assert str(caught.value).startswith(message)
    assert caught.value.wait == (timedelta(minutes=30) if step == "busy" else timedelta(0))
    assert caught.value.is_general == (step != 400)
    assert len(receiver.requests) == 1  # a redirect is not followed
    for secret in (SECRET, "TOKEN-IN-PATH", str(receiver.port)):
        assert secret not in repr(caught.value) + repr(caught.value.__cause__)


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    with Receiver("large") as receiver:
        send(webhook(receiver.url), ALERT)


def test_nobody_there_is_a_failure() -> None:
    with Receiver(200) as receiver:
        url = receiver.url
    with pytest.raises(SendError, match="Connection refused"):
        send(webhook(url), ALERT)


def test_slack_gets_a_text_without_markup_of_the_log() -> None:
    with Receiver(200) as receiver:
        send(Slack(name="s", webhook_url=Secret(receiver.url)), ALERT)
    ((_, _, body),) = receiver.requests
    text = json.loads(body)["text"]
    assert text.startswith("[high] Failed &lt;login&gt; &amp; more\n")
    assert "count 2" in text
    assert "1.1.1.1" in text


HOSTILE_KEY = ["<!channel> *b* <http://a.example|b>\r\nid h2\x1b[2J\x00\u202e\u2028", 7, None, "x" * 1_000_000]


def test_what_a_log_says_stays_on_its_line_and_is_short_and_plain_in_slack() -> None:
    with Receiver(200) as receiver:
        send(Slack(name="s", webhook_url=Secret(receiver.url)), Alert("h1", "n", {**RECORD, "key": HOSTILE_KEY}, NOW))
    body = json.loads(receiver.requests[0][2])
    *_, key, identity = body["text"].split("\n")
    assert key.startswith(
        "for &lt;!channel&gt; *b* &lt;http://a.example|b&gt;\\r\\nid h2\\u001b[2J\\u0000\\u202e\\u2028, 7, "
    )
    assert key.endswith("x…")
    assert identity == "id h1"
    assert len(body["text"]) < 1_000
    assert not any(body[name] for name in ("mrkdwn", "link_names", "unfurl_links", "unfurl_media"))


def test_a_summary_says_how_many_hits_there_are() -> None:
    summary = {**RECORD, "partition": None, "tp_id": None, "count": 9950, "key": None, "event": {}, "is_summary": True}
    summary |= {"first_at": "2024-01-01T00:00:00Z", "last_at": "2024-01-01T00:59:00Z"}
    with Receiver(200) as receiver:
        send(Slack(name="s", webhook_url=Secret(receiver.url)), Alert("s1", "notifier.slack.s", summary, NOW))
    text = json.loads(receiver.requests[0][2])["text"]
    assert text.startswith(
        "[high] Failed &lt;login&gt; &amp; more: 9,950 more hits\n2024-01-01T00:00:00Z to 2024-01-01T00:59"
    )


def test_a_file_gets_whole_lines_even_after_one_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "hits.jsonl"
    path.write_text('{"id": "cut')
    send(File(name="f", path=str(path)), ALERT)
    send(File(name="f", path=str(path)), ALERT)
    assert [json.loads(line) for line in path.read_text().splitlines()[1:]] == [RECORD, RECORD]
    with pytest.raises(SendError, match="Is a directory"):
        send(File(name="f", path=str(tmp_path)), ALERT)


def test_a_command_gets_json_without_a_shell_and_is_killed_in_time(tmp_path: Path) -> None:
    out = tmp_path / "out; touch evil"
    program = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    send(Command(name="c", command=(sys.executable, "-c", program, str(out))), ALERT)
    assert json.loads(out.read_text()) == RECORD
    with pytest.raises(SendError, match="exit code 3"):
        send(Command(name="c", command=(sys.executable, "-c", "raise SystemExit(3)")), ALERT)
    sleeper = Command(name="c", command=(sys.executable, "-c", "import time; time.sleep(60)"), timeout_seconds=0.3)
    with pytest.raises(SendError, match="no answer within the time limit"):
        send(sleeper, ALERT)
    with pytest.raises(SendError, match="No such file"):
        send(Command(name="c", command=(str(tmp_path / "nothing"),)), ALERT)


class _Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as one message needs."""

    def handle(self) -> None:
        self.wfile.write(b"220 hello\r\n")
        while line := self.rfile.readline().decode().strip():
            word = line.upper()[:4]
            if word == "DATA":
                self.wfile.write(b"354 go on\r\n")
                text = []
                while (part := self.rfile.readline()) != b".\r\n":
                    text.append(part.decode())
                self.server.mails.append("".join(text))  # type: ignore[attr-defined]
            if word == "RCPT" and "nobody@" in line:
                self.wfile.write(b"550 unknown a-very-secret-key\r\n")
            else:
                self.wfile.write(b"221 bye\r\n" if word == "QUIT" else b"250 fine\r\n")


def test_an_e_mail_is_one_message_with_the_id_of_the_hit() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail) as server:
        server.mails = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        mail = Email(
            name="e",
            host="localhost",
            port=int(server.server_address[1]),
            security="none",
            sender="tailpipe@example.com",
            to=("sec@example.com",),
        )
        send(mail, Alert("h1", "notifier.email.e", {**RECORD, "title": "two\r\nBcc: x@example.com"}, NOW))
        send(
            mail,
            Alert("h2", "notifier.email.e", {**RECORD, "key": HOSTILE_KEY[:3], "event": {"a": "\ud800\u202e"}}, NOW),
        )
        refused = Email(
            name="e", host="localhost", port=mail.port, security="none", sender="a@b.c", to=("nobody@example.com",)
        )
        with pytest.raises(SendError) as caught:
            send(refused, ALERT)
        server.shutdown()
    text, hostile = server.mails  # type: ignore[attr-defined]
    content = message_from_string(hostile, policy=default).get_content().replace("\r\n", "\n")
    assert (
        "for <!channel> *b* <http://a.example|b>\\r\\nid h2\\u001b[2J\\u0000\\u202e\\u2028, 7, None\nid h1\n" in content
    )
    assert '"a": "\\ud800\\u202e"' in content
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\u2028]", content)
    assert "Subject: [high] two Bcc: x@example.com\n" in text.replace("\r", "")
    assert "Message-ID: <h1@tailpipe>" in text
    assert "secret" not in str(caught.value)


def test_an_alert_waits_longer_each_time_and_is_given_up_at_last() -> None:
    alert, now, pauses = ALERT, NOW, []
    while not alert.is_given_up:
        alert = failed(alert, "x" * 1000, now)
        if alert.next_at is not None:
            pauses.append((alert.next_at - now).total_seconds())
            now = alert.next_at
    assert pauses[:4] == [1, 2, 4, 8]
    assert max(pauses) == 3600
    assert sum(pauses) <= GIVE_UP.total_seconds()
    assert not alert.is_due(now + timedelta(days=30))
    assert alerts_in({alert.cursor: alert.text, "at/x.y": "z"}) == [alert]
    assert len(alert.error) == 300
