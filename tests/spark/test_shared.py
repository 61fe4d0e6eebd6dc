"""One process has one Spark: whoever has not started it does not end it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
from tailpipe.config.settings import SparkSettings
from tailpipe.spark.engine import SparkEngine
from tailpipe.spark.session import is_running, open_context

home = Path(sys.argv[1])
first, second = (
    SparkEngine(lambda: open_context(SparkSettings(master="local[1]"), cache=home / "cache", log=home / "spark.log"))
    for _ in range(2)
)
print(is_running())
frame = first.session.range(3)
print(second.session.range(4).count())
second.close()
print(frame.count(), is_running())
first.close()
print(is_running())
print(second.session.range(5).count())
second.close()
print(is_running())
"""


@pytest.mark.slow
def test_a_dataframe_outlives_a_collection_in_the_same_program(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines() == ["False", "4", "3 True", "False", "5", "False"], done.stderr
