"""Kill collectors for as long as you like: python -m tests.crash.soak --kills 10000."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.harness import BrokenError, Harness, Report, Server, soak

ROUND = 250
DISKS = ("plain", "plain", "power", "no-exchange", "neither")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    total = Report()
    broken = 0
    with Server() as server, tempfile.TemporaryDirectory() as place:
        number = 0
        while total.kills < arguments.kills and not broken:
            disk = DISKS[number % len(DISKS)]
            harness = Harness(
                server,
                Path(place) / f"ws-{number}",
                seed=arguments.seed + number,
                disk="plain" if disk == "power" else disk,
                with_power_loss=disk == "power",
            )
            try:
                soak(harness, min(ROUND, arguments.kills - total.kills))
            except BrokenError as problem:
                print(f"seed {harness.seed}, disk {disk}: {problem}", file=sys.stderr)
                broken += 1
            total.kills += harness.report.kills
            total.lost += harness.report.lost
            total.twice += harness.report.twice
            total.partial += harness.report.partial
            total.reached.update(harness.report.reached)
            print(f"{total.kills} kills at {len(total.reached)} failpoints", file=sys.stderr)
            number += 1
    print(
        f"kills {total.kills}, rows lost {total.lost}, rows twice {total.twice},"
        f" partial days {total.partial}, other faults {broken}"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
