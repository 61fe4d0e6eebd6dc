"""A Spark Connect server on loopback, from the pyspark package."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import pyspark

from tailpipe.spark.java import find_java

_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
_PATIENCE = 120.0


class ConnectServer:
    """It runs on two cores of this machine, with the bare Python that this environment was made of.

    So tasks find neither tailpipe nor its packages, unless these were sent.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.address = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ConnectServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, on a new port the first time, and on the same one after that."""
        self.home.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHONPATH"))}
        base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
        own = {"JAVA_HOME": str(find_java(os.environ, self.home / "cache")), "SPARK_LOCAL_IP": "127.0.0.1"}
        conf = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": self.address.rpartition(":")[2] or "0",
            "spark.ui.enabled": "false",
            "spark.local.dir": str(self.home),
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        words = [str(_SUBMIT), "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        words += ["--master", "local[2]", *(word for name in conf for word in ("--conf", f"{name}={conf[name]}"))]
        log = self.home / "server.log"
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [*words, "spark-internal"],
                env={**kept, **own, "PYSPARK_PYTHON": str(base)},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        end = time.monotonic() + _PATIENCE
        while not (found := re.search(r"Connect server started at: (\S+)", log.read_text(errors="replace"))):
            assert time.monotonic() < end, log.read_text(errors="replace")
            assert self._process.poll() is None, log.read_text(errors="replace")
            time.sleep(0.1)
        self.address = f"sc://{found[1]}"

    def kill(self) -> None:
        """Kill it with its Python processes."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=60)
            self._process = None
