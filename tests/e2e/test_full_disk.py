"""A full disk while collecting and detecting: a message, exit code 1, nothing lost, and the next run completes."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CONFIG = """
workspace "default" {{
  data_dir = "{disk}"
}}
table "app" {{
  format = format.jsonl.default
  column "tp_timestamp" {{ source = "time" }}
  column "message" {{ type = "varchar" }}
  column "n" {{ type = "bigint" }}
}}
partition "app" "x" {{
  source "file" {{
    paths       = ["{logs}"]
    file_layout = `%{{YEAR:year}}-%{{MONTHNUM:month}}-%{{MONTHDAY:day}}%{{DATA}}`
  }}
}}
detection "even" {{
  table    = "app"
  where    = "n % 2 = 0"
  severity = "low"
}}
"""
DAYS, ROWS = 4, 7000


@pytest.fixture
def disk() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp())
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=72m", "tmpfs", str(place)], capture_output=True).returncode:
        place.rmdir()
        pytest.skip("cannot mount a tmpfs here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
        place.rmdir()


def test_a_full_disk_stops_with_a_message_and_the_next_run_completes(tmp_path: Path, disk: Path) -> None:
    logs, config = tmp_path / "logs", tmp_path / "install" / "config"
    logs.mkdir()
    config.mkdir(parents=True)
    (config / "app.tpc").write_text(CONFIG.format(disk=disk, logs=logs))
    for day in range(1, DAYS + 1):
        time = f"2024-03-0{day}T10:00:00Z"
        rows = ({"time": time, "n": n, "message": base64.b64encode(os.urandom(3000)).decode()} for n in range(ROWS))
        (logs / f"2024-03-0{day}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*words: str) -> tuple[int, str]:
        env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(tmp_path / "install")}
        call = [sys.executable, "-m", "tailpipe", *words]
        done = subprocess.run(call, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def counted() -> list[str]:
        return run("query", "SELECT count(*), count(DISTINCT tp_id) FROM app", "--output", "csv")[1].split()[-1:]

    code, text = run("collect", "--from", "2024-03-01", "--no-progress")
    assert code == 1
    assert f"no space left for {disk}" in text
    assert "free some space" in text
    [before] = counted()
    assert int(before.split(",")[0]) % ROWS == 0
    subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], check=True)
    assert run("collect", "--from", "2024-03-01", "--no-progress")[0] == 0
    assert counted() == [f"{DAYS * ROWS},{DAYS * ROWS}"]
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(b"x" * (free.f_bavail * free.f_frsize - 200_000))
    code, text = run("detect", "--from", "2024-03-01")
    assert code == 1
    assert f"no space left for {disk}" in text
    assert "bug" not in text
    (disk / "filler").unlink()
    code, text = run("detect", "--from", "2024-03-01")
    assert code == 0
    assert f"{DAYS * ROWS // 2:,} new hits" in text
