"""Jobs: a list of payloads, one to a Spark task, and what came back for each."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailpipe.errors import SparkError, TailpipeError
from tailpipe.model.redacting import log_redacted
from tailpipe.model.redaction import REDACTOR

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["Attempt", "Work", "run_job", "told"]

_POLL_SECONDS = 0.2
_CANCEL_SECONDS = 30
_HINT = "see the log of Spark for details; committed days stay, and the next collect continues from there"
_PYTHON = re.compile(r"^(?:[a-z_]\w*\.)*[A-Z]\w*(?:: .*)?$")
_JAVA = re.compile(r"^(?:Caused by: )?[a-z]\w*(?:\.\w+)+(?:Exception|Error): (.+)$")


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
    context: SparkContext, payloads: Sequence[bytes], work: Work, *, progress: Callable[[int], None] = lambda _: None
) -> list[bytes]:
    """Do the work for each payload, in parallel, and give the answers in the order of the payloads.

    Spark places the tasks in their order and tries one that fails again; `progress` hears how many are
    done. Only faults of the infrastructure raise here: what is wrong with data is part of an answer.
    An interrupt cancels the job before it is passed on.
    """
    if not payloads:
        return []
    job = _Job(context, payloads, work)
    job.start()
    try:
        while job.is_running:
            job.wait(_POLL_SECONDS)
            progress(job.done)
    except BaseException:
        job.cancel()
        raise
    return job.answers()


class _Job:
    """A job under way. The thread that waits for it never talks to the JVM itself.

    A thread and the JVM talk over one connection, question and answer in turn. An interrupt between the
    two would leave an answer that the next question gets; and it is the waiting thread that gets it.
    """

    def __init__(self, context: SparkContext, payloads: Sequence[bytes], work: Work) -> None:
        self.done = 0
        self._context = context
        self._payloads = payloads
        self._work = work
        self._group = f"tailpipe-{uuid.uuid4().hex}"
        self._over = threading.Event()
        self._answers: dict[int, bytes] = {}
        self._failure: Exception | None = None

    @property
    def is_running(self) -> bool:
        return not self._over.is_set()

    def start(self) -> None:
        _in_thread(self._run, self._group)
        _in_thread(self._watch, f"{self._group}-watch")

    def wait(self, seconds: float) -> None:
        self._over.wait(seconds)

    def cancel(self) -> None:
        """Have Spark give up its tasks, and wait until it has."""
        _in_thread(lambda: self._context.cancelJobGroup(self._group), f"{self._group}-cancel")
        self.wait(_CANCEL_SECONDS)

    def answers(self) -> list[bytes]:
        if self._failure is not None:
            raise told(self._failure) from self._failure
        count = len(self._payloads)
        if sorted(self._answers) != list(range(count)):
            raise SparkError(f"Spark answered {len(self._answers)} of {count} tasks", hint=_HINT)
        return [self._answers[number] for number in range(count)]

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, "tailpipe", interruptOnCancel=True)
            tasks = self._context.parallelize(enumerate(self._payloads), len(self._payloads))
            self._answers = dict(tasks.mapPartitions(_worker(self._work)).collect())
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            self._failure = error
        finally:
            self._over.set()

    def _watch(self) -> None:
        tracker = self._context.statusTracker()
        while not self._over.wait(_POLL_SECONDS):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            self.done = sum(stage.numCompletedTasks for stage in stages if stage)


def _in_thread(work: Callable[[], None], name: str) -> None:
    """Do it in a thread of its own, which has its own connection to the JVM."""
    from py4j.protocol import Py4JError

    def run() -> None:
        try:
            work()
        except (Py4JError, OSError):
            return  # the JVM is gone; the thread that runs the job tells it

    threading.Thread(target=run, name=name, daemon=True).start()


def _worker(work: Work) -> Callable[[Iterable[tuple[int, bytes]]], Iterator[tuple[int, bytes]]]:
    def run(tasks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        from pyspark import TaskContext

        log_redacted()
        context = TaskContext.get()
        for number, payload in tasks:
            try:
                yield number, work(payload, Attempt(number, context.taskAttemptId() if context else 0))
            except Exception as error:
                _redact(error)  # Spark writes it to its log
                raise

    return run


def _redact(error: BaseException | None) -> None:
    """Take the secrets out of what an exception, and those that led to it, say."""
    while error is not None:
        error.args = tuple(REDACTOR(one) if isinstance(one, str) else one for one in error.args)
        if isinstance(error, TailpipeError):
            error.message = REDACTOR(error.message)
        error = error.__cause__ or error.__context__


def told(error: Exception) -> SparkError:
    """A Spark failure as one line with its cause, not as the stacks of two languages."""
    from py4j.protocol import Py4JError, Py4JJavaError

    if isinstance(error, Py4JError | OSError) and not isinstance(error, Py4JJavaError):
        return SparkError("Spark's Java process has ended in the middle of a job", hint=_HINT)
    return SparkError(f"a Spark job failed: {_cause(str(error))[:500]}", hint=_HINT)


def _cause(text: str) -> str:
    """The last words of a Python traceback, if there is one; else what Java gives as the reason."""
    lines = text.splitlines()
    if any("Traceback (most recent call last)" in line for line in lines):
        found = [line for line in lines if _PYTHON.match(line)]
        if found:
            return found[-1]
    reasons = [match[1] for line in lines if (match := _JAVA.match(line.strip()))]
    return reasons[-1] if reasons else next((line.strip() for line in lines if line.strip()), "no reason given")
