"""How long a plan of a year of an API takes, of which no day is collected yet.

A plan sends no request. The targets: under 1 s for 365 ranges of a day; ranges of an hour grow with their number.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tailpipe.home.home import Home
from tailpipe.model.window import requested_window
from tailpipe.operations.collect import Collect, preview

ROUNDS = 5
YEAR = 365
CONFIG = """
connection "http" "api" {
  base_url = "http://127.0.0.1:9"
}
table "audit" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
}
partition "audit" "x" {
  source "http" {
    connection = connection.http.api
    path       = "/logs"
    params     = { since = "{from}", until = "{to}" }
    window { step = "STEP" }
  }
}
"""


def main() -> None:
    for step, target in (("1d", 1.0), ("1h", 24.0)):
        ranges, seconds = measure(step)
        print(f"{ranges:6,} ranges of {step}: {seconds:6.3f} s (target {target:.0f})")


def measure(step: str) -> tuple[int, float]:
    """How many ranges a year has, and the median of the seconds that a plan takes."""
    now = datetime.now(UTC)
    year = requested_window(str((now - timedelta(days=YEAR - 1)).date()), None, now=now)
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "config").mkdir()
        (Path(directory) / "config" / "api.tpc").write_text(CONFIG.replace("STEP", step))
        found = []
        home = Home.open(env={"TAILPIPE_INSTALL_DIR": directory})
        for _ in range(ROUNDS):
            before = time.perf_counter()
            ((_, planned),) = preview(home, Collect(now, year, partitions=["audit.x"]))
            found.append(time.perf_counter() - before)
    return planned.listed, statistics.median(found)


if __name__ == "__main__":
    main()
