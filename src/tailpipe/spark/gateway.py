"""Spark's Java process, started without Spark's scripts.

`spark-submit` runs a shell script that starts a first Java to put together the command of the second one, and that one
then prepares what a submitted application may need. On this machine the command is always the same, so the process is
started at once, and it starts while this one goes on. Whatever a script would have to read (see `is_plain`) is left to
the scripts. Java ends when its standard input is closed, and on Linux with this process, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import pwd
import re
import shlex
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.config.settings import SparkSettings
from tailpipe.errors import SparkError
from tailpipe.frozen import frozen
from tailpipe.spark.surroundings import environment

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf

_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
_OPENED = """
    java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent
    java.util.concurrent.atomic jdk.internal.ref sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar
"""
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED.split()),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
"""What Spark's launcher adds for its own classes, save for a module that only its machine learning uses."""
_SUBMITTED = re.compile(
    r"spark\.(jars|files|archives|submit|kerberos|yarn|driver\.(extraClassPath|extraLibraryPath|defaultJavaOptions))\b"
)
_OF_SCRIPTS = (
    *("HADOOP_CONF_DIR", "PYSPARK_GATEWAY_PORT", "PYSPARK_PIN_THREAD", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR"),
    *("SPARK_DIST_CLASSPATH", "SPARK_DRIVER_MEMORY", "SPARK_PREPEND_CLASSES", "SPARK_SUBMIT_OPTS", "SPARK_TESTING"),
    "YARN_CONF_DIR",
)
_MEMORY = re.compile(r"\d+[kmgtKMGT]?")
_LONGEST = 100_000
"""Linux takes no argument that is longer than 128 KB."""
_POLL_SECONDS = 0.005
_SET_DEATH_SIGNAL = 1
"""The number of that request to Linux."""


def spark_home() -> Path:
    """The directory of the installed Spark, found without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkError("Spark cannot be imported", hint="pip install tailpipe again")
    return Path(spec.origin).parent


def spark_jars(home: Path) -> list[Path]:
    """The jars of Spark, in the order in which Java searches them."""
    return sorted((home / "jars").glob("*.jar"))


def is_plain(settings: SparkSettings, env: Mapping[str, str], home: Path) -> bool:
    """Whether Spark's scripts would add nothing: no jars, files or settings of their own are named anywhere."""
    memory = settings.conf.get("spark.driver.memory") or settings.driver_memory or "1g"
    return not (
        any(_SUBMITTED.match(name) for name in settings.conf)
        or any(env.get(name) for name in _OF_SCRIPTS)
        or (home / "conf").exists()
        or not _MEMORY.fullmatch(str(memory))
    )


def java_command(java_home: Path, home: Path, memory: str, options: str) -> list[str]:
    """The command that starts Spark's Java process; `options` is a line of options of Java, quoted as for a shell."""
    path = os.pathsep.join(map(str, spark_jars(home)))
    if len(path) > _LONGEST:
        path = str(home / "jars" / "*")
    java = str(java_home / "bin" / "java")
    return [java, f"-Xmx{memory}", *MODULE_OPTIONS, *shlex.split(options), "-cp", path, _MAIN]


@frozen
class Launch:
    """A Java process of Spark on its way; `address` is the file in which it says how to reach it."""

    process: subprocess.Popen[bytes]
    address: Path

    def connect(self) -> JavaGateway:
        """Wait until it can be reached, and connect to it as PySpark does."""
        while self.process.poll() is None and not self.address.exists():
            time.sleep(_POLL_SECONDS)
        if not self.address.exists():
            raise SparkError(f"Spark did not start: Java ended with exit code {self.process.returncode}")
        data = self.address.read_bytes()
        port, length = struct.unpack_from("!ii", data)
        self.address.unlink()
        with environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": data[8 : 8 + length].decode()}):
            gateway = connect()
        vars(gateway)["proc"] = self.process
        return gateway

    def cancel(self) -> None:
        """End it at once; it holds nothing yet."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self.address.unlink(missing_ok=True)


def connect(conf: SparkConf | None = None) -> JavaGateway:
    """Connect as PySpark does: to the process that its variables name, or else to one that its scripts start."""
    from pyspark.java_gateway import launch_gateway

    return launch_gateway(conf)  # type: ignore[no-untyped-call]


def launch(command: list[str], *, log: Path, scratch: Path, variables: Mapping[str, str | None], home: Path) -> Launch:
    """Start the process; what it prints goes to the log, and it does not hear Ctrl-C."""
    address = scratch / "gateway"
    env = {**os.environ, **{name: value for name, value in variables.items() if value is not None}}
    for name in (name for name, value in variables.items() if value is None):
        env.pop(name, None)
    env |= {
        "SPARK_HOME": str(home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address),
        "SPARK_USER": env.get("SPARK_USER") or pwd.getpwuid(os.geteuid()).pw_name,  # else Hadoop's login finds it out
    }
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=output, stderr=output, preexec_fn=_setting_up()
        )
    except OSError as error:
        raise SparkError(f"Java did not start: {error.strerror}: {command[0]}") from error
    finally:
        os.close(output)
    return Launch(process, address)


def _setting_up() -> Callable[[], None]:
    """What the new process does before it becomes Java: it ignores interrupts, and dies with this one.

    The end of its standard input is not enough: a Java that cannot write down its address goes on for ever. Linux
    ends a process with the thread that started it, so this is requested for the main thread only.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if threading.current_thread() is threading.main_thread() else None
    parent = os.getpid()

    def set_up() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if prctl is not None:
            prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:  # it has ended already
                os._exit(1)

    return set_up
