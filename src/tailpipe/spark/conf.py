"""The properties of Spark: quiet, bound to this machine by default, and in UTC."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tailpipe.config.settings import SparkSettings

PROTECTION = ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled")
"""What must hold on a cluster before a secret travels over its network."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LEAN = "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=2 -XX:+UseSerialGC -XX:-UsePerfData"
"""The JVM only plans and places: the rows never enter it. So it gets a simple collector and no second compiler, and
compiles less, which makes it start sooner."""
_TRIES = 4


def spark_conf(settings: SparkSettings, *, scratch: Path, log4j: Path, is_lean: bool = False) -> dict[str, str]:
    """The properties of Spark; the workspace's `conf` wins. If it `is_lean`, no row enters the heap of an executor."""
    given = {key: str(value) for key, value in settings.conf.items()}
    options = f"-Dlog4j2.configurationFile={log4j.as_uri()} {_LEAN} {given.pop(JAVA_OPTIONS, '')}".strip()
    simple = re.fullmatch(r"local(?:\[([^,\]]+)\])?", settings.master)  # by default a local Spark does not retry tasks
    conf = {
        "spark.master": f"local[{simple[1] or 1},{_TRIES}]" if simple else settings.master,
        "spark.app.name": "tailpipe",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory or "1g",
        JAVA_OPTIONS: options,
        "spark.sql.session.timeZone": "UTC",
        "spark.speculation": "false",
        "spark.python.worker.reuse": "true",
        "spark.eventLog.enabled": "false",
        "spark.sql.timeType.enabled": "true",  # for the columns of that type in our files
        # Work that is larger travels through a file, and credentials are a part of it.
        "spark.broadcast.UDFCompressionThreshold": "1g",
    }
    if is_local(settings.master):
        conf |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.authenticate": "true",  # other users of this machine reach 127.0.0.1 too
            # No one reads metrics, and connections are to this machine alone.
            "spark.metrics.staticSources.enabled": "false",
            "spark.metrics.executorMetricsSource.enabled": "false",
            "spark.rpc.io.mode": "NIO",
            "spark.shuffle.io.mode": "NIO",
            "spark.local.dir": str(scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),  # else it is made wherever we are called
        }
        if sys.platform == "linux" and "spark.pyspark.python" not in given:
            conf["spark.python.daemon.module"] = "tailpipe.spark.daemon"
    else:  # the work is done in Python, outside the heap
        conf |= {
            "spark.executor.memory": "1g",
            "spark.executor.memoryOverhead": "2g",
            "spark.executorEnv.PYTHONSAFEPATH": "1",
            # A cancelled task that does not end, such as a large join, is ended with its executor.
            "spark.task.reaper.enabled": "true",
            "spark.task.reaper.killTimeout": "60s",
        }
        if is_lean:
            conf["spark.executor.extraJavaOptions"] = _LEAN
    if re.match(r"yarn|k8s:", settings.master):  # these make up the secret that it takes
        conf |= dict.fromkeys(PROTECTION, "true")
    return {**conf, **given}


def is_local(master: str) -> bool:
    """Whether all of it runs on this machine, in one process tree."""
    return re.match(r"local($|\[)", master) is not None
