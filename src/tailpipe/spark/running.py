"""A Spark whose driver is in this process; `connect.OnConnect` is one whose driver is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
        """Spark's SQL and DataFrames."""
        return session_of(self.context)

    @property
    def is_local(self) -> bool:
        """Whether tasks run on this machine, in processes that this one has started."""
        return is_local(self.master)

    @property
    def is_private(self) -> bool:
        """Whether only the driver can read what this process sends to it."""
        return True

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""
        from py4j.protocol import Py4JError

        try:
            return max(1, int(self.context.defaultParallelism))
        except (Py4JError, OSError) as error:  # it died since it was looked at
            raise job_failure(error) from error

    def properties(self) -> dict[str, str]:
        """The properties that Spark runs with."""
        return dict(self.context.getConf().getAll())

    def task_memory(self) -> str:
        """DuckDB's limit for a task, by the memory of executors."""
        cores = self.context.defaultParallelism // max(1, count_executors(self.context))
        return memory_limit(self.properties(), cores)

    def check(self, staging: Path | None, wait_seconds: float, depots: Depots) -> None:
        """Raise if a host differs from this one, or cannot write to where files go."""
        check_cluster(self.context, staging, wait_seconds, depots)

    def stream(
        self, payloads: Sequence[bytes], work: Work, group: str, name: str
    ) -> Generator[tuple[int, bytes], None, None]:
        """Do the work for each payload, as an RDD; closing the iterator cancels the job. Spark shows its name."""
        return stream_job(self.context, payloads, work, group, name)

    def running_tasks(self, groups: Iterable[str]) -> dict[str, int]:
        """How many tasks of these jobs run now; jobs of which that is unknown are missing."""
        return running_tasks(self.context, groups)

    def is_alive(self, *, after: float = 0) -> bool:
        """Whether it can take another job after so many seconds: the Java process runs."""
        return is_alive(self.context, after=after)

    def cpu_seconds(self) -> float:
        """How much CPU time the Java process and its children have used so far."""
        java = getattr(self.context._gateway, "proc", None)  # missing if another program started it
        return cpu_seconds(int(java.pid)) if java is not None else 0.0

    def end(self) -> None:
        """Stop the context."""
        self.stop(self.context)
