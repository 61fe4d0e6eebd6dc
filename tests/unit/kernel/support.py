"""A source in memory, and tasks over it in one line."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from tailpipe.formats import Jsonl
from tailpipe.kernel.run import read_rows, run_task
from tailpipe.kernel.task import Limits, Outcome, Reading, Staging, Task
from tailpipe.model.artifact import Artifact
from tailpipe.model.format import Format
from tailpipe.model.source import Source
from tailpipe.model.table import Column, Table
from tailpipe.model.window import Window

INGESTED = datetime(2024, 6, 1, 12, tzinfo=UTC)
TIME = Column("tp_timestamp", source="time")


class Memory(Source):
    """Artifacts that lie in a dictionary."""

    type = "memory"

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        return iter(())

    def open(self, artifact: Artifact) -> BinaryIO:
        return io.BytesIO(CONTENT[artifact.uri])


CONTENT: dict[str, bytes] = {}


def table(*columns: Column, **facts: Any) -> Table:
    return Table(name="things", columns=[TIME, *columns], **facts)


def task(
    content: bytes | Mapping[str, bytes],
    columns: Sequence[Column] = (),
    format: Format | None = None,
    *,
    reading: Mapping[str, Any] | None = None,
    of: Table | None = None,
    limits: Limits | None = None,
    **facts: Any,
) -> Task:
    """A task over these bytes, or over several artifacts by name; every artifact by itself is closed."""
    contents = content if isinstance(content, Mapping) else {"/logs/a.log": content}
    CONTENT.update(contents)
    artifacts = [Artifact(uri=uri, size=len(data)) for uri, data in contents.items()]
    return Task.of(
        partition="things.test",
        table=of or table(*columns),
        source=Memory(name="memory"),
        format=format or Jsonl(),
        readings=tuple(Reading(artifact, artifact.uri, **(reading or {})) for artifact in artifacts),
        ingested_at=INGESTED,
        limits=limits or Limits(),
        **facts,
    )


def shared(task: Task, **facts: Any) -> Task:
    """The task of one share, with other facts of it."""
    (share,) = task.shares
    return replace(task, shares=(replace(share, **facts),))


class Run:
    """A task that was run: its outcome, and the rows of its files and of the other sink."""

    def __init__(self, task: Task) -> None:
        with tempfile.TemporaryDirectory() as directory:
            self.outcome: Outcome = run_task(task.at(Staging(directory, "t0-a0")))[0]
            self.names = [path.name for path in Path(directory).iterdir()]
            self.rows: list[dict[str, Any]] = []
            self.rejected: list[dict[str, Any]] = []
            for file in self.outcome.files:
                rows = _read(Path(directory) / file.path)
                (self.rows if file.role == "data" else self.rejected).extend(rows)
        self.rows.sort(key=_order)
        self.rejected.sort(key=lambda row: (row["artifact"], row["ordinal"]))
        self._task = task

    @cached_property
    def streamed(self) -> list[dict[str, Any]]:
        """The rows of the other sink; for those who look at the accounts."""
        return sorted((row for batch in read_rows(self._task) for row in batch.to_pylist()), key=_order)

    @property
    def accounts(self) -> tuple[int, int, int, int, int]:
        """Read, kept, filtered, rejected, out of window; checked against the files and the other sink."""
        total = self.outcome.accounts
        assert all(result.accounts.is_balanced for result in self.outcome.results)
        assert total.kept == len(self.rows) == len({row["tp_id"] for row in self.rows})
        assert total.rejected == len(self.rejected)
        assert self.streamed == self.rows
        return total.read, total.kept, total.filtered, total.rejected, total.out_of_window

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]


def run(*arguments: Any, **facts: Any) -> Run:
    return Run(task(*arguments, **facts))


def _order(row: Mapping[str, Any]) -> tuple[str, str]:
    prefix, _, ordinal = row["tp_id"].partition("-")
    return row["tp_source_location"] + prefix, ordinal.rjust(32)


def _read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _reader().read_parquet(str(path)).to_arrow_table().to_pylist()
    return found


@cache
def _reader() -> duckdb.DuckDBPyConnection:
    """One for all tests: opening it takes longer than reading a file."""
    return duckdb.connect()
