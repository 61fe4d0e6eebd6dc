"""Readers in other processes never see half a day or a row twice, whatever the writer is doing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.harness import ROOT
from tests.crash.stress import PATIENCE, READERS, ROUNDS, write
from tests.sampling import sampled


@pytest.mark.parametrize("time", sampled([2, 20], 2))
@pytest.mark.slow
def test_readers_see_whole_days_while_days_are_replaced_compacted_deleted_and_cleaned_up(
    tmp_path: Path, time: int
) -> None:
    home = tmp_path / "ws"
    write(home, 0, least=1)
    processes = {
        role: subprocess.Popen(
            [sys.executable, "-m", "tests.crash.stress", role, str(home), *seconds],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for role, *seconds in (("write", str(time)), *((role,) for role in READERS))
    }
    try:
        for role, process in processes.items():  # the writer first
            out, err = process.communicate(timeout=2 * PATIENCE)
            assert process.returncode == 0, f"{role}: {err}"
            assert int(out.split()[0]) >= ROUNDS, f"{role}: {out}"
            print(role, out)
            home.with_name("done").touch()
    finally:
        for process in processes.values():
            process.kill()
