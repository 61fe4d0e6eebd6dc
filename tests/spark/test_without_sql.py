"""Jobs in a process of its own, in which there is no pandas: without Spark's SQL until it is wanted, and again after
the end of Spark."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.xdist_group("process")  # one process for all of them

PROGRAM = """
import os
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from tailpipe.config.settings import SparkSettings
from tailpipe.spark.jobs import run_job
from tailpipe.spark.session import open_context, session_of, stop_context

def echo(payload, attempt):
    return payload

def start():
    return open_context(SparkSettings(master="local[1]"), cache=home / "cache", log=home / "spark.log")

home = Path(sys.argv[1])
context = start()
print(run_job(context, [b"a", b"b"], echo), SparkSession.getActiveSession())
print(session_of(context).range(3).count(), session_of(context) is session_of(context))
stop_context(context)
print(SparkSession.getActiveSession())
for _ in range(2):
    context = start()
    print(run_job(context, [b"again"], echo))
    stop_context(context)
print(len(os.listdir(home / "cache" / "spark")))
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the program says."""
    home = tmp_path_factory.mktemp("process")
    (home / "pandas").mkdir()
    (home / "pandas" / "__init__.py").write_text("raise ImportError('there is no pandas')")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home)],
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_job_needs_neither_pandas_nor_a_session_which_can_be_had(printed: list[str]) -> None:
    assert printed[:3] == ["[b'a', b'b'] None", "3 True", "None"]


def test_a_program_that_starts_spark_again_and_again_has_one_place_for_its_files(printed: list[str]) -> None:
    assert printed[3:] == ["[b'again']", "[b'again']", "1"]
