"""Golden inputs, changed and run again: what tests need that hold for all AWS tables alike."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO

from tailpipe.kernel.run import read_rows
from tailpipe.kernel.task import Reading, Task
from tailpipe.plugin import Artifact, Source, Window
from tests.aws_tables.golden import FORMATS, TABLES, Case


class Text(Source):
    """A file with this content."""

    type = "file"
    content: str = ""

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        return iter(())

    def open(self, artifact: Artifact) -> BinaryIO:
        return io.BytesIO(self.content.encode())


def rows_of(table: str, content: str, case: Case | None = None) -> list[dict[str, Any]]:
    """The rows that a table makes of a text, read as the case says if one is given."""
    made, artifact = TABLES[table], Artifact("log")
    format = FORMATS.get(str(case), made.format)
    assert format is not None
    now = datetime(2024, 6, 1, tzinfo=UTC)
    task = Task.of(f"{table}.x", made, Text(name="x", content=content), format, (Reading(artifact, "log"),), now)
    return [row for batch in read_rows(task) for row in batch.to_pylist()]
