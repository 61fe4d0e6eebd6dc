"""A warm process that forks one child for each request, so that a kill costs milliseconds.

Each line on stdin is a request, each line on stdout tells how the child ended. The child is a real
process of its own: it opens the catalog, does its steps, and is killed by its failpoint, or after some seconds.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from tailpipe.catalog.failpoints import Failpoints
from tailpipe.storage.local import LocalStorage
from tests.crash import collector, detecting, disks, hosts, lake, lake_mutants, mutants

WARM = (
    *("duckdb", "pandas", "boto3", "isal.igzip", "obstore.store", "pyarrow.dataset", "re2"),
    *("tailpipe.catalog.doctor", "tailpipe.catalog.rebuild", "tailpipe.collect.collect", "tailpipe.config.packs"),
    *("tailpipe.formats.json_lines", "tailpipe.formats.pattern_reader", "tailpipe.kernel.run", "tailpipe.kernel.carry"),
    *("tailpipe.lifecycle.retain", "tailpipe.lifecycle.maintain", "tailpipe.plugins.aws.s3", "tailpipe.plugins.http"),
    *("tailpipe.query.check", "tailpipe.query.materialized", "tailpipe.stores.here", "tailpipe.stores.landing"),
    *("tailpipe.stores.open", "tailpipe.stores.pull", "tailpipe.stores.pulling", "tailpipe.stores.pushing"),
    *(
        "boto3.s3.inject",
        "pytz",
        "tailpipe.plugins.core.sources",
        "tailpipe.operations.pull",
        "tailpipe.operations.push",
        "tailpipe.unpack.archives",
    ),
)
"""Imported before the first fork: a child would spend more CPU on these than on its work."""


def child(request: dict[str, Any]) -> None:
    """Do the steps of one request."""
    if "operation" in request:
        hosts.perform(request)
        return
    points = Failpoints.from_environment({"TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": request["failpoint"]})
    if "detect" in request:
        detecting.perform(Path(request["home"]), request["seed"], request["detect"], points)
        return
    kinds = {
        "plain": LocalStorage,
        "no-links": disks.NoLinks,
        "no-exchange": disks.NoExchange,
        "neither": disks.Neither,
    }
    journal = request["journal"]
    disk = disks.Journaled(Path(journal)) if journal else kinds[request["disk"]]()
    if request["mutant"]:
        (lake_mutants.LAKE_MUTANTS if request.get("store") else mutants.MUTANTS)[request["mutant"]].install()
    steps = [collector.step_from_json(text) for text in request["steps"]]
    layout = lake.layout_of(request)
    collector.perform(layout, steps, storage=disk, failpoints=points)
    if request.get("store"):
        lake.push_and_tier(layout, request, points)


def main() -> None:
    for name in WARM:
        importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 0
            try:
                child(request)
            except BaseException:  # noqa: BLE001 - told to the parent, whatever it is
                os.write(write, traceback.format_exc()[-4000:].encode())
                code = 1
            os._exit(code)
        os.close(write)
        moment = request.get("kill_after")
        if moment is not None and not select.select([read], [], [], moment)[0]:
            os.kill(pid, signal.SIGKILL)
        told = b""
        while chunk := os.read(read, 65536):
            told += chunk
        os.close(read)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status), "error": told.decode()}), flush=True)


if __name__ == "__main__":
    main()
