"""Parquet artifacts: taken as they are, a batch of row groups at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.errors import ChangedError, TailpipeError
from tailpipe.kernel.batch import Parsed
from tailpipe.kernel.engine import connect, expression_types
from tailpipe.kernel.feed import Batch, Failed
from tailpipe.kernel.header import snake_name, unique_names
from tailpipe.kernel.outputs import SECOND
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.sql import literal, quoted
from tailpipe.kernel.task import Fault, Task
from tailpipe.kernel.watch import GONE, watched
from tailpipe.model.format import Format
from tailpipe.plugin.formats import RESERVED_FIELDS, Delimited

__all__ = ["ParquetFeed"]

_ROWS = 65536


class ParquetFeed:
    """Rows of parquet files; a row has no text, so a rejected one is shown as JSON."""

    def __init__(self, task: Task, failed: Mapping[int, Fault]) -> None:
        self._task = task
        self.progress: Sequence[Progress] = [
            Progress(reading, fault=failed.get(place)) for place, reading in enumerate(task.readings)
        ]

    def events(self) -> Iterator[Batch | Failed]:
        """Batches of whole record batches."""
        for place, progress in enumerate(self.progress):
            if progress.fault is not None:
                continue
            try:
                yield from self._read(place, progress)
            except (pa.ArrowException, TailpipeError, OSError) as problem:
                if isinstance(problem, OSError) and problem.errno is not None and not isinstance(problem, GONE):
                    raise  # a fault of the machine; what Arrow says of damaged bytes has no number
                told = f'"{progress.reading.artifact.uri}" is not a readable parquet file: {problem}'
                is_changed = isinstance(problem, ChangedError)
                progress.fault = Fault(str(problem) if is_changed else told, is_changed=is_changed)
                yield Failed(place, progress.fault)

    def _read(self, place: int, progress: Progress) -> Iterator[Batch]:
        since = progress.reading.since_ordinals
        artifact, source = progress.reading.artifact, self._task.source
        with watched(artifact, source.open) as (stream, watch), _seekable(stream) as file:
            watch.is_packed = True
            while chunk := file.read(self._task.limits.chunk_bytes):
                progress.take(chunk)
            progress.end()
            file.seek(0)
            count = 0
            for batch in pq.ParquetFile(file).iter_batches(batch_size=_ROWS, use_threads=False):
                first, count = count, count + batch.num_rows
                fresh = batch.slice(max(0, since - first))
                if fresh.num_rows:
                    yield _batch(place, fresh, count - fresh.num_rows, self._task.format)
            progress.committed_ordinals = count


def _batch(place: int, batch: pa.RecordBatch, before: int, format: Format) -> Batch:
    is_snake, nulls = (format.snake_case, format.null_if) if isinstance(format, Delimited) else (False, ())
    spelt = unique_names(map(snake_name, batch.schema.names)) if is_snake else batch.schema.names
    names = [f"{name}{SECOND}" if name.lower() in RESERVED_FIELDS else name for name in spelt]
    table = pa.table(dict(zip(names, batch.columns, strict=True)))
    table = table.append_column("_artifact", pa.array(np.full(len(table), place, np.int32)))
    table = table.append_column("_ordinal", pa.array(np.arange(before + 1, before + 1 + len(table), dtype=np.int64)))
    with connect() as connection:
        connection.register("rows", table.slice(0, 0))
        kinds = expression_types(connection, "SELECT * FROM rows")
    fields = dict(zip(names, kinds, strict=False))
    columns = "".join(f", {_or_null(quoted(name), kind, nulls)} AS {quoted(name)}" for name, kind in fields.items())
    record = ", ".join(f"{quoted(name)} := {quoted(name)}" for name in fields)
    sql = (
        f"SELECT _artifact, _ordinal, NULL::VARCHAR AS _bad, to_json(struct_pack({record}))::VARCHAR AS _raw{columns}"
        " FROM rows"
    )
    return Batch(Parsed(sql, {"rows": table}, fields, len(table)), table.nbytes, {place})


def _or_null(column: str, kind: str, nulls: Sequence[str]) -> str:
    """Texts that mean null in a delimited format do so here too."""
    if kind != "VARCHAR" or not nulls:
        return column
    return f"CASE WHEN {column} NOT IN ({', '.join(map(literal, nulls))}) THEN {column} END"


@contextmanager
def _seekable(stream: BinaryIO) -> Iterator[IO[bytes]]:
    """The stream itself, or a copy without a name on disk: a parquet file is read from its end."""
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy, 1024 * 1024)
        copy.seek(0)
        yield copy
