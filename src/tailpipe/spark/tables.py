"""Tables on Spark: the live files of a table as a DataFrame with the columns that its view has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.model.types import stored_type
from tailpipe.sql.connection import connect
from tailpipe.sql.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from tailpipe.kernel.delivery import Depots


@frozen
class FileSet:
    """Live files with the same columns, and what these are stored as; without paths it declares types alone."""

    columns: Mapping[str, str]
    paths: Sequence[str]


def table_frame(
    spark: SparkSession, columns: Mapping[str, str], sets: Sequence[FileSet], depots: Depots | None = None
) -> DataFrame:
    """The rows of these files, with the columns of the view and in its order.

    With `depots` the paths are addresses of objects, which executors fetch themselves. What the view casts from text
    stays text. Files of other times may have fewer columns, and narrower types.
    """
    types = _types(columns, sets)
    if not any(one.paths for one in sets):
        from pyspark.sql.types import StructField, StructType

        return spark.createDataFrame([], StructType([StructField(name, types[name]) for name in columns]))
    frames = [_selected(spark, columns, types, one, depots) for one in sets if one.paths]
    return reduce(lambda one, other: one.unionAll(other), frames)


def _selected(
    spark: SparkSession, columns: Iterable[str], types: Mapping[str, DataType], files: FileSet, depots: Depots | None
) -> DataFrame:
    from pyspark.sql import functions

    if depots is None:
        frame = spark.read.parquet(*files.paths)
    else:
        from tailpipe.spark.object_source import object_frame

        wanted = {name.lower() for name in columns}
        kinds = {name: kind for name, kind in files.columns.items() if name.lower() in wanted}
        frame = object_frame(spark, _arrow_schema(kinds), files.paths, depots)
    there = {name.lower(): name for name in files.columns}

    def column(name: str) -> Column:
        if name.lower() not in there:
            return functions.lit(None)
        escaped = there[name.lower()].replace("`", "``")
        return frame[f"`{escaped}`"]

    return frame.select(*(column(name).cast(types[name]).alias(name) for name in columns))


def _types(columns: Mapping[str, str], sets: Sequence[FileSet]) -> dict[str, DataType]:
    """The Spark type that holds all values of a column, found as DuckDB finds it for files read together."""
    from pyspark.sql.pandas.types import from_arrow_type

    known = {name.lower() for one in sets for name in one.columns}
    missing = {name: stored_type(shown) for name, shown in columns.items() if name.lower() not in known}
    rows = [null_row(one) for one in (*(one.columns for one in sets), missing) if one]
    with connect() as connection:
        schema = connection.execute(" UNION ALL BY NAME ".join(rows)).to_arrow_table().schema
    found = {field.name.lower(): from_arrow_type(_signed(field.type), prefer_timestamp_ntz=True) for field in schema}
    return {name: found[name.lower()] for name in columns}


def _arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """The types of columns of a file, as Spark can hold them."""
    import pyarrow as pa

    with connect() as connection:
        schema = connection.execute(null_row(columns)).to_arrow_table().schema
    return pa.schema([(field.name, _signed(field.type)) for field in schema])


def null_row(columns: Mapping[str, str]) -> str:
    """SQL for a row of nulls in the stored types of these columns."""
    return "SELECT " + ", ".join(f"NULL::{stored_type(kind)} AS {quoted(name)}" for name, kind in columns.items())


def _signed(kind: pa.DataType) -> pa.DataType:
    """Spark has no numbers without a sign, and reads those of a file as the next wider type."""
    import pyarrow as pa

    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    if pa.types.is_list(kind):
        return pa.list_(_signed(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _signed(field.type)) for field in kind])
    return wider.get(kind, kind)
