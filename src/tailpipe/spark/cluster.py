"""Whether a cluster answers: its master can be reached, and gives executors within a time limit.

Spark itself waits a minute for a master that is not there and then fails far from the cause, and it waits for ever for
executors that a cluster does not have.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tailpipe.errors import SparkError

if TYPE_CHECKING:
    from pyspark import SparkContext

_CONNECT_SECONDS = 10
_POLL_SECONDS = 0.5
_DEFAULT_PORT = 7077
_STANDALONE = re.compile(r"spark://(.+)")


def check_master(master: str) -> None:
    """Raise if no standalone master of `spark://host:port[,host:port…]` accepts a connection; others are not tried."""
    match = _STANDALONE.fullmatch(master)
    if match is None:
        return
    reasons = []
    for address in match[1].split(","):
        host, _, port = address.rpartition(":")
        if not port.isdecimal():
            host, port = address, str(_DEFAULT_PORT)
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            reasons.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise SparkError(
        f"cannot reach the Spark master {master} ({'; '.join(reasons)})",
        hint="start it, or correct master in the spark block of the workspace",
    )


def count_executors(context: SparkContext) -> int:
    """How many executors have registered."""
    infos: Sequence[Any] = context._jsc.sc().statusTracker().getExecutorInfos()
    return len(infos) - 1  # one of them is the driver


@contextlib.contextmanager
def limited_wait(context: SparkContext, seconds: float) -> Iterator[None]:
    """Cancel the jobs that run meanwhile, and say why, if no executor has registered after so many seconds.

    The watch begins with a job, because a cluster with dynamic allocation gives executors only to waiting tasks.
    """
    over, late = threading.Event(), threading.Event()

    def watch() -> None:
        waited = 0.0
        with contextlib.suppress(Exception):  # the JVM is gone: the job fails by itself
            while not over.wait(_POLL_SECONDS) and count_executors(context) < 1:
                waited += _POLL_SECONDS
                if waited >= seconds:
                    late.set()
                    context.cancelAllJobs()
                    return

    thread = threading.Thread(target=watch, name="tailpipe-executors", daemon=True)
    thread.start()
    try:
        yield
    except Exception as error:
        if late.is_set():
            conf = context.getConf()
            memory = f"{conf.get('spark.executor.memory', '1g')} + {conf.get('spark.executor.memoryOverhead', '2g')}"
            raise SparkError(
                f"the cluster {context.master} started no executor within {seconds:g} s",
                hint=f"check that it has workers with a free core and {memory} of memory; wait_seconds sets the limit",
            ) from error
        raise
    finally:
        over.set()
