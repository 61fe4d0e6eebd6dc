"""Spark 4.1 with the Delta jars of Maven, in an environment of its own that is kept: ours has a Spark without them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from tailpipe.spark.java import find_java
from tests.delta.lake import Row, ordered

PACKAGE = ("io.delta", "delta-spark_4.1_2.13", "4.4.0")
_SPARK = "4.1.4"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>tailpipe</groupId><artifactId>tests</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>{PACKAGE[0]}</groupId><artifactId>{PACKAGE[1]}</artifactId><version>{PACKAGE[2]}</version>
  </dependency></dependencies>
</project>
"""
_READER = """
import json, os, sys
from pyspark.sql import SparkSession

jars, tables = json.loads(sys.argv[1])
settings = {
    "spark.jars": ",".join(jars),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": os.environ["TZ"],
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
for source, where, target in tables:
    spark.read.format("delta").load(source).where(where).coalesce(1).write.parquet(target)
"""


def missing() -> str:
    """What the machine lacks, or nothing; what cannot be downloaded is seen later."""
    return "" if shutil.which("mvn") else "mvn is not installed"


def installed() -> tuple[Path, list[str]]:
    """The Python of the environment, and the jars; raises CalledProcessError if they cannot be downloaded."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir())
    cache = kept / f"tailpipe-tests-spark-{_SPARK}-delta-{PACKAGE[2]}"
    cache.mkdir(parents=True, exist_ok=True)
    python, jars = cache / "environment/bin/python", cache / "jars"
    with (cache / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / "complete").exists():
            (cache / "pom.xml").write_text(_POM)
            wanted = [f"-DoutputDirectory={jars}", "-DincludeScope=runtime", "-DincludeGroupIds=io.delta"]
            _run("mvn", "-B", "-q", "-f", str(cache / "pom.xml"), "dependency:copy-dependencies", *wanted)
            _run(sys.executable, "-m", "venv", str(cache / "environment"))
            _run(str(python), "-m", "pip", "install", "-q", f"pyspark=={_SPARK}")
            (cache / "complete").touch()
    return python, sorted(str(path) for path in jars.glob("*.jar"))


def read(directory: Path, zone: str, *tables: tuple[str, str]) -> list[list[Row]]:
    """The rows of tables by Spark in a time zone, each with a condition."""
    python, jars = installed()
    directory.mkdir()
    targets = [str(directory / str(number)) for number in range(len(tables))]
    work = [(*table, target) for table, target in zip(tables, targets, strict=True)]
    environment = {**os.environ, "JAVA_HOME": str(find_java(os.environ, directory / "java")), "TZ": zone}
    done = subprocess.run(
        [str(python), "-c", _READER, json.dumps([jars, work])], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [ordered(pq.read_table(target).to_pylist()) for target in targets]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
