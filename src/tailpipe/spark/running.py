"""A Spark that runs: what the engine needs of it, and the one whose driver is in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tailpipe.kernel.delivery import Depots
from tailpipe.spark.cluster import count_executors
from tailpipe.spark.conf import is_local
from tailpipe.spark.jobs import Work, job_failure, running_tasks, stream_job
from tailpipe.spark.preflight import check_cluster, memory_limit
from tailpipe.spark.processes import cpu_seconds
from tailpipe.spark.session import is_alive, session_of, stop_context

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["OnContext", "Running"]


class Running(Protocol):
    """Runs jobs until it is ended."""

    @property
    def master(self) -> str:
        """Where it runs."""
        ...

    @property
    def context(self) -> SparkContext:
        """The context of the driver; raises if the driver is elsewhere."""
        ...

    @property
    def session(self) -> SparkSession:
        """Spark's SQL and DataFrames; raises if tailpipe cannot use them there."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether tasks run on this machine, in processes that this one has started."""
        ...

    @property
    def is_private(self) -> bool:
        """Whether only the driver can read what this process sends to it."""
        ...

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""
        ...

    def properties(self) -> dict[str, str]:
        """The properties that it runs with."""
        ...

    def task_memory(self) -> str:
        """DuckDB's limit for a task."""
        ...

    def check(self, staging: Path | None, wait_seconds: float, depots: Depots) -> None:
        """Raise if a host differs from this one, or cannot write to where files go."""
        ...

    def stream(
        self, payloads: Sequence[bytes], work: Work, group: str, name: str
    ) -> Generator[tuple[int, bytes], None, None]:
        """Do the work for each payload; closing the iterator cancels the job, which has this group and shown name."""
        ...

    def running_tasks(self, groups: Iterable[str]) -> dict[str, int]:
        """How many tasks of these jobs run now; those of which that is not known are not in it."""
        ...

    def is_alive(self, *, after: float = 0) -> bool:
        """Whether it can take another job after so many seconds."""
        ...

    def cpu_seconds(self) -> float:
        """How much CPU time its processes on this machine have used so far."""
        ...

    def end(self) -> None:
        """Give up what it has."""
        ...


@dataclass
class OnContext:
    """The driver is in this process, or in a Java process next to it."""

    context: SparkContext
    stop: Callable[[SparkContext], None] = stop_context

    @property
    def master(self) -> str:
        """The master of the context."""
        return str(self.context.master)

    @property
    def session(self) -> SparkSession:
        """The session of the context."""
        return session_of(self.context)

    @property
    def is_local(self) -> bool:
        """Whether the master is a local one."""
        return is_local(self.master)

    @property
    def is_private(self) -> bool:
        """Nothing is sent."""
        return True

    @property
    def cores(self) -> int:
        """As Spark counts them."""
        from py4j.protocol import Py4JError

        try:
            return max(1, int(self.context.defaultParallelism))
        except (Py4JError, OSError) as error:  # it died since it was looked at
            raise job_failure(error) from error

    def properties(self) -> dict[str, str]:
        """Those of the context."""
        return dict(self.context.getConf().getAll())

    def task_memory(self) -> str:
        """By the memory of executors."""
        cores = self.context.defaultParallelism // max(1, count_executors(self.context))
        return memory_limit(self.properties(), cores)

    def check(self, staging: Path | None, wait_seconds: float, depots: Depots) -> None:
        """Check each executor."""
        check_cluster(self.context, staging, wait_seconds, depots)

    def stream(
        self, payloads: Sequence[bytes], work: Work, group: str, name: str
    ) -> Generator[tuple[int, bytes], None, None]:
        """As an RDD."""
        return stream_job(self.context, payloads, work, group, name)

    def running_tasks(self, groups: Iterable[str]) -> dict[str, int]:
        """As Spark counts them."""
        return running_tasks(self.context, groups)

    def is_alive(self, *, after: float = 0) -> bool:
        """Whether the Java process runs."""
        return is_alive(self.context, after=after)

    def cpu_seconds(self) -> float:
        """Those of the Java process and its children."""
        java = getattr(self.context._gateway, "proc", None)  # missing if another program started it
        return cpu_seconds(int(java.pid)) if java is not None else 0.0

    def end(self) -> None:
        """Stop the context."""
        self.stop(self.context)
