"""A program that logs and rotates until its standard input ends, then prints how many rows it has written.

    python rotating_writer.py DIRECTORY rename|gzip PAUSE

With `rename`, app.log becomes app.log.1, that app.log.2, and so on. With `gzip`, app.log.1 is compressed into
app.log.2.gz, written in two parts, and removed afterwards. Nothing is ever deleted otherwise. `rotations` in the
directory's parent says how often it has rotated.
"""

from __future__ import annotations

import gzip
import json
import os
import select
import sys
import time
from datetime import UTC, datetime
from pathlib import Path


def write(log: Path, first: int, count: int) -> None:
    """Rows in a few writes; no two logs are of one size."""
    day = datetime.now(UTC).date()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number in range(first, first + count):
        row = {"time": f"{day}T00:00:00Z", "message": f"{number:07d}{'.' * (number % 23)}"}
        os.write(descriptor, json.dumps(row).encode() + b"\n")
        if number % 10 == 0:
            time.sleep(0.012)  # longer than the tick of a file system's clock
    os.close(descriptor)


def shift(logs: Path, first: int, last: int) -> None:
    """Rename the numbered logs by one, the oldest first."""
    for number in range(last, first - 1, -1):
        for suffix in ("", ".gz"):
            path = logs / f"app.log.{number}{suffix}"
            if path.exists():
                path.rename(logs / f"app.log.{number + 1}{suffix}")


def compress(plain: Path, packed: Path) -> None:
    data = gzip.compress(plain.read_bytes())
    with packed.open("wb") as file:
        file.write(data[: len(data) // 2])
        file.flush()
        time.sleep(0.02)
        file.write(data[len(data) // 2 :])
    time.sleep(0.02)
    plain.unlink()


def main(directory: str, style: str, pause: str) -> None:
    logs, rows, rotations = Path(directory), 0, 0
    while not select.select([sys.stdin], [], [], float(pause))[0]:
        count = 30 + rotations % 7
        write(logs / "app.log", rows, count)
        rows += count
        if style == "gzip":
            shift(logs, 2, rotations + 1)
            if (logs / "app.log.1").exists():
                compress(logs / "app.log.1", logs / "app.log.2.gz")
        else:
            shift(logs, 1, rotations + 1)
        (logs / "app.log").rename(logs / "app.log.1")
        rotations += 1
        count = 3
        write(logs / "app.log", rows, count)
        rows += count
        (logs.parent / "rotations").write_text(str(rotations))
    print(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
