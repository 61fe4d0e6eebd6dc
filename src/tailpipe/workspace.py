"""The workspace: config, plugins and data, opened; one short method for each verb."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.catalog.home import make_directories
from tailpipe.collecting import Collecting, Steps, check_config_sql, try_source
from tailpipe.config.config import Config
from tailpipe.config.environment import Environment, Settings
from tailpipe.config.functions import Surroundings
from tailpipe.config.loader import load_config
from tailpipe.data import Data, Say
from tailpipe.detect.hit_table import DETECTION_HIT
from tailpipe.engines import Engines
from tailpipe.errors import ConfigError
from tailpipe.model.detection import HIT_TABLE
from tailpipe.model.format import Format
from tailpipe.model.nearest import named
from tailpipe.model.saved import SavedQuery
from tailpipe.model.selector import Selection
from tailpipe.model.table import Table
from tailpipe.model.window import Window
from tailpipe.plugin.registry import Registry
from tailpipe.stores.version import NOW, Version

if TYPE_CHECKING:  # each verb loads what it needs, so that none waits for the others
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tailpipe.catalog.catalog import Catalog
    from tailpipe.catalog.overview import Overview
    from tailpipe.catalog.read import PartitionTotals
    from tailpipe.catalog.run_record import RunRecord
    from tailpipe.collect.events import Event, Report
    from tailpipe.collect.planner import Planned
    from tailpipe.collect.trial import SourceTrial
    from tailpipe.detecting import Detecting
    from tailpipe.keeping import Keeping
    from tailpipe.kernel.engine import Engine
    from tailpipe.kernel.trial import Trial
    from tailpipe.model.coverage import Coverage, DaySet
    from tailpipe.model.maintenance import Maintenance
    from tailpipe.model.partition import Partition
    from tailpipe.query.databases import Wish
    from tailpipe.query.narrowing import Narrowing
    from tailpipe.query.on_spark import SparkQueries
    from tailpipe.query.parameters import Params
    from tailpipe.query.session import Session
    from tailpipe.sharing import Sharing
    from tailpipe.spark.engine import SparkEngine
    from tailpipe.stores.fetch import Fetched, Limits

    OnFetch = Callable[[Fetched], None]
    Emit = Callable[[Event], None]

__all__ = ["Workspace"]


class Workspace:
    """What a command works with. Config is read, and directories are made, when they are first needed."""

    def __init__(
        self,
        environment: Environment,
        registry: Registry,
        say: Say = lambda _: None,
        engine: Engine | None = None,
        *,
        is_command: bool = False,
    ) -> None:
        self.environment = environment
        self.registry = registry
        self.engine = engine
        """What runs the jobs of collecting and compacting; whoever gave it closes it. Without one it is Spark, started
        by the first job of a verb and ended with the verb."""
        self._say = say
        self._is_command = is_command

    @classmethod
    def open(
        cls,
        *,
        config_path: str | None = None,
        workspace: str | None = None,
        env: Mapping[str, str] | None = None,
        say: Say = lambda _: None,
        engine: Engine | None = None,
        is_command: bool = False,
    ) -> Workspace:
        """The workspace that flags and environment name; `say` gets what a person should know.

        If it `is_command`, the process ends with the verb, so nobody waits until Spark has ended too.
        """
        around = os.environ if env is None else env
        environment = Environment.resolve(around, config_path=config_path, workspace=workspace)
        return cls(environment, Registry.installed(str(environment.packs_dir)), say, engine, is_command=is_command)

    @cached_property
    def config(self) -> Config:
        """The config; on the first run its directory is made."""
        if self.environment.has_own_config:
            make_directories(self.environment.config_paths, self._say)
        around = Surroundings(now=datetime.now(UTC), env=os.environ, home=str(self.environment.home))
        try:
            return load_config(self.environment.config_paths, self.registry, around)
        finally:
            for warning in self.registry.warnings:
                self._say(f"warning: {warning}")

    @cached_property
    def settings(self) -> Settings:
        """What holds for this run."""
        return Settings.resolve(self.environment, self.config)

    @cached_property
    def known_tables(self) -> Mapping[str, Table]:
        """All declared tables by name: those of the config, those of plugins, each loaded when asked for, and hits."""
        own = {HIT_TABLE: DETECTION_HIT}
        return ChainMap(self.config.tables, self.registry.tables, own)  # type: ignore[arg-type] # they are only read

    @cached_property
    def data(self) -> Data:
        """What was collected."""
        return Data(self.settings, self.config, self.known_tables, self._say)

    @cached_property
    def collecting(self) -> Collecting:
        """What collects logs."""
        return Collecting(self.data, self._working)

    @cached_property
    def keeping(self) -> Keeping:
        """What merges the files of collected data, and drops it."""
        from tailpipe.keeping import Keeping

        return Keeping(self.data, self._working)

    @cached_property
    def sharing(self) -> Sharing:
        """What brings data to stores and from there."""
        from tailpipe.sharing import Sharing

        return Sharing(self.data)

    @cached_property
    def detecting(self) -> Detecting:
        """What runs detections and delivers alerts."""
        from tailpipe.detecting import Detecting

        return Detecting(self.data, self.registry)

    def format(self, name: str) -> Format:
        """The format that config names `type.name`: one of the config, or a preset."""
        full = f"{name}.default" if name in self.registry.formats else name
        own = self.config.formats  # a hint names them first
        return named("format", full, {**own, **self.registry.presets, **own})

    def table(self, name: str) -> Table:
        """The table of that name: one of the config, or of a plugin."""
        return named("table", name, self.known_tables)

    # Collecting

    def collect(
        self,
        partitions: Selection = (),
        window: Window | None = None,
        *,
        overwrite: bool = False,
        accept_loss: bool = False,
        fill: bool = False,
        skip_bad_artifacts: bool = False,
        source: str | None = None,
        command: str = "",
        with_compaction: bool = True,
        with_maintenance: bool = True,
        with_push: bool = True,
        is_cycle: bool = False,
        emit: Emit = lambda _: None,
    ) -> Report:
        """Collect the selected partitions, or all of them; each day is committed atomically.

        Without a window a run goes on where the last one ended. Then what has expired is dropped, and the days that
        need it are compacted. What has a store is pushed to it after each commit. If it `is_cycle`, it is one of many:
        the SQL of the config was checked, and runs without news are one in the history. Overwriting fails a day of
        which no rows would be left, unless it may `accept_loss`.
        """
        return self.collecting.collect(
            partitions,
            window,
            Steps(with_compaction, with_maintenance, with_push, is_cycle),
            overwrite=overwrite,
            accept_loss=accept_loss,
            fill=fill,
            skip_bad_artifacts=skip_bad_artifacts,
            source=source,
            command=command,
            emit=emit,
        )

    def maintain(self, units: Mapping[str, Collection[str]], emit: Emit = lambda _: None) -> dict[str, Maintenance]:
        """Drop what has expired of partitions of the config, and compact their named units where that pays."""
        return self.collecting.maintain(units, emit)

    def preview(
        self,
        partitions: Selection = (),
        window: Window | None = None,
        *,
        overwrite: bool = False,
        fill: bool = False,
        source: str | None = None,
    ) -> list[tuple[Partition, Planned]]:
        """What collecting would do; nothing is changed."""
        return self.collecting.preview(
            partitions, window, overwrite=overwrite, fill=fill, source=source, warn=self._warn
        )

    def scan(self, partition: str, window: Window) -> DataFrame:
        """The standardised rows of a window as a lazy Spark DataFrame, equal to what collecting would land.

        The session stays open; `frame.sparkSession.stop()` ends it.
        """
        spark = self._engines.spark()
        return self.collecting.scan(partition, window, spark, self.engine or spark, self._warn)

    def try_file(self, path: Path, table: Table, format_: Format | None, limit: int) -> Trial:
        """What a table makes of one file; nothing is written."""
        from tailpipe.collect.check import check_sql
        from tailpipe.kernel.trial import try_file

        try:
            config = self.config
        except ConfigError:
            config = Config()  # tables and formats of plugins can be tried while it is broken
        if table is config.tables.get(table.name):
            check_sql(config, (), tables=[table])
        return try_file(path, self.registry.sources["file"], table, format_, limit, datetime.now(UTC))

    def try_source(
        self, partition: str, source: str | None, *, start: str | None, end: str | None, limit: int
    ) -> SourceTrial:
        """What a source of one partition lists, and what the newest artifact becomes; nothing is written."""
        return try_source(
            self.config, self.known_tables, partition, source, start=start, end=end, limit=limit, warn=self._warn
        )

    def check_sql(self) -> None:
        """Raise `ConfigError` with every problem in the SQL of partitions, their tables, schemas and detections."""
        check_config_sql(self.config, self.known_tables)

    # What there is

    def held(self) -> Mapping[str, PartitionTotals]:
        """How much each partition holds, by `table.partition`; also those that no config names any more."""
        return self.data.held()

    def overview(self) -> list[Overview]:
        """All partitions that the catalog knows, with what they hold, their coverage and their last run."""
        with_store = {name for name in self.config.partitions if self.data.store_of(name)}
        return self.data.read(lambda catalog: catalog.overview(with_store), [])

    def runs(self, partitions: Selection = (), limit: int | None = None, *, is_failed: bool = False) -> list[RunRecord]:
        """The newest runs of the selected partitions, or of all, newest first; or of those that did not succeed."""
        from tailpipe.catalog.runs import runs

        names = self.select(partitions) if partitions else None
        return self.data.read(lambda catalog: runs(catalog.database, names, limit, is_failed=is_failed), [])

    def coverage(self, partition: str) -> Mapping[str, Coverage]:
        """What the catalog knows of the days of each source of a partition."""
        return self.data.read(lambda catalog: catalog.coverage(partition), {})

    def days_out_of_window(self, partition: str) -> DaySet | None:
        """The days of rows of a partition that were read and not taken, because no run had requested them."""
        return self.data.read(lambda catalog: catalog.left_out(partition), None)

    def rejected(self, partition: str) -> list[Path]:
        """The files that hold the rejected rows of a partition, those of the newest Day first."""
        return self.data.read(lambda catalog: list(catalog.rejected_files(partition).values()), [])

    def select(self, partitions: Selection = ()) -> list[str]:
        """The selected partitions, of those in the config and those that hold data."""
        return self.data.select(partitions)

    def tables(self) -> list[str]:
        """The names of all tables that can be queried: declared ones, and those that hold something."""
        return sorted({*self.known_tables, *(name.partition(".")[0] for name in self.held())})

    # Queries

    def session(
        self,
        narrowing: Narrowing | None = None,
        *,
        unsafe: bool = False,
        has_copies: bool = True,
        timeout_seconds: float | None = None,
        limits: Limits | None = None,
        on_fetch: OnFetch = lambda _: None,
        version: Version = NOW,
        hides_places: bool = False,
    ) -> Session:
        """A session for queries over what is there now, or at another `version`, or over a part of it; close it.

        Without copies, materialized schemas are read from the files that they are copies of. A statement that takes
        longer than `timeout_seconds` fails with `TimeLimitError`. `limits` bounds what a statement fetches from
        stores, and `on_fetch` is called with how far a fetch is. With `hides_places`, statements that show paths
        of this machine are refused.
        """
        return self.data.session(
            narrowing,
            is_unsafe=unsafe,
            has_copies=has_copies,
            timeout_seconds=timeout_seconds,
            limits=limits,
            on_fetch=on_fetch,
            version=version,
            hides_places=hides_places,
        )

    @cached_property
    def saved(self) -> Mapping[str, SavedQuery]:
        """All saved queries by name. One of the config hides one of a plugin."""
        return ChainMap(self.config.queries, self.registry.queries)  # type: ignore[arg-type] # they are only read

    def query(
        self,
        sql: str | SavedQuery,
        params: Params | None = None,
        *,
        timeout_seconds: float | None = None,
        as_of: datetime | str | None = None,
        tag: str | None = None,
    ) -> pa.Table:
        """The answer to one statement or saved query, as an Arrow table of plain types.

        It is about what is there now, `as_of` a time, or by a `tag`.
        `params` are the values of its `$name` parameters, by name.
        """
        version = Version.parse(as_of, tag, now=datetime.now(UTC))
        if isinstance(sql, SavedQuery):
            params = sql.values(params or {}, now=datetime.now(UTC))
        with self.session(timeout_seconds=timeout_seconds, version=version) as session:
            return session.run(sql.text if isinstance(sql, SavedQuery) else sql, params).table()

    def spark(self, table: str) -> DataFrame:
        """The rows of a table, or of `schema.table`, as a lazy Spark DataFrame over the files that are live now.

        The session stays open; `frame.sparkSession.stop()` ends it.
        """
        from tailpipe.query.on_spark import frame_of

        spark = self._engines.spark()
        with self.session(has_copies=False) as session:
            return frame_of(session, table, lambda: spark.session, self.data.bring)

    def spark_queries(
        self,
        narrowing: Narrowing | None = None,
        *,
        timeout_seconds: float | None = None,
        limits: Limits | None = None,
        on_fetch: OnFetch = lambda _: None,
        version: Version = NOW,
    ) -> AbstractContextManager[SparkQueries]:
        """Queries on Spark over what is there now; Spark is started by the first of them."""
        from tailpipe.query.on_spark import queries

        session = self.session(
            narrowing,
            has_copies=False,
            timeout_seconds=timeout_seconds,
            limits=limits,
            on_fetch=on_fetch,
            version=version,
        )
        return queries(self._engines.spark(has_queries=True), session, self.data.address)

    def connect(self, wish: Wish | None = None) -> Path:
        """A DuckDB database with views over the live files, which every later commit replaces."""
        return self.data.databases().make(wish)

    def connect_script(self, database: Path) -> Path:
        """A script that attaches that database, for clients which start with one."""
        return self.data.databases().script(database)

    # Engines

    def _warn(self, text: str) -> None:
        self._say(f"warning: {text}")

    def kept_engine(self) -> SparkEngine:
        """Spark for many verbs, started by the first job that needs it: give it to a workspace, and close it."""
        return self._engines.spark(is_kept=True)

    @cached_property
    def _engines(self) -> Engines:
        return Engines(self.data, self.environment.cache_dir, is_command=self._is_command)

    def _working(
        self, emit: Emit = lambda _: None, *, is_read_only: bool = False
    ) -> AbstractContextManager[tuple[Catalog, Engine]]:
        return self._engines.working(self.engine, emit, is_read_only=is_read_only)
