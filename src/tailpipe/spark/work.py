"""What tasks of Spark do with their payloads. These functions run on the hosts of a cluster."""

from __future__ import annotations

import os
import pickle
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from tailpipe.errors import SparkError
from tailpipe.frozen import frozen
from tailpipe.kernel.delivery import Depots
from tailpipe.kernel.task import Share, Staging, Task
from tailpipe.model.ledger import Span
from tailpipe.model.option import secrets_in
from tailpipe.model.redaction import REDACTOR
from tailpipe.model.source import Source
from tailpipe.spark.jobs import Attempt
from tailpipe.spark.probe import Software, here, unlike

_CHECKED: set[Software] = set()
"""What this process was compared with already."""


@frozen
class Around:
    """What the tasks of a job share: stores, the limit of memory, and the software of the driver.

    `software` is that of the driver, if a host may differ from it: one that has joined the cluster after the preflight
    is checked by its first task.
    """

    memory: str | None = None
    """DuckDB's limit for a task."""
    stores: Depots = field(default_factory=dict, hash=False)
    software: Software | None = None

    def check(self) -> None:
        """Refuse to work on a host that differs from the driver: it could make other rows."""
        if self.software is None or self.software in _CHECKED:
            return
        if found := unlike(self.software, own := here()):
            raise SparkError(f"{own.host} is not ready: {'; '.join(found)}")
        _CHECKED.add(self.software)


def run(templates: Sequence[Task], around: Around, payload: bytes, attempt: Attempt) -> bytes:
    """Run a kernel task."""
    from tailpipe.kernel.delivery import run_there

    around.check()
    task = _unpacked(templates, payload)
    if task.limits.memory is None:
        task = replace(task, limits=replace(task.limits, memory=around.memory))
    places = (_of_attempt(share.staging, attempt) for share in task.shares if share.staging is not None)
    return pickle.dumps(run_there(task.at(*places), around.stores, _scratch(attempt), str(attempt)))


def sample(templates: Sequence[Task], around: Around, payload: bytes, _: Attempt) -> bytes:
    """Look at a sample of a kernel task."""
    from tailpipe.kernel.sample import sample as look

    around.check()
    return pickle.dumps(look(_unpacked(templates, payload)))


def restage(work: Callable[..., Any], around: Around, payload: bytes, attempt: Attempt) -> bytes:
    """Do work that stages again what is staged or live."""
    around.check()
    task = pickle.loads(payload)  # noqa: S301 - our own bytes, from our own driver
    moved = replace(task, staging=_of_attempt(task.staging, attempt))
    return pickle.dumps(work(moved, around.stores, _scratch(attempt), str(attempt)))


def compact(around: Around, payload: bytes, attempt: Attempt) -> bytes:
    """Put the rows of small files together."""
    from tailpipe.kernel.delivery import compact_there

    around.check()
    moved = (replace(task, staging=_of_attempt(task.staging, attempt)) for task in pickle.loads(payload))  # noqa: S301
    made = (compact_there(task, around.stores, _scratch(attempt), str(attempt), around.memory) for task in moved)
    return pickle.dumps(list(made))


def find_misplaced(column: str, kind: str, around: Around, payload: bytes, attempt: Attempt) -> bytes:
    """Find files whose index is not the value of the column."""
    from tailpipe.kernel.delivery import misplaced_there

    around.check()
    files = pickle.loads(payload)  # noqa: S301
    return pickle.dumps(misplaced_there(files, column, kind, around.stores, _scratch(attempt)))


def print_parts(sources: Sequence[Source], around: Around, payload: bytes, _: Attempt) -> bytes:
    """Make prints of parts of contents."""
    from tailpipe.kernel.prints import read_prints

    around.check()
    found: dict[tuple[str, Span], str | None] = {}
    for number, artifact, spans in pickle.loads(payload):  # noqa: S301
        prints = read_prints(sources[number], artifact, spans)
        found.update({(artifact.uri, span): text for span, text in prints.items()})
    return pickle.dumps(found)


def parted(tasks: Sequence[Task]) -> tuple[tuple[Task, ...], list[bytes]]:
    """Split tasks into what they share, which travels with the work, and the rest, which travels as rows."""
    templates: dict[int, Task] = {}
    sources: dict[int, list[Source]] = {}
    payloads = []
    for task in tasks:
        bare = replace(task, shares=())
        number = next((number for number, known in templates.items() if known == bare), len(templates))
        templates.setdefault(number, bare)
        known = sources.setdefault(number, [])
        rows = []
        for share in task.shares:
            if share.source not in known:
                known.append(share.source)
            rows.append((known.index(share.source), share.partition, share.readings, share.staging))
        payloads.append(pickle.dumps((number, rows)))
    made = (
        replace(template, shares=tuple(Share("", source, ()) for source in sources[number]))
        for number, template in templates.items()
    )
    return tuple(made), payloads


def _unpacked(templates: Sequence[Task], payload: bytes) -> Task:
    """Restore a task that `parted` has split: rows name the sources, which templates hold as shares, by number."""
    number, shares = pickle.loads(payload)  # noqa: S301
    template: Task = templates[number]
    made = []
    for place, partition, readings, staging in shares:
        source = template.shares[place].source
        REDACTOR.learn(secrets_in(source))
        made.append(Share(partition, source, readings, staging))
    return replace(template, shares=tuple(made))


def _of_attempt(staging: Staging, attempt: Attempt) -> Staging:
    """Names that no other attempt uses, and the worker's local disk for what does not fit into memory."""
    spill = Path(_local(), f"tailpipe-spill-{attempt}")
    return replace(staging, prefix=f"{staging.prefix}-{attempt}", spill=str(spill))


def _scratch(attempt: Attempt) -> Path:
    """The path of a private directory on the worker's local disk; its user creates and removes it."""
    return Path(_local(), f"tailpipe-task-{attempt}-{uuid.uuid4().hex}")


def _local() -> str:
    return os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0] or tempfile.gettempdir()
