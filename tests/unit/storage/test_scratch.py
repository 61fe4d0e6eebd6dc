"""Scratch directories of killed processes are cleared away, those of living ones are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tailpipe.storage.scratch import make_scratch

HOLD = "import sys; from pathlib import Path; from tailpipe.storage.scratch import make_scratch\n"
HOLD += "print(make_scratch(Path(sys.argv[1])).path, flush=True); sys.stdin.read()"


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_stays(tmp_path: Path) -> None:
    stranger = tmp_path / "not-ours"
    stranger.mkdir()
    call = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        (theirs / "block").touch()
        ours = make_scratch(tmp_path).path
        assert theirs.is_dir()
        assert theirs != ours
        other.kill()
    make_scratch(tmp_path)
    assert not theirs.exists()
    assert ours.is_dir()
    assert stranger.is_dir()
