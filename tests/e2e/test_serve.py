"""`tailpipe serve` as a process: it prints its address, answers, and ends with Ctrl-C."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest


def start(install: Path, *flags: str) -> tuple[subprocess.Popen[str], str, str]:
    """The process, the address without the token, and the token."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TAILPIPE_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tailpipe", "serve", "--no-browser", "--port", "0", *flags],
        env={**env, "TAILPIPE_INSTALL_DIR": str(install)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_with_a_certificate_others_may_read(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    process, address, token = start(
        tmp_path / "home", "--listen", "0.0.0.0", "--tls-cert", str(certificate), "--tls-key", str(key)
    )
    port = int(address.rpartition(":")[2].strip("/"))
    trust = ssl.create_default_context(cafile=str(certificate))
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
