"""The workspace: config, plugins and data, opened; one short method for each verb."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.commit import Committed
from tailpipe.catalog.delete import Deletion
from tailpipe.catalog.doctor import Finding, Repaired
from tailpipe.catalog.layout import Layout, foreign_data
from tailpipe.catalog.read import PartitionState, PartitionTotals, Snapshot
from tailpipe.catalog.rebuild import Rebuilt, rebuild
from tailpipe.config.config import Config
from tailpipe.config.environment import Environment, Settings
from tailpipe.config.functions import Surroundings
from tailpipe.config.loader import load_config
from tailpipe.errors import UsageError, WorkspaceError
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.format import Format
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.selector import select
from tailpipe.model.table import Table
from tailpipe.model.window import Window
from tailpipe.plugin import Registry

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tailpipe.catalog.overview import Overview
    from tailpipe.catalog.plan import Ask
    from tailpipe.collect.events import Event, Report
    from tailpipe.collect.planner import Planned
    from tailpipe.kernel.trial import Trial
    from tailpipe.lifecycle.compact import Compacted
    from tailpipe.lifecycle.retain import Expired
    from tailpipe.model.partition import Partition
    from tailpipe.query.databases import Databases, Wish
    from tailpipe.query.narrowing import Narrowing
    from tailpipe.query.on_spark import SparkQueries
    from tailpipe.query.session import Session
    from tailpipe.spark.engine import SparkEngine

__all__ = ["Workspace"]

Say = Callable[[str], None]


class Workspace:
    """What a command works with. Config is read, and directories are made, when they are first needed."""

    def __init__(self, environment: Environment, registry: Registry, say: Say = lambda _: None) -> None:
        self.environment = environment
        self.registry = registry
        self._say = say

    @classmethod
    def open(
        cls,
        *,
        config_path: str | None = None,
        workspace: str | None = None,
        env: Mapping[str, str] | None = None,
        say: Say = lambda _: None,
    ) -> Workspace:
        """The workspace that flags and environment name; `say` gets what a person should know."""
        surroundings = os.environ if env is None else env
        environment = Environment.resolve(surroundings, config_path=config_path, workspace=workspace)
        return cls(environment, Registry.installed(), say)

    @cached_property
    def config(self) -> Config:
        """The config; on the first run its directory is made."""
        environment = self.environment
        if environment.has_own_config:
            self._make(*environment.config_paths)
        around = Surroundings(now=datetime.now(UTC), env=os.environ, home=str(environment.home))
        try:
            return load_config(environment.config_paths, self.registry, around)
        finally:
            for warning in self.registry.warnings:
                self._say(f"warning: {warning}")

    @cached_property
    def settings(self) -> Settings:
        """What holds for this run."""
        return Settings.resolve(self.environment, self.config)

    def collect(
        self,
        partitions: str | Iterable[str] = (),
        *,
        start: str | None = None,
        end: str | None = None,
        overwrite: bool = False,
        skip_bad_artifacts: bool = False,
        source: str | None = None,
        command: str = "",
        with_compaction: bool = True,
        emit: Callable[[Event], None] = lambda _: None,
    ) -> Report:
        """Collect the partitions that selectors mean, all without one; each day lands whole or not at all.

        Then what has expired is dropped, and the days that need it are compacted.
        """
        from tailpipe.collect.collect import collect
        from tailpipe.collect.events import Started
        from tailpipe.collect.run import Options
        from tailpipe.lifecycle.tidy import tidy

        options = Options(self._ask(start, end, overwrite), skip_bad_artifacts, source, command)
        layout = self.prepare()
        engine = self._engine(layout, emit)
        try:
            with self._catalog(layout) as catalog:
                chosen = self._chosen(partitions)
                report = collect(self.config, chosen, catalog, engine, options, emit)
                emit(Started("", "tidying up"))
                report = report.after(
                    lambda one, pair: tidy(catalog, engine, *pair, options.ask, one.units if with_compaction else ()),
                    chosen,
                )
        finally:
            engine.close()
        self.refresh_schemas()
        return report

    def preview(
        self,
        partitions: Iterable[str],
        *,
        start: str | None = None,
        end: str | None = None,
        overwrite: bool = False,
        source: str | None = None,
    ) -> list[tuple[Partition, Planned]]:
        """What collecting would do; nothing is changed."""
        from tailpipe.collect.collect import preview
        from tailpipe.collect.run import Options

        options = Options(self._ask(start, end, overwrite), source=source)
        layout = self.prepare()
        engine = self._engine(layout)
        try:
            with self._catalog(layout) as catalog:
                return preview(self._chosen(partitions), catalog, engine, options)
        finally:
            engine.close()

    def compact(
        self,
        partitions: Iterable[str],
        *,
        days: DaySet = EVERY_DAY,
        reindex: bool = False,
        dry_run: bool = False,
        emit: Callable[[Event], None] = lambda _: None,
    ) -> list[Compacted]:
        """Put small files together; a partition that the config no longer names is compacted too."""
        from tailpipe.collect.check import check_sql
        from tailpipe.lifecycle.compact import compact_all, subject_of

        known, tables = self.config.partitions, {**self.registry.tables, **self.config.tables}
        names = list(partitions)
        subjects = [subject_of(name, known.get(name), tables, days, reindex=reindex) for name in names]
        if reindex:
            check_sql(self.config, self._chosen(names))
        layout = self.prepare()
        if not is_begun(layout):
            return []
        with (
            closing(self._engine(layout, emit)) as engine,
            self._catalog(layout, is_read_only=dry_run) as catalog,
        ):
            done = compact_all(catalog, engine, subjects, dry_run=dry_run)
        if not dry_run:
            self.refresh_schemas()
        return done

    def expire(self, partitions: Iterable[str], *, dry_run: bool = False) -> list[Expired]:
        """Drop the days that are older than the retention of their partition; one without retention is left out."""
        from tailpipe.lifecycle import retain

        now, layout = datetime.now(UTC), self.prepare()
        known = self.config.partitions
        oldest = {name: one.retention.oldest(now) for name in partitions if (one := known.get(name)) and one.retention}
        if not is_begun(layout):
            return [retain.Expired(name, day) for name, day in oldest.items()]
        act = retain.preview if dry_run else retain.expire
        with self._catalog(layout, is_read_only=dry_run) as catalog:
            expired = [act(catalog, name, day) for name, day in oldest.items()]
        if not dry_run:
            self.refresh_schemas()
        return expired

    def overview(self) -> list[Overview]:
        """All partitions that the catalog knows, with what they hold, their coverage and their last run."""
        layout = self.prepare()
        if not is_begun(layout):
            return []
        with self._catalog(layout, is_read_only=True) as catalog:
            return catalog.overview()

    def scan(self, partition: str, window: Window) -> DataFrame:
        """The standardised rows of a window as a lazy Spark DataFrame, equal to what collecting would land.

        The session stays open; `frame.sparkSession.stop()` ends it.
        """
        from tailpipe.catalog.plan import Ask
        from tailpipe.collect.scan import tasks_to_scan
        from tailpipe.spark.scan import scan_tasks

        layout = self.prepare()
        engine = self._engine(layout)
        with self._catalog(layout) as catalog:
            [(chosen, table)] = self._chosen([partition])
            tasks = tasks_to_scan(chosen, table, catalog, engine, Ask(datetime.now(UTC), window))
        return scan_tasks(engine.session, tasks)

    def _catalog(self, layout: Layout, *, is_read_only: bool = False) -> Catalog:
        return Catalog.open(layout.home, data=layout.data, is_read_only=is_read_only, on_commit=self._committed)

    def _ask(self, start: str | None, end: str | None, overwrite: bool) -> Ask:
        from tailpipe.catalog.plan import Ask

        now = datetime.now(UTC)
        window = Window.parse(start, end, now=now) if start or end else None
        return Ask(now, window, overwrite)

    def _chosen(self, partitions: str | Iterable[str]) -> list[tuple[Partition, Table]]:
        selectors = [partitions] if isinstance(partitions, str) else partitions
        chosen = (self.config.partitions[name] for name in select(selectors, list(self.config.partitions)))
        tables = {**self.registry.tables, **self.config.tables}
        return [(partition, tables[partition.table]) for partition in chosen]

    def _engine(self, layout: Layout, emit: Callable[[Event], None] = lambda _: None) -> SparkEngine:
        from tailpipe.collect.events import Started
        from tailpipe.spark.engine import SparkEngine
        from tailpipe.spark.session import open_session

        def start() -> SparkSession:
            emit(Started("", "starting Spark"))
            return open_session(
                self.settings.workspace.spark,
                cache=self.environment.install_dir / "cache",
                log=layout.home / ".tailpipe" / "logs" / "spark.log",
            )

        return SparkEngine(start, layout.staging)

    def held(self) -> Mapping[str, PartitionTotals]:
        """How much each partition holds, by `table.partition`; also those that no config names any more."""
        layout = self.prepare()
        if not is_begun(layout):
            return {}
        with self._catalog(layout, is_read_only=True) as catalog:
            return {totals.name: totals for totals in catalog.partitions()}

    def check_sql(self) -> None:
        """Raise `ConfigError` with every problem in the SQL of the config's partitions, their tables and schemas."""
        from tailpipe.collect.check import check_sql
        from tailpipe.query.check import check_schemas

        tables = {**self.registry.tables, **self.config.tables}
        partitions = [(one, tables[one.table]) for one in self.config.partitions.values()]
        check_sql(self.config, partitions, check_schemas(self.config, tables))

    def state(self, partition: str) -> PartitionState:
        """What the catalog knows of a partition: coverage, ledger and losses."""
        layout = self.prepare()
        if not is_begun(layout):
            return PartitionState(partition)
        with self._catalog(layout, is_read_only=True) as catalog:
            return catalog.state(partition)

    def session(self, narrowing: Narrowing | None = None, *, unsafe: bool = False, has_copies: bool = True) -> Session:
        """A session for queries over what is there now, or over a part of it; close it.

        Without copies, materialized schemas are read from the files that they are copies of.
        """
        from tailpipe.query.session import Session

        snapshot, config = self._snapshot(), self.config
        if narrowing is not None:
            narrowing.check(snapshot.files, config.partitions)
        return Session(
            snapshot,
            {**self.registry.tables, **config.tables},
            schemas=config.schemas.values(),
            narrowing=narrowing,
            newer=self._newer,
            is_unsafe=unsafe,
            has_copies=has_copies,
        )

    def query(self, sql: str) -> pa.Table:
        """The answer to one statement, as an Arrow table."""
        with self.session() as session:
            return session.run(sql).table()

    def tables(self) -> list[str]:
        """The names of all tables that can be asked for: declared ones, and those that hold something."""
        held = {name.partition(".")[0] for name in self.held()}
        return sorted({*self.registry.tables, *self.config.tables, *held})

    def spark(self, table: str) -> DataFrame:
        """The rows of a table, or of `schema.table`, as a lazy Spark DataFrame over the files that are live now.

        The session stays open; `frame.sparkSession.stop()` ends it.
        """
        from tailpipe.query.on_spark import frame_of

        engine = self._engine(self.prepare())
        with self.session(has_copies=False) as session:
            return frame_of(session, table, lambda: engine.session)

    @contextmanager
    def spark_queries(self, narrowing: Narrowing | None = None) -> Iterator[SparkQueries]:
        """Queries on Spark over what is there now; Spark is started by the first of them."""
        from tailpipe.query.on_spark import SparkQueries

        engine = self._engine(self.prepare())
        try:
            with self.session(narrowing, has_copies=False) as session:
                yield SparkQueries(session, lambda: engine.session)
        finally:
            engine.close()

    def connect(self, wish: Wish | None = None) -> Path:
        """A DuckDB database with views over the live files, which every later commit replaces."""
        from tailpipe.query.databases import Wish

        return self._databases().make(wish or Wish())

    def client_statements(self, wish: Wish) -> list[str]:
        """The statements that make the views of a wish in a client's own database."""
        from tailpipe.query.client_views import listed_statements, live_statements
        from tailpipe.query.narrowing import Narrowing
        from tailpipe.query.views import table_views

        now, snapshot, schemas = datetime.now(UTC), self._snapshot(), self.config.schemas.values()
        narrowing = Narrowing.parse(wish.start, wish.end, wish.partitions, wish.indexes, now=now)
        tables = {**self.registry.tables, **self.config.tables}
        if wish.is_live:
            views = table_views(snapshot, tables)
            return live_statements(views, schemas, narrowing, self.settings.data_dir, now=now)
        return listed_statements(table_views(snapshot, tables, narrowing), schemas, now=now)

    def _databases(self) -> Databases:
        from tailpipe.query.databases import Databases

        return Databases(self.prepare(), self.client_statements)

    def _committed(self) -> None:
        """What is done after each commit: the databases of other clients follow."""
        databases = self._databases()
        if databases.layout.clients.is_dir():
            databases.refresh()

    def refresh_schemas(self) -> int:
        """Make anew the copies of materialized schemas that a commit touched, and drop old ones; how many were made."""
        from tailpipe.query.materialized import COPIES, refresh

        schemas, snapshot = self.config.schemas.values(), self._snapshot()
        if not any(schema.materialized for schema in schemas) and not (snapshot.root / COPIES).is_dir():
            return 0
        try:
            return refresh(snapshot, {**self.registry.tables, **self.config.tables}, schemas, now=datetime.now(UTC))
        except Exception as error:  # noqa: BLE001 - the views themselves still answer
            self._say(f"warning: a materialized schema could not be copied, its views are used instead: {error}")
            return 0

    def rejected(self, partition: str) -> list[Path]:
        """The files that hold the rejected rows of a partition, those of the newest Day first."""
        layout = self.prepare()
        if not is_begun(layout):
            return []
        with self._catalog(layout, is_read_only=True) as catalog:
            return list(catalog.rejected_files(partition).values())

    def _snapshot(self) -> Snapshot:
        layout = self.prepare()
        if not is_begun(layout):
            return Snapshot(layout.internal, (), {}, 0)
        with self._catalog(layout, is_read_only=True) as catalog:
            return catalog.snapshot()

    def _newer(self, sequence: int) -> Snapshot | None:
        layout = self.prepare()
        if not is_begun(layout):
            return None
        with self._catalog(layout, is_read_only=True) as catalog:
            return catalog.snapshot() if catalog.sequence() != sequence else None

    def format(self, name: str) -> Format:
        """The format that config names `type.name`: one of the config, or a preset."""
        known: dict[str, Format] = {**self.registry.presets, **self.config.formats}
        if name not in known and name in self.registry.formats:
            name = f"{name}.default"
        if name not in known:
            raise UsageError(f"format not found: {name}", hint=did_you_mean(name, known, "see: tailpipe format list"))
        return known[name]

    def table(self, name: str) -> Table:
        """The table of that name: one of the config, or of a plugin."""
        known = {**self.registry.tables, **self.config.tables}
        if name not in known:
            raise UsageError(f"table not found: {name}", hint=did_you_mean(name, known, "see: tailpipe table list"))
        return known[name]

    def try_file(self, path: Path, table: Table, format_: Format | None, limit: int) -> Trial:
        """What a table makes of one file; nothing is written."""
        from tailpipe.kernel.task import Reading, Task
        from tailpipe.kernel.trial import try_task

        chosen = format_ or table.format
        if chosen is None:
            raise UsageError(f'table "{table.name}" has no format of its own', hint="name one with --format")
        if not path.is_file():
            raise UsageError(f'there is no file "{path}"')
        source = self.registry.sources["file"](paths=(str(path),))  # type: ignore[call-arg] # it takes paths
        now = datetime.now(UTC)
        artifact = next(iter(source.artifacts(Window.of_day(now.date()))))
        reading = Reading(artifact, artifact.uri)
        return try_task(Task(f"{table.name}.test", table, source, chosen, (reading,), now), limit)

    def select(self, selectors: Iterable[str]) -> list[str]:
        """The partitions that selectors mean, of those in the config and those that hold data."""
        return select(selectors, sorted({*self.config.partitions, *self.held()}))

    def preview_deletion(self, partitions: Iterable[str], days: DaySet) -> list[Deletion]:
        """What deleting these days would take away; a partition that holds nothing is left out."""
        layout, held = self.prepare(), self.held()
        if not held:
            return []
        with self._catalog(layout, is_read_only=True) as catalog:
            return [catalog.preview_deletion(name, days) for name in partitions if name in held]

    def delete(self, partition: str, days: DaySet) -> Committed:
        """Delete days of a partition, in one transaction."""
        layout = self.prepare()
        with self._catalog(layout) as catalog:
            deleted = catalog.delete(partition, days)
        self.refresh_schemas()
        return deleted

    def examine(self, *, with_checksums: bool) -> list[Finding]:
        """What differs between the disk and the catalog; nothing if nothing was ever collected."""
        layout = self.prepare()
        if not is_begun(layout):
            return []
        return doctor.examine(layout.home, data=layout.data, with_checksums=with_checksums)

    def repair(self, *, with_checksums: bool) -> Repaired:
        """Mend what the doctor finds."""
        layout = self.prepare()
        return doctor.repair(layout.home, data=layout.data, with_checksums=with_checksums)

    def rebuild(self) -> Rebuilt:
        """Write the catalog anew from the manifests."""
        layout = self.prepare()
        return rebuild(layout.home, data=layout.data)

    def prepare(self) -> Layout:
        """Make the workspace's directory, or refuse one that holds someone else's data."""
        location = self.settings.location
        for directory in {location, self.settings.data_dir}:
            if (foreign := foreign_data(directory)) is not None:
                name = self.settings.workspace.name
                raise WorkspaceError(
                    f'"{directory}" holds data that is not ours: {foreign}',
                    path=str(directory),
                    hint=f'move it away, or name another directory: workspace "{name}" {{ location = "…" }}',
                )
        self._make(location, self.settings.data_dir)
        return Layout.of(location, self.settings.data_dir)

    def _make(self, *directories: Path) -> None:
        made: list[str] = []
        for directory in directories:
            try:
                if not directory.is_dir():
                    for missing in reversed([directory, *directory.parents]):
                        if not missing.exists():
                            missing.mkdir(mode=0o700)
                    made.append(str(directory))
            except OSError as error:
                hint = "name another place by TAILPIPE_INSTALL_DIR"
                message = f'cannot make "{directory}": {error.strerror}'
                raise WorkspaceError(message, path=str(directory), hint=hint) from error
        if made:
            self._say("created " + " and ".join(made))


def is_begun(layout: Layout) -> bool:
    """Whether anything was ever collected: there is a catalog, or manifests that remember one."""
    return layout.database.exists() or any(layout.manifests.glob("*.manifest"))
