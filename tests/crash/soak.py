"""Kill collectors for as long as you like: python -m tests.crash.soak --kills 10000 --store-kills 1000."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.crash.harness import BrokenError, Harness, Report, Server, soak
from tests.crash.lake import LakeHarness, soak_lake
from tests.crash.test_detect_kills import kill_often

ROUND = 250
STORE_ROUND = 100
DETECT_ROUND = 100
DISKS = ("plain", "plain", "power", "no-exchange", "neither")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument(
        "--store-kills", type=int, default=1_000, help="kills of pushes and tiers, with faults of a store"
    )
    parser.add_argument("--detect-kills", type=int, default=1_000, help="kills of detections and alerts")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    total = Report()
    broken = 0
    with Server() as server, tempfile.TemporaryDirectory() as place, another_disk(Path(place)) as disk_two:
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
        if not broken:
            broken += _soak_stores(server, Path(place), arguments.store_kills, arguments.seed, total, disk_two)
        if not broken:
            broken += _soak_detections(server, Path(place), arguments.detect_kills, arguments.seed, total)
    print(
        f"kills {total.kills}, rows lost {total.lost}, rows twice {total.twice},"
        f" partial days {total.partial}, other faults {broken}"
    )
    return 1 if broken else 0


@contextlib.contextmanager
def another_disk(than: Path) -> Iterator[Path]:
    """A directory on another file system than that of a path, if there is one."""
    tops = (top for top in ("/dev/shm", "/var/tmp") if os.access(top, os.W_OK))
    other = next((top for top in tops if Path(top).stat().st_dev != than.stat().st_dev), None)
    with tempfile.TemporaryDirectory(dir=other) as place:
        yield Path(place)


def _soak_detections(server: Server, place: Path, kills: int, seed: int, total: Report) -> int:
    """Kill detections; 1 if hits were lost or repeated, or an alert did not arrive."""
    done, number = 0, 0
    while done < kills:
        try:
            done += kill_often(server, place / f"detect-{number}", seed + number, min(DETECT_ROUND, kills - done))
        except AssertionError as problem:
            print(f"detections, seed {seed + number}: {problem}", file=sys.stderr)
            return 1
        number += 1
        print(f"{done} kills of detections", file=sys.stderr)
    total.kills += done
    return 0


def _soak_stores(server: Server, place: Path, kills: int, seed: int, total: Report, other: Path) -> int:
    """Kill pushes, with a new workspace and a new store for each round; returns how many rounds were broken."""
    done = number = 0
    reached: set[str] = set()
    while done < kills:
        (store := place / f"lake-{number}").mkdir()
        roots = [other / f"root-{number}-{letter}" for letter in "ab"] if number % 2 else []
        for root in roots:
            root.mkdir()
        harness = LakeHarness(
            server,
            place / f"lake-ws-{number}",
            seed=seed + number,
            store=str(store),
            roots=("", *map(str, roots)),
        )
        try:
            soak_lake(harness, min(STORE_ROUND, kills - done))
        except BrokenError as problem:
            print(f"seed {harness.seed}, store: {problem}", file=sys.stderr)
            return 1
        finally:
            done += harness.report.kills
            reached |= {*harness.report.reached}
            for name in ("kills", "lost", "twice", "partial"):
                setattr(total, name, getattr(total, name) + getattr(harness.report, name))
        print(f"{done} kills of pushes at {len(reached)} failpoints", file=sys.stderr)
        number += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
