"""Jobs: a list of payloads, one to a Spark task, and what came back for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tailpipe.errors import SparkError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["Attempt", "run_job"]

_ROW = "number int, payload binary"
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Attempt:
    """Which try of which task this is: names that carry it are never used twice."""

    task: int
    number: int

    def __str__(self) -> str:
        return f"{self.task:05d}-{self.number}"


Work = Callable[[bytes, Attempt], bytes]
"""What a task does with its payload. It travels to the workers, so it must be picklable."""


def run_job(
    spark: SparkSession, payloads: Sequence[bytes], work: Work, *, progress: Callable[[int], None] = lambda _: None
) -> list[bytes]:
    """Do the work for each payload, in parallel, and give the answers in the order of the payloads.

    Spark places the tasks in their order and tries one that fails again; `progress` hears how many are
    done. Only faults of the infrastructure raise here: what is wrong with data is part of an answer.
    """
    if not payloads:
        return []
    context = spark.sparkContext
    rows = context.parallelize(list(enumerate(payloads)), len(payloads))
    frame = spark.createDataFrame(rows, _ROW).mapInArrow(_worker(work), _ROW)
    group = f"tailpipe-{uuid4().hex}"  # one for each job, so that progress counts this one alone
    answers: dict[int, bytes] = {}
    failure: list[BaseException] = []

    def collect() -> None:
        context.setJobGroup(group, "tailpipe", interruptOnCancel=True)
        try:
            answers.update({row.number: bytes(row.payload) for row in frame.collect()})
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            failure.append(error)

    thread = threading.Thread(target=collect, name=group, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_SECONDS)
            progress(_done(context, group))
    except BaseException:
        context.cancelJobGroup(group)
        thread.join(30)
        raise
    if failure:
        raise _told(failure[0]) from failure[0]
    if len(answers) != len(payloads):
        raise SparkError(f"Spark answered {len(answers)} of {len(payloads)} tasks")
    return [answers[number] for number in range(len(payloads))]


def _worker(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        for batch in batches:
            for row in batch.to_pylist():
                attempt = Attempt(row["number"], context.taskAttemptId() if context else 0)
                answer = work(bytes(row["payload"]), attempt)
                yield pa.RecordBatch.from_pylist([{"number": row["number"], "payload": answer}], schema=batch.schema)

    return run


def _done(context: Any, group: str) -> int:
    tracker = context.statusTracker()
    done = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            found = tracker.getStageInfo(stage)
            done += found.numCompletedTasks if found else 0
    return done


def _told(error: BaseException) -> BaseException:
    """A Spark failure as one line with its cause, not as the stack of two languages."""
    if not isinstance(error, Exception):
        return error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in reversed(lines) if not line.startswith(("at ", "...", "Driver stacktrace"))), "")
    return SparkError(f"a Spark job failed: {cause[:500]}", hint="see the log of Spark; then collect again")
