"""Jobs in a process of its own, in which there is no pandas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from tailpipe.model.settings import SparkSettings
from tailpipe.spark.jobs import run_job
from tailpipe.spark.session import open_context, session_of, stop_context

def echo(payload, attempt):
    return payload

home = Path(sys.argv[1])
context = open_context(SparkSettings(master="local[1]"), cache=home / "cache", log=home / "spark.log")
print(run_job(context, [b"a", b"b"], echo), SparkSession.getActiveSession())
print(session_of(context).range(3).count(), session_of(context) is session_of(context))
stop_context(context)
print(SparkSession.getActiveSession())
"""


def test_a_job_needs_neither_pandas_nor_a_session_which_can_be_had(tmp_path: Path) -> None:
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.py").write_text("raise ImportError('there is no pandas')")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["[b'a', b'b'] None", "3 True", "None"], done.stderr
