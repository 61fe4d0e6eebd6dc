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
from urllib.parse import urlencode

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
    send(url, "PUT", f"/{name}", {"restype": "container"})


def send(
    url: str,
    method: str,
    path: str,
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> None:
    """Make a request of the account's owner; the path is encoded already."""
    date = email.utils.formatdate(usegmt=True)
    sent = {"x-ms-date": date, "x-ms-version": _API, **(headers or {})}
    length = str(len(body)) if body else ""
    kind = "application/octet-stream" if body else ""
    own = "".join(f"{name}:{sent[name]}\n" for name in sorted(sent))
    asked = "".join(f"\n{name}:{value}" for name, value in sorted((query or {}).items()))
    text = f"{method}\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{own}/{ACCOUNT}/{ACCOUNT}{path}{asked}"
    signature = base64.b64encode(hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest())
    sent |= {"Authorization": f"SharedKey {ACCOUNT}:{signature.decode()}"}
    sent |= {"Content-Type": kind} if body else {}
    place = f"{url}{path}" + (f"?{urlencode(query)}" if query else "")
    request = urllib.request.Request(place, method=method, headers=sent, data=body or None)
    with _direct().open(request, timeout=30):
        pass


def signed_access() -> str:
    """A shared access signature of the account, for reading and listing."""
    facts = {"sv": _API, "ss": "b", "srt": "co", "sp": "rl", "se": "2099-01-01T00:00:00Z"}
    lines = [ACCOUNT, facts["sp"], facts["ss"], facts["srt"], "", facts["se"], "", "", facts["sv"], "", ""]
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
    return urlencode({**facts, "sig": base64.b64encode(digest).decode()})


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
