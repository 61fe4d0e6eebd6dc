"""The process that workers are forked from imports what tasks need, and leaves no thread behind."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.spark.daemon import without_archives
from tailpipe.spark.gateway import spark_home
from tailpipe.spark.jobs import Attempt, run_job

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Spark's own daemon is used elsewhere")

AHEAD = """
import os
import sys
from tailpipe.spark.daemon import count_threads, import_ahead

before = dict(os.environ)
import_ahead(has_pandas=bool(sys.argv[1:]))
assert dict(os.environ) == before
print(count_threads(), "pandas" in sys.modules)
"""


def python(program: str, *arguments: str, path: Path | None = None) -> list[str]:
    call = [sys.executable, "-c", program, *arguments]
    env = {**os.environ, "PYTHONPATH": str(path or "")}
    done = subprocess.run(call, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def pandas(tmp_path: Path) -> Path:
    """A directory with a module of that name, in which nothing is."""
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.py").write_text('__version__ = "0.0"\n')
    return tmp_path


def test_nothing_that_is_imported_leaves_a_thread_behind() -> None:
    (line,) = python(AHEAD, "with pandas")
    assert line.startswith("1 ")
    assert python(AHEAD) == ["1 False"]


def test_the_database_that_duckdb_opens_by_itself_is_closed_and_opened_again_when_it_is_used() -> None:
    program = f"import duckdb\n{AHEAD}\nprint(duckdb.sql('SELECT 1').fetchone())"
    assert python(program) == ["1 False", "(1,)"]


def test_pandas_is_left_out_and_can_be_imported_by_whoever_wants_it(pandas: Path) -> None:
    arrays = "import pyarrow\npyarrow.array(['a'])\nprint('pandas' in sys.modules)"
    program = f"{AHEAD}\n{arrays}\nimport pandas\nprint(pandas.__file__)"
    assert python(program, path=pandas) == ["1 False", "False", str(pandas / "pandas" / "__init__.py")]


def test_zip_files_with_what_is_installed_are_not_searched(tmp_path: Path) -> None:
    library = spark_home() / "python" / "lib"
    (py4j,) = library.glob("py4j-*.zip")
    installed = str(spark_home().parent)
    archives = [str(library / "pyspark.zip"), str(py4j)]
    assert without_archives([*archives, str(tmp_path), installed]) == [str(tmp_path), installed]
    assert without_archives([*archives, str(tmp_path)]) == [*archives, str(tmp_path)]
    assert without_archives([str(tmp_path / "own.zip"), installed]) == [str(tmp_path / "own.zip"), installed]


def started(*path: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The daemon as Spark starts it, and what it calls itself once it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tailpipe.spark.daemon", "pyspark.worker"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHON_WORKER_FACTORY_SECRET": "s"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    (port,) = struct.unpack("!i", process.stdout.read(4))
    assert port > 0
    return process, Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[2].decode()


def test_it_listens_and_ends_when_spark_does() -> None:
    process, name = started()
    assert name == "tailpipe.spark.daemon"
    process.communicate(timeout=60)


def test_if_an_import_starts_a_thread_spark_s_own_takes_its_place(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, threading, time\nif 'tailpipe.spark.daemon' in sys.orig_argv:\n"
        "    threading.Thread(target=time.sleep, args=[600], daemon=True).start()\n"
    )
    process, name = started(tmp_path)
    assert name == "pyspark.daemon"
    process.communicate(timeout=60)


def _look(_: bytes, __: Attempt) -> bytes:
    import pyspark

    time.sleep(0.1)
    parent = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().split(b"\0")[2].decode()
    return f"{parent} {Path(pyspark.__file__).parent == spark_home()}".encode()


def test_workers_come_from_it_with_the_modules_that_are_installed(spark: SparkSession) -> None:
    assert set(run_job(spark.sparkContext, [b""] * 3, _look)) == {b"tailpipe.spark.daemon True"}
