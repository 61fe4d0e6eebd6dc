"""Spark's Java process is started without Spark's scripts, in the same way as they would start it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession, functions

from tailpipe.config.settings import SparkSettings
from tailpipe.errors import SparkError
from tailpipe.spark.gateway import MODULE_OPTIONS, is_plain, java_command, launch, spark_home, spark_jars
from tailpipe.spark.session import _convert_numpy


def test_java_gets_the_options_that_the_launcher_of_this_spark_adds() -> None:
    (jar,) = (spark_home() / "jars").glob("spark-launcher_*.jar")
    with zipfile.ZipFile(jar) as archive:
        data = archive.read("org/apache/spark/launcher/JavaModuleOptions.class")
    options = {found.decode() for found in re.findall(rb"(?:--[a-z]|-XX:|-D)[\x21-\x7e]+", data)}
    assert options == {*MODULE_OPTIONS, "--add-modules=jdk.incubator.vector"}


@pytest.mark.parametrize(
    ("settings", "env", "is_direct"),
    [
        ({}, {"PATH": "/bin", "SPARK_HOME": "/opt/spark"}, True),
        ({"conf": {"spark.ui.enabled": "true", "spark.driver.memory": "2g"}, "driver_memory": "512m"}, {}, True),
        ({"conf": {"spark.jars": "/x.jar"}}, {}, False),
        ({"conf": {"spark.jars.packages": "a:b:1"}}, {}, False),
        ({"conf": {"spark.driver.extraClassPath": "/x"}}, {}, False),
        ({"conf": {"spark.submit.pyFiles": "/x.py"}}, {}, False),
        ({"driver_memory": "a lot"}, {}, False),
        ({}, {"HADOOP_CONF_DIR": "/etc/hadoop"}, False),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--jars x.jar pyspark-shell"}, False),
    ],
)
def test_what_scripts_would_read_is_left_to_them(
    settings: dict[str, object], env: dict[str, str], is_direct: bool
) -> None:
    assert is_plain(SparkSettings(**settings), env, spark_home()) == is_direct  # type: ignore[arg-type]


def test_a_spark_with_settings_of_its_own_is_left_to_the_scripts(tmp_path: Path) -> None:
    assert is_plain(SparkSettings(), {}, tmp_path)
    (tmp_path / "conf").mkdir()
    assert not is_plain(SparkSettings(), {}, tmp_path)


def test_options_are_taken_apart_as_a_shell_does_it(tmp_path: Path) -> None:
    options = r'-Da=b "-XX:ErrorFile=/a b/\"c\"" -Dd='
    command = java_command(tmp_path, spark_home(), "2g", options)
    assert command[:2] == [str(tmp_path / "bin" / "java"), "-Xmx2g"]
    assert command[2 + len(MODULE_OPTIONS) : -3] == ["-Da=b", '-XX:ErrorFile=/a b/"c"', "-Dd="]
    assert command[-2].split(":") == [str(jar) for jar in spark_jars(spark_home())]


def test_a_class_path_that_is_too_long_for_an_argument_is_left_to_java(tmp_path: Path) -> None:
    home = tmp_path.joinpath(*["a" * 200] * 6)
    (home / "jars").mkdir(parents=True)
    for number in range(100):
        (home / "jars" / f"{number}.jar").touch()
    assert java_command(tmp_path, home, "1g", "")[-2] == str(home / "jars" / "*")


def script(path: Path, text: str) -> list[str]:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return [str(path)]


def test_a_java_that_ends_is_reported_and_what_it_said_is_in_the_log(tmp_path: Path) -> None:
    command = script(tmp_path / "java", "echo no memory >&2; exit 3")
    started = launch(command, log=tmp_path / "log", scratch=tmp_path, variables={}, home=tmp_path)
    with pytest.raises(SparkError, match="Spark did not start: Java ended with exit code 3"):
        started.connect()
    assert (tmp_path / "log").read_text() == "no memory\n"
    started.cancel()


def test_a_java_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="Java did not start: No such file or directory: "):
        launch([str(tmp_path / "java")], log=tmp_path / "log", scratch=tmp_path, variables={}, home=tmp_path)


def test_java_ignores_interrupts_sees_its_variables_and_can_be_cancelled(tmp_path: Path) -> None:
    text = 'echo "$SPARK_HOME|$MINE|${SPARK_REMOTE-none}" > seen.tmp; mv seen.tmp seen; exec cat'
    command = script(tmp_path / "java", f"cd '{tmp_path}'; {text}")
    variables = {"MINE": "1", "SPARK_REMOTE": None}
    started = launch(command, log=tmp_path / "log", scratch=tmp_path, variables=variables, home=tmp_path)
    while not (tmp_path / "seen").exists():
        time.sleep(0.01)
    assert (tmp_path / "seen").read_text() == f"{tmp_path}|1|none\n"
    started.process.send_signal(signal.SIGINT)
    assert started.process.poll() is None
    started.cancel()
    assert started.process.returncode == -signal.SIGKILL


def test_java_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    command = script(tmp_path / "java", "exec cat")  # it reads its input to the end, as Spark's Java does
    started = launch(command, log=tmp_path / "log", scratch=tmp_path, variables={}, home=tmp_path)
    assert started.process.stdin is not None
    started.process.stdin.close()
    assert started.process.wait(60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_java_does_not_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    """Java may not notice the end of its input: not if a later run has removed the place for its address."""
    code = """
import sys, time
from pathlib import Path
from tailpipe.spark.gateway import launch
place = Path(sys.argv[1])
started = launch(["/bin/sleep", "600"], log=place / "log", scratch=place, variables={}, home=place)
print(started.process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = Path("/proc", parent.stdout.readline().strip())
        assert process.exists()
        parent.kill()
    end = time.monotonic() + 60
    while process.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_numbers_of_numpy_reach_spark_once_there_are_dataframes(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    rows = spark.range(1).select(functions.lit(np.int64(3)).alias("a"), functions.lit(np.array([1, 2])).alias("b"))
    assert [(row.a, row.b) for row in rows.collect()] == [(3, [1, 2])]
    try:
        _convert_numpy(gateway, is_wanted=False)
        names = {type(one).__name__ for one in gateway._gateway_client.converters}
        assert "DateConverter" in names
        assert "NumpyScalarConverter" not in names
    finally:
        _convert_numpy(gateway, is_wanted=True)
