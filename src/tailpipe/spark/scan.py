"""Scan: the rows that collecting would keep, as a lazy DataFrame; a Python data source over the kernel's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from tailpipe.errors import SparkError
from tailpipe.kernel.plan import plan_task
from tailpipe.kernel.run import TaskRun, with_years
from tailpipe.kernel.task import Task
from tailpipe.spark.tables import null_row
from tailpipe.sql.connection import connect

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_NAME = "tailpipe"


def scan_tasks(spark: SparkSession, tasks: Sequence[Task]) -> DataFrame:
    """The rows of these tasks, read when the DataFrame is; all of them have the same columns.

    A damaged artifact fails the job that meets it, and so does an undeclared field that shows a wider
    type than the tasks know: rows that were given cannot be taken back.
    """
    if not tasks:
        raise SparkError("nothing to scan")
    session = spark.newSession()
    session.dataSource.register(_source_of([task.without_staging() for task in tasks]))
    return session.read.format(_NAME).load()


def _source_of(tasks: Sequence[Task]) -> type[DataSource]:
    """A data source that holds its tasks, credentials among them.

    A class that is made in a function travels whole, as bytes that Spark passes on to its workers and never shows.
    The options of a data source are parts of its plan, which is printed, logged and kept.
    """

    class Bound(TaskSource):
        _tasks = tuple(tasks)

    return Bound


class TaskSource(DataSource):
    """Reads the rows of tasks."""

    _tasks: tuple[Task, ...]

    @classmethod
    def name(cls) -> str:
        """What `spark.read.format` calls it."""
        return _NAME

    def schema(self) -> StructType:
        """The columns of the table's files."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(_schema(self._tasks[0]), prefer_timestamp_ntz=True)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is ours
        """One partition to a task."""
        return _Reader(self._tasks)


class _Reader(DataSourceReader):
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(len(self._tasks))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from _read(self._tasks[partition.value])


def _read(task: Task) -> Iterator[pa.RecordBatch]:
    """The rows that a task keeps, as `kernel.run.read_rows` gives them; but none with fields left out."""
    schema = _schema(task)
    run = TaskRun(with_years(task), {})
    try:
        for _ in run.portions():
            if run.widenings:
                names = ", ".join(f'"{name}" ({kind})' for name, kind in sorted(run.widenings.items()))
                raise SparkError(f"{task.shares[0].partition} has fields that are not in its first rows: {names}")
            for progress in run.feed.progress:
                if progress.error is not None:
                    raise SparkError(progress.error)
            for batch in run.buffer.batches():
                yield batch.cast(schema)
    finally:
        run.close()


def _schema(task: Task) -> pa.Schema:
    """The Arrow types of the files' columns."""
    with connect(task.limits.memory) as connection:
        columns = plan_task(task, connection).shape.columns
        return connection.execute(null_row(columns)).to_arrow_table().schema
