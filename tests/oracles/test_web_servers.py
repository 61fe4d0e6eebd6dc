"""Real servers with random layouts write logs, and each value is held against what the server itself says it had.

nginx also writes every value as JSON, Apache every value with a tab behind it, which no value holds unescaped.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tailpipe.formats import ApacheAccessLog, NginxAccessLog
from tests.unit.formats.parsing import parse

pytestmark = pytest.mark.slow
LAYOUTS = 40
QUOTED = ("http_referer", "http_user_agent", "http_x_test", "request", "uri")
BARE = (
    *("remote_addr", "time_local", "time_iso8601", "msec", "status", "body_bytes_sent", "bytes_sent", "request_length"),
    *(
        "request_method",
        "request_uri",
        "server_protocol",
        "scheme",
        "host",
        "connection",
        "connection_requests",
        "pipe",
    ),
    *("request_time", "args", "server_name", "server_port", "content_length", "request_id", "upstream_status"),
)
HEADERS = ['plain "quoted" text', "back\\slash", "tab\tand é€😀", "-", "", "a, b : c", "[x] (y) {z}", "\\x41 \\n"]


def program(*names: str) -> str:
    """The path of a server, which Debian keeps from the path of ordinary users."""
    found = next(
        (path for name in names if (path := shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin"))), ""
    )
    if not found:
        pytest.skip(f"{names[0]} is not installed: apt-get install {names[0]}")
    return found


@contextmanager
def served(command: list[str], port: int) -> Iterator[bool]:
    """Whether the server has come up; it has ended after that, with its log written."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield _is_up(process, port)
    finally:
        process.terminate()
        process.wait(60)


def _is_up(process: subprocess.Popen[bytes], port: int) -> bool:
    while process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def visit(port: int) -> None:
    """Requests of all kinds; one without an answer is waited for, too, so that its line is written."""
    for number, header in enumerate(HEADERS):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.putrequest("POST" if number % 2 else "GET", f"/a{number}?q=%20{number}" if number % 3 else "/")
        client.putheader("X-Test", header.encode())
        if number:
            client.putheader("User-Agent", header[::-1].encode())
        client.putheader("Content-Length", "0")
        client.endheaders()
        client.getresponse().read()
        client.close()
    for data in (b"GET /a b HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(data)
            while raw.recv(4096):
                pass


def on_some_port(directory: Path, command: Callable[[int], list[str]]) -> None:
    """Visit a server on a port that nobody else has."""
    for _ in range(10):
        port = free_port()
        with served(command(port), port) as is_up:
            if is_up:
                visit(port)
                return
    pytest.fail(f"the server does not start; see {directory}")


def nginx_layout(choice: random.Random) -> str:
    parts = []
    for name in choice.sample([*QUOTED, *BARE], choice.randint(2, 9)):
        ways = ['"${}"'] if name in QUOTED else ['"${}"', "[${}]", "${}", "x=${}"]
        parts.append(choice.choice(ways).replace("$", "$" + name).replace("{}", ""))
    return choice.choice([" ", " - ", " | "]).join(parts)


def test_nginx_and_its_json_agree_on_every_value(tmp_path: Path) -> None:
    choice = random.Random(20240131)
    layouts = [nginx_layout(choice) for _ in range(LAYOUTS)]
    truth = "{" + ",".join(f'"{name}":"${name}"' for name in (*QUOTED, *BARE)) + "}"
    logs = [f"log_format truth escape=json '{truth}';", f"access_log {tmp_path}/truth.log truth;"]
    for number, layout in enumerate(layouts):
        logs.append(f"log_format l{number} '{layout}'; access_log {tmp_path}/{number}.log l{number};")
    paths = " ".join(
        f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )

    def command(port: int) -> list[str]:
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\nevents {{}}\n"
            f"http {{ {paths}\n" + "\n".join(logs) + "\n"
            f"server {{ listen 127.0.0.1:{port}; server_name a.example; location / {{ return 200 'ok'; }} }} }}\n"
        )
        return [
            program("nginx"),
            "-p",
            str(tmp_path),
            "-c",
            str(tmp_path / "nginx.conf"),
            "-e",
            f"{tmp_path}/error.log",
        ]

    on_some_port(tmp_path, command)
    expected = [json.loads(line) for line in (tmp_path / "truth.log").read_bytes().decode().splitlines()]
    assert len(expected) >= len(HEADERS) + 2
    for number, layout in enumerate(layouts):
        names = {name for name in (*QUOTED, *BARE) if re.search(rf"\${name}\b", layout)}
        compare(NginxAccessLog(name="x", layout=layout), names, tmp_path / f"{number}.log", expected)


def compare(
    format: NginxAccessLog | ApacheAccessLog, names: set[str], log: Path, expected: list[dict[str, Any]]
) -> None:
    rows = parse(format, log.read_bytes().decode().split("\n"))
    layout = format.layout
    assert len(rows) == len(expected), layout
    for row, truth in zip(rows, expected, strict=True):
        assert row["_bad"] is None, (layout, row)
        # A value that is not there and one that is empty look the same in JSON, and `-` is null.
        found = {name: row[name] or "" for name in names}
        assert found == {name: "" if truth[name] == "-" else truth[name] for name in found}, layout


APACHE = {
    "%a": "remote_addr",
    "%A": "local_addr",
    "%B": "body_bytes_sent",
    "%D": "request_time_us",
    "%f": "filename",
    "%h": "remote_host",
    "%H": "server_protocol",
    "%{Referer}i": "http_referer",
    "%{User-Agent}i": "http_user_agent",
    "%{X-Test}i": "http_x_test",
    "%{sid}C": "cookie_sid",
    "%k": "keepalive_requests",
    "%l": "remote_logname",
    "%L": "log_id",
    "%m": "request_method",
    "%{Content-Type}o": "sent_http_content_type",
    "%p": "server_port",
    "%{local}p": "apache_port",
    "%{remote}p": "client_port",
    "%P": "pid",
    "%{tid}P": "thread_id",
    "%q": "query_string",
    "%r": "request",
    "%R": "handler",
    "%>s": "status",
    "%s": "original_status",
    "%T": "request_time",
    "%{ms}T": "request_time_ms",
    "%u": "remote_user",
    "%U": "uri",
    "%v": "server_name",
    "%V": "host",
    "%X": "connection_status",
}
APACHE_TEXTS = ("%f", "%{Referer}i", "%{User-Agent}i", "%{X-Test}i", "%r", "%U", "%R", "%{Content-Type}o")
APACHE_TIMES = ("%t", "%{sec}t", "%{%Y-%m-%d %H:%M:%S %z}t", "[%{%d/%b/%Y:%T}t.%{usec_frac}t %{%z}t]")
SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", '"': '"', "\\": "\\"}


def unescaped(text: str) -> str:
    """What Apache had, or the text as it is if that was no UTF-8."""
    data, place = bytearray(), 0
    while place < len(text):
        if text[place] != "\\":
            data += text[place].encode()
            place += 1
        elif text[place + 1] == "x":
            data.append(int(text[place + 2 : place + 4], 16))
            place += 4
        else:
            data += SHORT[text[place + 1]].encode()
            place += 2
    try:
        return data.decode()
    except UnicodeDecodeError:
        return text


def apache_layout(choice: random.Random) -> str:
    parts = [choice.choice(APACHE_TIMES)]
    for directive in choice.sample([*APACHE], choice.randint(2, 9)):
        ways = ['"%"'] if directive in APACHE_TEXTS else ['"%"', "[%]", "%", "x=%"]
        parts.append(choice.choice(ways).replace("%", directive, 1))
    choice.shuffle(parts)
    return choice.choice([" ", " - ", " | "]).join(parts)


def test_apache_and_its_single_values_agree(tmp_path: Path) -> None:
    choice = random.Random(20240131)
    layouts = [apache_layout(choice) for _ in range(LAYOUTS)]
    modules = next(
        (path for path in ("/usr/lib/apache2/modules", "/usr/lib64/httpd/modules") if Path(path).is_dir()), ""
    )
    apache = program("apache2", "httpd")
    truth = r"\t".join([*APACHE, "%{usec}t"])
    logs = [f'LogFormat "{truth}" truth', f"CustomLog {tmp_path}/truth.log truth"]
    for number, layout in enumerate(layouts):
        text = layout.replace("\\", "\\\\").replace('"', '\\"')
        logs += [f'LogFormat "{text}" l{number}', f"CustomLog {tmp_path}/{number}.log l{number}"]
    # One process that serves one request after the other, so that all its logs have them in the same order.
    loaded = [
        f"LoadModule {name}_module {modules}/mod_{name}.so"
        for name in ("mpm_prefork", "authz_core", "logio", "dir", "mime")
        if (Path(modules) / f"mod_{name}.so").exists()
    ]
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "index.html").write_text("hello")

    def command(port: int) -> list[str]:
        (tmp_path / "apache.conf").write_text(
            "\n".join(loaded)
            + f"\nServerRoot {tmp_path}\nServerName a.example\nPidFile {tmp_path}/pid\nListen 127.0.0.1:{port}\n"
            f"ErrorLog {tmp_path}/error.log\nDocumentRoot {tmp_path}/www\nTypesConfig /dev/null\n"
            "HttpProtocolOptions Unsafe\n<Directory />\nRequire all granted\n</Directory>\nDirectoryIndex index.html\n"
            + "\n".join(logs)
            + "\n"
        )
        return [apache, "-X", "-d", str(tmp_path), "-f", str(tmp_path / "apache.conf")]

    on_some_port(tmp_path, command)
    expected = []
    for line in (tmp_path / "truth.log").read_text().splitlines():
        *texts, microseconds = line.split("\t")
        values = dict(zip(APACHE.values(), map(unescaped, texts), strict=True))
        expected.append(({**values, "remote_user": values["remote_user"].removeprefix('""')}, int(microseconds)))
    assert len(expected) >= len(HEADERS) + 2
    for number, layout in enumerate(layouts):
        log = tmp_path / f"{number}.log"
        without_times = re.sub(r"%\{[^}]*\}t", "", layout)
        names = {name for directive, name in APACHE.items() if directive in without_times}
        compare(ApacheAccessLog(name="x", layout=layout), names, log, [values for values, _ in expected])
        rows = parse(ApacheAccessLog(name="x", layout=layout), log.read_text().splitlines())
        for row, (_, time_us) in zip(rows, expected, strict=True):
            exact = time_us if "usec_frac" in layout else time_us // 1_000_000 * 1_000_000
            assert row["timestamp"].timestamp() * 1_000_000 == pytest.approx(exact, abs=1), layout
