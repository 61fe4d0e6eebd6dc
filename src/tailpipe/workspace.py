"""The workspace: config, plugins and data, opened; one short method for each verb."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
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
from tailpipe.model.coverage import DaySet
from tailpipe.model.format import Format
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.selector import select
from tailpipe.model.table import Table
from tailpipe.model.window import Window
from tailpipe.plugin import Registry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tailpipe.catalog.plan import Ask
    from tailpipe.collect.events import Event, Report
    from tailpipe.collect.planner import Planned
    from tailpipe.kernel.trial import Trial
    from tailpipe.model.partition import Partition
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
        partitions: Iterable[str],
        *,
        start: str | None = None,
        end: str | None = None,
        overwrite: bool = False,
        skip_bad_artifacts: bool = False,
        source: str | None = None,
        command: str = "",
        emit: Callable[[Event], None] = lambda _: None,
    ) -> Report:
        """Collect partitions, each day committed whole or not at all."""
        from tailpipe.collect.collect import collect
        from tailpipe.collect.run import Options

        options = Options(self._ask(start, end, overwrite), skip_bad_artifacts, source, command)
        layout = self.prepare()
        engine = self._engine(layout, emit)
        try:
            with Catalog.open(layout.home, data=layout.data) as catalog:
                return collect(self.config, self._chosen(partitions), catalog, engine, options, emit)
        finally:
            engine.close()

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
            with Catalog.open(layout.home, data=layout.data) as catalog:
                return preview(self._chosen(partitions), catalog, engine, options)
        finally:
            engine.close()

    def scan(self, partition: str, window: Window) -> DataFrame:
        """The standardised rows of a window as a lazy Spark DataFrame, equal to what collecting would land.

        The session stays open; `frame.sparkSession.stop()` ends it.
        """
        from tailpipe.catalog.plan import Ask
        from tailpipe.collect.scan import tasks_to_scan
        from tailpipe.spark.scan import scan_tasks

        layout = self.prepare()
        engine = self._engine(layout)
        with Catalog.open(layout.home, data=layout.data) as catalog:
            [(chosen, table)] = self._chosen([partition])
            tasks = tasks_to_scan(chosen, table, catalog, engine, Ask(datetime.now(UTC), window))
        return scan_tasks(engine.session, tasks)

    def _ask(self, start: str | None, end: str | None, overwrite: bool) -> Ask:
        from tailpipe.catalog.plan import Ask

        now = datetime.now(UTC)
        window = Window.parse(start, end, now=now) if start or end else None
        return Ask(now, window, overwrite)

    def _chosen(self, partitions: Iterable[str]) -> list[tuple[Partition, Table]]:
        chosen = (self.config.partitions[name] for name in partitions)
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
        with Catalog.open(layout.home, data=layout.data, is_read_only=True) as catalog:
            return {totals.name: totals for totals in catalog.partitions()}

    def check_sql(self) -> None:
        """Raise `ConfigError` with every problem in the SQL of the config's partitions and their tables."""
        from tailpipe.collect.check import check_sql

        tables = {**self.registry.tables, **self.config.tables}
        check_sql(self.config, [(one, tables[one.table]) for one in self.config.partitions.values()])

    def state(self, partition: str) -> PartitionState:
        """What the catalog knows of a partition: coverage, ledger and losses."""
        layout = self.prepare()
        if not is_begun(layout):
            return PartitionState(partition)
        with Catalog.open(layout.home, data=layout.data, is_read_only=True) as catalog:
            return catalog.state(partition)

    def session(self) -> Session:
        """A session for queries over all that is there now; close it."""
        from tailpipe.query.session import Session

        return Session(self._snapshot(), {**self.registry.tables, **self.config.tables})

    def rejected(self, partition: str) -> list[Path]:
        """The files that hold the rejected rows of a partition, those of the newest Day first."""
        layout = self.prepare()
        if not is_begun(layout):
            return []
        with Catalog.open(layout.home, data=layout.data, is_read_only=True) as catalog:
            return catalog.rejected_files(partition)

    def _snapshot(self) -> Snapshot:
        layout = self.prepare()
        if not is_begun(layout):
            return Snapshot(layout.internal, (), {}, 0)
        with Catalog.open(layout.home, data=layout.data, is_read_only=True) as catalog:
            return catalog.snapshot()

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
        with Catalog.open(layout.home, data=layout.data, is_read_only=True) as catalog:
            return [catalog.preview_deletion(name, days) for name in partitions if name in held]

    def delete(self, partition: str, days: DaySet) -> Committed:
        """Delete days of a partition, in one transaction."""
        layout = self.prepare()
        with Catalog.open(layout.home, data=layout.data) as catalog:
            return catalog.delete(partition, days)

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
