"""A new machine: seconds and requests of `pull` and a first query over 10,000 files, with 20 ms for each request.

The store is a bucket of SeaweedFS behind a proxy. `--artifacts` is how many artifacts the ledger has: all of them come
with the catalog.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.aws.proxy import Proxy, Slow
from tests.aws.server import owner, s3_server
from tests.objects.conftest import remote
from tests.stores.conftest import Shared
from tests.stores.many_files import FIRST, fill, new_machine

LATENCY = 0.02
BUCKET = "lake"


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--artifacts", type=int, default=10_000)
    parser.add_argument("--versions", type=int, default=19)
    arguments = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as place, s3_server(Path(place)) as url, Proxy(url).running() as proxy:
        owner(url).client("s3").create_bucket(Bucket=BUCKET)
        host = Shared(Path(place) / "web-1", remote(url, BUCKET, prefix="/lake"))
        fill(host, arguments.versions, arguments.files, arguments.artifacts)
        proxy.fault = lambda _: Slow(LATENCY)
        install = Path(place) / "reader"
        new_machine(install, proxy.url, BUCKET)
        total = [
            _measure(install, proxy, *command)
            for command in (
                ("pull",),
                ("query", f"SELECT count(*) FROM app_log WHERE tp_date = DATE '{FIRST}'"),
                ("query", "SELECT tp_date, sum(rows) FROM tp_catalog.files GROUP BY 1 ORDER BY 1 DESC LIMIT 3"),
            )
        ]
        seconds, cpu, requests = (sum(numbers) for numbers in zip(*total[:2], strict=True))
        print(f"pull and first query: {seconds:.1f} s, {requests:.0f} requests")
        print(f"on an idle machine at most {cpu + requests * LATENCY:.1f} s: {cpu:.1f} s of CPU, the rest for requests")


def _measure(install: Path, proxy: Proxy, *arguments: str) -> tuple[float, float, int]:
    """Seconds, seconds of CPU and requests of a command in a process of its own."""
    before, begun, spent = len(proxy.asked), time.perf_counter(), os.times()
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(install), "HOME": str(install), "NO_COLOR": "1"}
    subprocess.run([sys.executable, "-m", "tailpipe", *arguments], env=env, check=True, stdout=subprocess.DEVNULL)
    seconds, requests, now = time.perf_counter() - begun, len(proxy.asked) - before, os.times()
    cpu = now.children_user + now.children_system - spent.children_user - spent.children_system
    print(f"{arguments[0]}: {seconds:.1f} s ({cpu:.1f} s of CPU), {requests} requests")
    return seconds, cpu, requests
