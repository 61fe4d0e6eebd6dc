"""The Python API: a workspace, with one method for each common operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.home.home import Home, Say
from tailpipe.model.request import Collect, Detect
from tailpipe.model.saved import SavedQuery
from tailpipe.model.selector import Selection
from tailpipe.model.window import Window, requested_window
from tailpipe.query.request import Query
from tailpipe.stores.version import Version

if TYPE_CHECKING:  # each operation loads what it needs, so that none waits for the others
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tailpipe.catalog.read import PartitionTotals
    from tailpipe.collect.events import Event, Report
    from tailpipe.detect.run import Run
    from tailpipe.kernel.engine import Engine
    from tailpipe.query.parameters import Params
    from tailpipe.query.session import Session

__all__ = ["Collect", "Detect", "Query", "Window", "Workspace"]


class Workspace:
    """A workspace for programs.

    Partitions are names or patterns such as `"app_log.*"`, or lists of them. Times are those of the command line:
    `"2024-01-31"`, `"T-7d"`. A method with a request takes every option of its command.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        """Config, plugins, directories, catalog, stores and engine, for `tailpipe.operations`."""

    @classmethod
    def open(
        cls,
        *,
        config_path: str | None = None,
        workspace: str | None = None,
        env: Mapping[str, str] | None = None,
        say: Say = lambda _: None,
        engine: Engine | None = None,
    ) -> Workspace:
        """The workspace that arguments and environment variables name; `say` gets messages for the user."""
        return cls(Home.open(config_path=config_path, workspace=workspace, env=env, say=say, engine=engine))

    def collect(
        self,
        partitions: Selection | Collect = (),
        *,
        start: str | None = None,
        end: str | None = None,
        overwrite: bool = False,
        emit: Callable[[Event], None] = lambda _: None,
    ) -> Report:
        """Collect partitions, or all of them; each day is committed atomically.

        Without a start a run continues where the last one ended. A `Collect` request takes the place of the other
        arguments. `emit` gets the progress.
        """
        from tailpipe.operations.collect import collect

        if not isinstance(partitions, Collect):
            now = datetime.now(UTC)
            window = requested_window(start, end, now=now)
            partitions = Collect(now, window, overwrite, partitions=partitions)
        return collect(self.home, partitions, emit)

    def scan(self, partition: str, window: Window) -> DataFrame:
        """The standardised rows of a window as a lazy Spark DataFrame, equal to what collecting would store.

        The session stays open; `frame.sparkSession.stop()` ends it.
        """
        from tailpipe.operations.collect import scan

        return scan(self.home, partition, window)

    def held(self) -> Mapping[str, PartitionTotals]:
        """The rows, bytes and days that each partition holds, by `table.partition`."""
        return self.home.held()

    def tables(self) -> dict[str, bool]:
        """All tables that can be queried, by name; True for those that have rows."""
        from tailpipe.operations.facts import table_names

        filled = {name.partition(".")[0] for name, totals in self.home.held().items() if totals.rows}
        return {name: name in filled for name in table_names(self.home)}

    def session(self, query: Query | None = None) -> Session:
        """A session for several statements over the same data; close it."""
        from tailpipe.operations.query import open_session

        return open_session(self.home, query)

    def query(
        self,
        sql: str | SavedQuery,
        params: Params | None = None,
        *,
        timeout_seconds: float | None = None,
        as_of: datetime | str | None = None,
        tag: str | None = None,
    ) -> pa.Table:
        """The result of one statement or saved query, as an Arrow table of plain types.

        `params` are the values of its `$name` parameters. `as_of` a time or by a `tag`, it shows an earlier version.
        """
        now = datetime.now(UTC)
        if isinstance(sql, SavedQuery):
            params, sql = sql.values(params or {}, now=now), sql.text
        with self.session(
            Query(version=Version.parse(as_of, tag, now=now), timeout_seconds=timeout_seconds)
        ) as session:
            return session.run(sql, params).table()

    def spark(self, table: str) -> DataFrame:
        """The rows of a table, or of `schema.table`, as a lazy Spark DataFrame over the files that are live now.

        The session stays open; `frame.sparkSession.stop()` ends it.
        """
        from tailpipe.operations.query import frame

        return frame(self.home, table)

    def connect(self) -> Path:
        """A DuckDB database with views over the live files, which every later commit replaces."""
        from tailpipe.operations.query import connect

        return connect(self.home)

    def detect(self, names: Sequence[str] | Detect = ()) -> Run:
        """Run all detections, or some, over rows that are new since the last run."""
        from tailpipe.operations.detect import detect

        return detect(self.home, names if isinstance(names, Detect) else Detect(datetime.now(UTC), tuple(names)))
