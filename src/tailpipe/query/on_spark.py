"""Queries on Spark: the same statement over the same snapshot, for tables that have outgrown one machine."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from tailpipe.catalog.snapshot import Bring, LiveFile
from tailpipe.errors import SparkError, TailpipeError, TimeLimitError, UsageError
from tailpipe.kernel.delivery import Depots, stores_of
from tailpipe.model.nearest import did_you_mean
from tailpipe.query.answer import Answer
from tailpipe.query.limit import TimeLimit
from tailpipe.query.parameters import Params
from tailpipe.query.stars import Starred
from tailpipe.query.statements import words
from tailpipe.query.translate import Translated, refuse_other, to_spark, to_spark_condition
from tailpipe.query.views import View
from tailpipe.spark.jail import checked_frame, jailed_session, text_session
from tailpipe.spark.jobs import job_failure
from tailpipe.spark.names import named
from tailpipe.spark.tables import FileSet, table_frame
from tailpipe.sql.duck import blank, duckdb, first_line
from tailpipe.sql.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tailpipe.query.session import Session
    from tailpipe.spark.engine import SparkEngine
    from tailpipe.spark.object_source import Destination

T = TypeVar("T")
RemoteReads = Callable[[Sequence[LiveFile]], "tuple[list[str], Depots]"]
"""Gives the addresses of files in stores, and the stores."""

_POLL_SECONDS = 0.2


class SparkQueries:
    """Runs statements of DuckDB's SQL on Spark. DuckDB checks them first, and gives names and types to the answer."""

    def __init__(
        self,
        session: Session,
        start: Callable[[], SparkSession],
        remote: RemoteReads | None = None,
        protect: Callable[[Destination], None] = lambda _: None,
    ) -> None:
        self._session = session
        self._start = start
        self._remote = remote
        self._protect = protect
        self._token = secrets.token_hex(16)
        self._registered: dict[tuple[str, str], tuple[LiveFile, ...]] = {}
        self.limit = TimeLimit(session.limit.seconds, self.interrupt)

    @cached_property
    def _spark(self) -> SparkSession:
        return jailed_session(self._start())

    def run(self, sql: str, params: Params | None = None) -> Answer:
        """Run one SELECT, with values for its `$name` parameters; its rows come over when Spark has them all."""
        columns, types, translated, views = self._prepared(sql, params)
        found = self._done(translated, views, lambda frame: frame.toArrow())
        connection = blank()
        connection.register("answer", found.rename_columns([str(place) for place in range(len(columns))]))
        try:  # gives the rows the names and types that DuckDB would have given them
            connection.execute(f"SELECT {_items(found.schema, columns, types)} FROM answer")
        except duckdb.Error as error:
            raise _refused(error) from error
        return Answer(columns, types, connection, _refused, self.limit)

    def write(self, sql: str, params: Params | None, destination: Destination) -> tuple[int, int]:
        """Have the executors write the rows of one SELECT as parquet objects; how many there are, and their bytes."""
        from pyspark.sql.pandas.types import to_arrow_schema

        from tailpipe.spark.object_source import write_frame

        self._protect(destination)
        columns, types, translated, views = self._prepared(sql, params)

        def work(frame: DataFrame) -> tuple[int, int]:
            numbered = frame.toDF(*(str(place) for place in range(len(columns))))
            return write_frame(numbered, _items(to_arrow_schema(numbered.schema), columns, types), destination)

        return self._done(translated, views, work)

    def _prepared(
        self, sql: str, params: Params | None
    ) -> tuple[tuple[str, ...], tuple[str, ...], Translated, Mapping[str, str]]:
        """Have Spark know what a statement needs; its columns and types, its translation, and the names of views."""
        refuse_other(sql)
        columns, types = self._session.describe(sql, params)
        views = {view.address: view for view in self._session.views}
        names = {address: f"view_{self._token}_{number}" for number, address in enumerate(views)}
        default, prefix = self._session.schema, f"cte_{self._token}"
        translated = to_spark(sql, names, default=default, prefix=prefix, types=self._types(sql), params=params)
        for view, files in self._session.shown.needed(sql, params):
            if (name := names[view.address]) in translated.names:
                self._register(view, files, name)
        return columns, types, translated, {name: views[address].name for address, name in names.items()}

    def starred(self, sql: str, columns: Sequence[str]) -> Starred:
        """The columns of an answer that come from a star."""
        return self._session.starred(sql, columns)

    def _types(self, sql: str) -> dict[str, str]:
        """The types of the columns of the tables that are named; of two with one name, that with the broken numbers."""
        used = words(sql)
        named = [view for view in self._session.views if view.name.lower() in used]
        kinds = [(name.lower(), kind) for view in named for name, kind in view.columns.items()]
        return dict(sorted(kinds, key=lambda one: (one[1].startswith(("DOUBLE", "FLOAT", "DECIMAL")), *one)))

    def interrupt(self) -> None:
        """End what Spark is doing."""
        self._spark.sparkContext.cancelAllJobs()

    def _register(self, view: View, files: tuple[LiveFile, ...], name: str) -> None:
        """Have Spark read the files that a statement needs: from this disk, or on a cluster from the store."""
        if self._registered.get(view.address) != files:
            paths, depots = self._remote(files) if self._remote else (self._session.local(view, files), None)
            frame = _frame(self._spark, view, files, paths, self._session.shown.snapshot.columns, depots)
            frame.createOrReplaceTempView(name)
            self._registered[view.address] = files

    def _done(self, translated: Translated, views: Mapping[str, str], work: Callable[[DataFrame], T]) -> T:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        spark = self._spark
        relations = frozenset(views.keys() & set(translated.names))

        def named_work() -> T:
            spark.sparkContext.setJobDescription(named("query", (views[name] for name in relations)))
            return work(checked_frame(spark, translated.sql, relations))

        self.limit.begin()
        try:
            with self.limit.running():
                return _in_thread(named_work, self.limit)
        except (TimeLimitError, KeyboardInterrupt):
            self.interrupt()
            raise
        except PySparkException as error:
            if self.limit.is_over:
                raise self.limit.error() from error
            message = translated.in_own_words(first_line(error))
            hint = f"it was translated to: {translated.in_own_words(translated.sql)}"
            raise SparkError(f"Spark rejected the statement: {message}", hint=hint) from error
        except (Py4JError, ArithmeticError, OSError, RuntimeError, ValueError) as error:
            raise (self.limit.error() if self.limit.is_over else job_failure(error)) from error


def _in_thread(work: Callable[[], T], limit: TimeLimit) -> T:
    """Work in another thread, because Python handles no Ctrl-C while rows are awaited; an orphan ends with Spark."""
    from threading import Thread

    given: list[T | BaseException] = []

    def run() -> None:
        try:
            given.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            given.append(error)

    thread = Thread(target=run, name="rows of Spark", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL_SECONDS)  # an interrupt that another thread gets wakes nobody
        if limit.is_over:
            raise limit.error()
    (outcome,) = given
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


@contextmanager
def queries(engine: SparkEngine, session: Session, address: Callable[[LiveFile], str]) -> Iterator[SparkQueries]:
    """Queries on Spark; session and engine are closed at the end. `address` names a file for hosts of a cluster."""

    def read_there(files: Sequence[LiveFile]) -> tuple[list[str], Depots]:
        paths = [address(file) for file in files]
        return paths, engine.stores(filter(None, stores_of((), paths)))

    with closing(engine), session:
        read = None if engine.shares_disk else read_there
        yield SparkQueries(session, lambda: engine.session, read, engine.protect)


def frame_of(session: Session, name: str, start: Callable[[], SparkSession], bring: Bring | None = None) -> DataFrame:
    """The rows of a table, or of `schema.table`, as a DataFrame; with `bring` it outlives the session."""
    schema, _, table = name.rpartition(".")
    for view, files in session.shown.needed(f"{schema}.{table}"):
        if view.address == ((schema or session.schema).lower(), table.lower()):
            paths = session.local(view, files) if bring is None else bring(files, view.place)
            return _frame(text_session(start()), view, files, paths, session.shown.snapshot.columns)
    known = [view.name if view.schema == session.schema else f"{view.schema}.{view.name}" for view in session.views]
    raise UsageError(f"table not found: {name}", hint=did_you_mean(name, known, "see: tailpipe table list"))


def _frame(
    spark: SparkSession,
    view: View,
    files: Sequence[LiveFile],
    paths: Sequence[str],
    column_sets: Mapping[int, Mapping[str, str]],
    depots: Depots | None = None,
) -> DataFrame:
    by_set: dict[int, list[str]] = {}
    for file, path in zip(files, paths, strict=True):
        by_set.setdefault(file.columns_id, []).append(path)
    sets = [FileSet(column_sets[number], by_set.get(number, ())) for number in sorted({*by_set, *view.sets})]
    frame = table_frame(spark, view.columns, sets, depots)
    for condition in view.conditions:
        types = {name.lower(): kind for name, kind in view.columns.items()}
        frame = frame.filter(to_spark_condition(condition, types))
    return frame


def _items(schema: pa.Schema, columns: Sequence[str], types: Sequence[str]) -> str:
    """What DuckDB makes of the numbered columns that Spark gives."""
    return ", ".join(
        f"CAST({_whole_days(quoted(str(place)), schema.field(place))} AS {kind}) AS {quoted(name)}"
        for place, (name, kind) in enumerate(zip(columns, types, strict=True))
    )


def _whole_days(column: str, field: pa.Field) -> str:
    """A span of time as DuckDB gives it for two times: Spark's has hours in place of days."""
    if not str(field.type).startswith("duration"):
        return column
    days = f"trunc(epoch_us({column}) / 86400000000.0)::BIGINT"
    return f"to_days({days}::INTEGER) + to_microseconds(epoch_us({column}) - {days} * 86400000000)"


def _refused(error: Exception) -> TailpipeError:
    if isinstance(error, TailpipeError):
        return error
    message = f"what Spark gave is of another type: {first_line(error)}"
    return TailpipeError(message, hint="remove --engine spark, or add a cast")
