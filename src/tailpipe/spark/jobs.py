"""Jobs: a list of payloads, one to a Spark task, and what came back for each."""

from __future__ import annotations

import queue
import re
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from tailpipe.errors import SparkError, TailpipeError
from tailpipe.frozen import frozen
from tailpipe.model.redacted_logging import log_redacted
from tailpipe.model.redaction import REDACTOR

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.accumulators import Accumulator

_POLL_SECONDS = 0.2
_CANCEL_SECONDS = 30
_HINT = "see the log of Spark for details; committed days stay, and the next collect continues from there"
_FREE = "free some space, then run it again; committed days stay"
_LOST = re.compile(r"ExecutorLostFailure \(executor \S+ (?:exited|lost)?(.*?)\)(?: Reason: (.+))?$", re.MULTILINE)
_PLACE = re.compile(r"\(TID \d+\) \((\S+) executor (?!driver)\S+\)")
_FULL = re.compile(
    r"""(?:file ["'](?P<file>[^"']+)["']: No space left on device|No space left on device: '(?P<path>[^']+)')"""
)
_PYTHON = re.compile(r"^(?:[a-z_]\w*\.)*[A-Z]\w*(?:: .*)?$")
_JAVA = re.compile(r"^(?:Caused by: )?[a-z]\w*(?:\.\w+)+(?:Exception|Error): (.+)$")


@frozen
class Attempt:
    """Which try of which task this is: names that carry it are never used twice."""

    task: int
    number: int

    def __str__(self) -> str:
        return f"{self.task:05d}-{self.number}"


Work = Callable[[bytes, Attempt], bytes]
"""What a task does with its payload. It travels to the workers, so it must be picklable."""


def run_job(context: SparkContext, payloads: Sequence[bytes], work: Work) -> list[bytes]:
    """Do the work for each payload, in parallel, and give the answers in the order of the payloads.

    Spark places the tasks in their order and tries one that fails again. Only faults of the infrastructure raise here:
    what is wrong with data is part of an answer. An interrupt cancels the job before it is passed on.
    """
    answers = dict(stream_job(context, payloads, work))
    return [answers[number] for number in range(len(payloads))]


def stream_job(
    context: SparkContext, payloads: Sequence[bytes], work: Work, group: str | None = None, name: str = "tailpipe"
) -> Generator[tuple[int, bytes], None, None]:
    """Do the work for each payload, and yield each answer as soon as its task is done, with the number of its payload.

    Closing the iterator cancels the job. Spark knows the job by its `group`, and shows its `name`.
    """
    if not payloads:
        return
    job = _Job(context, payloads, work, group or f"tailpipe-{uuid.uuid4().hex}", name)
    job.start()
    try:
        yield from job.answers()
    except BaseException:
        job.cancel()
        raise


def running_tasks(context: SparkContext, groups: Iterable[str]) -> dict[str, int]:
    """How many tasks of each of these jobs run now; none is known if Spark ends."""
    from py4j.protocol import Py4JError

    found = {}
    try:
        tracker = context.statusTracker()
        for group in groups:
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
            found[group] = sum(stage.numActiveTasks for stage in stages if stage is not None)
    except (Py4JError, OSError, AttributeError):  # another thread may have closed it
        return {}
    return found


@dataclass
class _Job:
    """A job under way. The thread that waits for it never talks to the JVM itself.

    A thread and the JVM talk over one connection, question and answer in turn. An interrupt between the
    two would leave an answer that the next question gets; and it is the waiting thread that gets it.

    Answers come twice: each as an update of an accumulator when its task is done, and all of them as the result of the
    job. Spark applies the update of each task once, and that of an attempt that failed never.
    """

    context: SparkContext
    payloads: Sequence[bytes]
    work: Work
    group: str
    name: str
    _over: threading.Event = field(default_factory=threading.Event)
    _arrived: queue.SimpleQueue[tuple[int, bytes] | None] = field(default_factory=queue.SimpleQueue)
    _answers: dict[int, bytes] = field(default_factory=dict)
    _failure: Exception | None = None

    def start(self) -> None:
        _in_thread(self._run, self.group)

    def cancel(self) -> None:
        """Have Spark give up its tasks, and wait until it has."""
        if not self._over.is_set():
            _in_thread(lambda: self.context.cancelJobGroup(self.group), f"{self.group}-cancel")
            self._over.wait(_CANCEL_SECONDS)

    def answers(self) -> Iterator[tuple[int, bytes]]:
        given: set[int] = set()
        while (arrived := self._next()) is not None:
            given.add(arrived[0])
            yield arrived
        if self._failure is not None:
            raise job_failure(self._failure) from self._failure
        count = len(self.payloads)
        if sorted(self._answers) != list(range(count)):
            raise SparkError(f"Spark returned {len(self._answers)} of {count} tasks", hint=_HINT)
        yield from ((number, answer) for number, answer in self._answers.items() if number not in given)

    def _next(self) -> tuple[int, bytes] | None:
        """The next answer, or None at the end of the job. Waits in steps, so that an interrupt gets through."""
        while True:
            try:
                return self._arrived.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue

    def _run(self) -> None:
        from pyspark.accumulators import _accumulatorRegistry

        early: Accumulator[Any] = self.context.accumulator([], cast("Any", EarlyAnswers(self._arrived.put)))
        try:
            self.context.setJobGroup(self.group, self.name, interruptOnCancel=True)
            tasks = self.context.parallelize(enumerate(self.payloads), len(self.payloads))
            self._answers = dict(tasks.mapPartitions(_worker(self.work, early)).collect())
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
        finally:
            _accumulatorRegistry.pop(early.aid, None)
            self._over.set()
            self._arrived.put(None)


class EarlyAnswers:
    """An accumulator of answers: a list in a task, and in the driver whatever takes them one by one."""

    def __init__(self, take: Callable[[tuple[int, bytes]], None] | None = None) -> None:
        self._take = take

    def __reduce__(self) -> tuple[type[EarlyAnswers], tuple[()]]:
        return EarlyAnswers, ()

    def zero(self, _: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """No answers."""
        return []

    def addInPlace(  # noqa: N802 - Spark calls it so
        self, held: list[tuple[int, bytes]], more: list[tuple[int, bytes]]
    ) -> list[tuple[int, bytes]]:
        """Take more answers."""
        if self._take is None:
            return held + more
        for answer in more:
            self._take(answer)
        return held


def _in_thread(work: Callable[[], None], name: str) -> None:
    """Do it in a thread of its own, which has its own connection to the JVM."""
    from py4j.protocol import Py4JError

    def run() -> None:
        try:
            work()
        except (Py4JError, OSError):
            return  # the JVM is gone; the thread that runs the job reports it

    threading.Thread(target=run, name=name, daemon=True).start()


def _worker(
    work: Work, early: Accumulator[list[tuple[int, bytes]]]
) -> Callable[[Iterable[tuple[int, bytes]]], Iterator[tuple[int, bytes]]]:
    def run(tasks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        from pyspark import TaskContext

        log_redacted()
        context = TaskContext.get()
        for number, payload in tasks:
            try:
                answer = work(payload, Attempt(number, context.taskAttemptId() if context else 0))
            except Exception as error:
                redact(error)  # Spark writes it to its log
                raise
            early.add([(number, answer)])
            yield number, answer

    return run


def redact(error: BaseException | None) -> None:
    """Remove secrets from the messages of an exception and of those that caused it."""
    while error is not None:
        error.args = tuple(REDACTOR(one) if isinstance(one, str) else one for one in error.args)
        if isinstance(error, TailpipeError):
            error.message = REDACTOR(error.message)
        error = error.__cause__ or error.__context__


def job_failure(error: Exception) -> SparkError:
    """A Spark failure as one line with its cause, not as the stacks of two languages."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, Py4JError | OSError) and not isinstance(error, Py4JJavaError):
        return SparkError("Spark's Java process ended during a job", hint=_HINT)
    return failure_of(str(error))


def failure_of(text: str) -> SparkError:
    """The reason of a failed job in Spark's message, as one line."""
    place = _PLACE.search(text)
    where = f" on {place[1]}" if place else ""
    if lost := _LOST.search(text):
        reason = (lost[2] or lost[1]).strip()[:300]
        return SparkError(
            f"a Spark job failed: executors were lost{where}, last error: {reason}",
            hint=f"if memory is low there, increase spark.executor.memoryOverhead in conf; {_HINT}",
        )
    if full := _FULL.search(text):
        directory = (full["file"] or full["path"]).rpartition("/")[0]
        return SparkError(f"no space left{where} for {directory}", hint=_FREE)
    return SparkError(f"a Spark job failed{where}: {_cause(text)[:500]}", hint=_HINT)


def _cause(text: str) -> str:
    """The last words of a Python traceback, if there is one; else what Java gives as the reason."""
    lines = text.splitlines()
    if any("Traceback (most recent call last)" in line for line in lines):
        found = [line for line in lines if _PYTHON.match(line)]
        if found:
            return found[-1]
    reasons = [match[1] for line in lines if (match := _JAVA.match(line.strip()))]
    return reasons[-1] if reasons else next((line.strip() for line in lines if line.strip()), "no reason given")
