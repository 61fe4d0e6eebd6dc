"""Objects in Spark: executors read the files of stores, and write answers, with credentials of their own.

Spark's readers of buckets need jars and settings that a cluster may lack; these need what tasks need anyway.
"""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from tailpipe.errors import SparkError
from tailpipe.frozen import frozen
from tailpipe.kernel.delivery import Depots, fetch_address
from tailpipe.model.connection import Connection

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tailpipe.storage.objects import Objects

_BATCH_ROWS = 64 * 1024


@frozen
class Destination:
    """A bucket, a container or a directory that takes an answer, and how to reach it."""

    location: str
    connection: Connection | None = None

    def open(self) -> Objects:
        """The objects below the location."""
        from tailpipe.storage.object_stores import open_objects

        return open_objects(self.location, self.connection)


def object_frame(spark: SparkSession, schema: pa.Schema, addresses: Sequence[str], depots: Depots) -> DataFrame:
    """The rows of parquet objects, one Spark task to an object, with columns of these types."""

    class Bound(_ObjectSource):  # it travels whole, and no plan shows what it holds
        _name = f"tailpipe_{secrets.token_hex(8)}"
        _schema = schema
        _addresses = tuple(addresses)
        _depots = depots

    spark.dataSource.register(Bound)
    return spark.read.format(Bound._name).load()


def write_frame(frame: DataFrame, select: str, destination: Destination) -> tuple[int, int]:
    """Write a DataFrame as parquet objects, each task its own; returns how many there are, and their bytes.

    `select` is what DuckDB makes of the columns `0`, `1`, … of the table `answer`. The location must be empty. If the
    job fails, nothing stays there.
    """
    objects = destination.open()
    if next(iter(objects.list("")), None) is not None:
        raise SparkError(f'"{destination.location}" is not empty', hint="use another location")

    class Bound(_AnswerSink):
        _name = f"tailpipe_{secrets.token_hex(8)}"
        _select = select
        _destination = destination

    session = frame.sparkSession
    session.dataSource.register(Bound)
    jvm = session._jvm
    if jvm is None:
        raise SparkError("Spark is not running", hint="run the query again")
    # The writer looks for data sources in the session of the thread.
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
    numbered = frame.toDF(*(str(place) for place in range(len(frame.columns))))
    numbered.write.format(Bound._name).mode("append").save()
    found = list(objects.list(""))
    return len(found), sum(one.size for one in found)


class _ObjectSource(DataSource):
    _name: str
    _schema: pa.Schema
    _addresses: tuple[str, ...]
    _depots: Depots

    @classmethod
    def name(cls) -> str:
        return cls._name

    def schema(self) -> StructType:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self._schema, prefer_timestamp_ntz=True)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is ours
        return _Reader(self._schema, self._addresses, self._depots)


class _Reader(DataSourceReader):
    def __init__(self, schema: pa.Schema, addresses: Sequence[str], depots: Depots) -> None:
        self._schema, self._addresses, self._depots = schema, addresses, depots

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(len(self._addresses))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        with tempfile.TemporaryDirectory(prefix="tailpipe-") as directory:
            path = Path(directory) / "object"
            fetch_address(self._addresses[partition.value], self._depots, path)
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=self._schema.names):
                    yield batch.select(self._schema.names).cast(self._schema)


@dataclass
class _Written(WriterCommitMessage):
    keys: tuple[str, ...]


class _AnswerSink(DataSource):
    _name: str
    _select: str
    _destination: Destination

    @classmethod
    def name(cls) -> str:
        return cls._name

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002 - it is ours
        return _Writer(self._select, self._destination)


class _Writer(DataSourceArrowWriter):
    def __init__(self, select: str, destination: Destination) -> None:
        self._select, self._destination = select, destination

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        import pyarrow as pa
        from pyspark import TaskContext

        first = next(iterator, None)
        if first is None:
            return _Written(())
        context = TaskContext.get()
        part = context.partitionId() if context else 0
        key = f"part-{part:05d}-{secrets.token_hex(8)}.parquet"
        with tempfile.TemporaryDirectory(prefix="tailpipe-") as directory:
            path = Path(directory) / "answer"
            rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], iterator))
            _write(rows, self._select, path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            self._destination.open().put_file(key, path, sha256=digest)
        return _Written((key,))

    def commit(self, messages: list[Any]) -> None:
        """Remove what attempts have left that were done again."""
        kept = {key for message in messages if message is not None for key in message.keys}
        self._remove(kept)

    def abort(self, messages: list[Any]) -> None:  # noqa: ARG002 - all of it goes
        self._remove(set())

    def _remove(self, kept: set[str]) -> None:
        objects = self._destination.open()
        objects.delete([one.key for one in objects.list("") if one.key not in kept])


def _write(rows: pa.RecordBatchReader, select: str, path: Path) -> None:
    from tailpipe.sql.connection import connect
    from tailpipe.sql.quoting import literal

    with connect() as connection:
        connection.register("answer", rows)
        target = f"{literal(str(path))} (FORMAT parquet, COMPRESSION zstd)"
        connection.execute(f"COPY (SELECT {select} FROM answer) TO {target}")  # noqa: S608 - ours
