"""A session whose Java process has died: a job that was under way is lost and says so, the next has a new session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from pathlib import Path
from tailpipe.errors import SparkError
from tailpipe.model.artifact import Artifact
from tailpipe.config.settings import SparkSettings
from tailpipe.plugins.core.sources import File
from tailpipe.spark.engine import SparkEngine
from tailpipe.spark.session import open_context

home = Path(sys.argv[1])
(home / "a.log").write_text("hello")
asked = [(File(name="file", paths=[str(home)]), Artifact(str(home / "a.log"), size=5), ((0, 5),))]
engine = SparkEngine(lambda: open_context(SparkSettings(master="local[1]"), cache=home / "c", log=home / "s.log"))
first = engine.prints(asked)
running = engine._running
java = engine.context._gateway.proc
java.kill()
java.wait()
try:
    running.cores
except SparkError as error:
    print(error.message)
assert engine.prints(asked) == first


def die(payload, attempt):
    import os, signal
    os.kill(java_id, signal.SIGKILL)
    return payload


java_id = engine.context._gateway.proc.pid
try:
    engine._answers([b""], die, "dying")
except SparkError as error:
    print(error.message)
assert engine.prints(asked) == first
engine.close()
print("done")
"""


@pytest.mark.slow
def test_the_next_job_after_the_death_of_the_jvm_has_a_new_session(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines() == ["Spark's Java process ended during a job"] * 2 + ["done"], done.stderr
