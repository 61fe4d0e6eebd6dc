"""A real Azure Blob server on this machine: Azurite, installed by npm into a directory that is kept."""

from __future__ import annotations

import base64
import email.utils
import fcntl
import hashlib
import hmac
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.aws.server import free_ports

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account that every emulator has."""
_VERSION = "3.35.0"
_API = "2021-08-06"
_PATIENCE = 120.0


def missing() -> str:
    """What is not installed, or nothing."""
    return ", ".join(name for name in ("node", "npm") if shutil.which(name) is None)


@contextmanager
def azurite() -> Iterator[str]:
    """The address of the account; the server ends with the block, and its data with it."""
    script, port = _installed(), free_ports(1)[0]
    options = ["--inMemoryPersistence", "--disableTelemetry", "--silent", "--skipApiVersionCheck"]
    command = ["node", str(script), *options, "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/{ACCOUNT}"
    try:
        _await(url, process)
        yield url
    finally:
        process.kill()
        process.wait()


def make_container(url: str, name: str) -> None:
    """Make a container, for which obstore has no request."""
    date = email.utils.formatdate(usegmt=True)
    blank = "\n" * 11
    text = f"PUT\n{blank}x-ms-date:{date}\nx-ms-version:{_API}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signature = base64.b64encode(hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest())
    headers = {"x-ms-date": date, "x-ms-version": _API, "Authorization": f"SharedKey {ACCOUNT}:{signature.decode()}"}
    request = urllib.request.Request(f"{url}/{name}?restype=container", method="PUT", headers=headers)
    with _direct().open(request, timeout=30):
        pass


def _installed() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()) / f"tailpipe-tests-azurite-{_VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    script = cache / "node_modules/azurite/dist/src/blob/main.js"
    with (cache / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / "complete").exists():
            flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(cache)]
            command = ["npm", "install", *flags, f"azurite@{_VERSION}"]
            subprocess.run(command, check=True, capture_output=True, cwd=cache)
            (cache / "complete").touch()
    return script


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "Azurite has ended"
        try:
            with _direct().open(url, timeout=2):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("Azurite does not answer")


def _direct() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))
