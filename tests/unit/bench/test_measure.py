import os
import sys
from pathlib import Path

import pytest
from bench import _measure

BUSY = "import time\nwhile time.process_time() < 0.3: pass"
ORPHAN = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BUSY!r}], start_new_session=True)"


@pytest.mark.skipif(_measure._root() is None, reason="no cgroup can be made here")
def test_a_process_that_nobody_waits_for_is_counted(tmp_path: Path) -> None:
    usage = _measure.measure([sys.executable, "-c", ORPHAN], os.environ, tmp_path / "log")
    assert usage.cpu >= 0.3


def test_without_a_cgroup_a_command_is_counted_with_the_children_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_measure, "_root", lambda: None)
    waiting = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    assert _measure.measure([sys.executable, "-c", waiting], os.environ, tmp_path / "log").cpu >= 0.29


def test_a_command_that_fails_ends_the_measurement_with_its_output(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="exit code 3\nno such thing"):
        _measure.measure(["/bin/sh", "-c", "echo no such thing; exit 3"], os.environ, tmp_path / "log")
