"""`tailpipe serve` as a process: it prints its address, answers, and ends with Ctrl-C; and attacks on processes."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from tests.http_attacks import ATTACKS, SENDERS, Attack, Target, explorer_target, mcp_target

TLS = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


def run(install: Path, *words: str) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TAILPIPE_")}
    return subprocess.Popen(
        [sys.executable, "-m", "tailpipe", *words],
        env={**env, "TAILPIPE_INSTALL_DIR": str(install)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(install: Path, *flags: str) -> tuple[subprocess.Popen[str], str, str]:
    """The process, the address without the token, and the token."""
    process = run(install, "serve", "--no-browser", "--port", "0", *flags)
    assert process.stdout is not None
    address, _, token = process.stdout.readline().strip().partition("?token=")
    assert token, process.communicate()
    return process, address, token


def end(process: subprocess.Popen[str]) -> None:
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    assert time.monotonic() - begun < 15


@pytest.mark.slow
def test_it_serves_an_empty_workspace_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    process, address, token = start(tmp_path)
    port = int(address.rpartition(":")[2].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/?token={token}")
    answer = connection.getresponse()
    cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
    answer.read()
    connection.request("GET", "/api/meta", headers={"Cookie": cookie})
    answer = connection.getresponse()
    assert (answer.status, b'"tables":[]' in answer.read()) == (200, True)
    connection.close()
    end(process)


def start_with_tls(directory: Path) -> tuple[subprocess.Popen[str], str, str, ssl.SSLContext]:
    """The same on all addresses with a certificate, and what trusts it."""
    certificate, key = directory / "cert.pem", directory / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    flags = ["--listen", "0.0.0.0", "--tls-cert", str(certificate), "--tls-key", str(key)]
    return *start(directory / "home", *flags), ssl.create_default_context(cafile=str(certificate))


@pytest.mark.slow
@TLS
def test_with_a_certificate_others_may_read(tmp_path: Path) -> None:
    process, address, token, trust = start_with_tls(tmp_path)
    port = int(address.rpartition(":")[2].strip("/"))
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=trust, timeout=30)
    connection.request("GET", f"/?token={token}")
    answer = connection.getresponse()
    cookie = answer.getheader("set-cookie") or ""
    answer.read()
    assert cookie.endswith("; Secure")
    connection.request("GET", "/api/meta", headers={"Cookie": cookie.partition(";")[0]})
    assert b'"read_only":true' in connection.getresponse().read()
    connection.close()
    end(process)


@contextmanager
def attacked(kind: str, directory: Path) -> Iterator[Target]:
    """A command that serves HTTP."""
    if kind == "mcp":
        process = run(directory, "mcp", "--http", "--port", "0")
        assert process.stderr is not None
        said = dict(line.strip().split(" ", 1) for line in islice(process.stderr, 3))
        target = mcp_target(int(said["serving"].removesuffix("/mcp").rpartition(":")[2]), said["token:"])
    else:
        process, address, token, *trust = start_with_tls(directory) if "TLS" in kind else start(directory)
        target = explorer_target(int(address.rpartition(":")[2].strip("/")), token, *trust)
    try:
        yield target
    finally:
        process.terminate()
        _, rest = process.communicate(timeout=30)
    assert "Traceback" not in rest


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["serve", pytest.param("serve with TLS", marks=TLS), "mcp"])
def test_no_attack_gets_into_a_command(kind: str, tmp_path: Path) -> None:
    with attacked(kind, tmp_path) as target:
        for attack in SENDERS if target.trust else ATTACKS:  # TLS may lose the answer to who does not stop sending
            if target.kind in attack.refusals:
                target.check(attack)
        method, path, body = target.requests[0]
        assert target.send(method, path, body, Attack("none", {}))[0] == 200
