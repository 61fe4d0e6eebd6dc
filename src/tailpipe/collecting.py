"""Collecting logs: what a run does from opening the catalog to its history, and what it would do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from tailpipe.config.chosen import choose, choose_ready
from tailpipe.config.config import Config
from tailpipe.data import Data
from tailpipe.frozen import frozen
from tailpipe.model.selector import Selection
from tailpipe.model.table import Table
from tailpipe.model.window import Window, day_before

if TYPE_CHECKING:  # each verb loads what it needs, so that none waits for the others
    from pyspark.sql import DataFrame

    from tailpipe.catalog.catalog import Catalog
    from tailpipe.collect.events import Report
    from tailpipe.collect.job import Emit, Working
    from tailpipe.collect.planner import Planned
    from tailpipe.collect.trial import SourceTrial
    from tailpipe.kernel.engine import Engine
    from tailpipe.model.maintenance import Maintenance
    from tailpipe.model.partition import Partition
    from tailpipe.spark.engine import SparkEngine

__all__ = ["Collecting", "Steps", "check_config_sql", "try_source"]


@frozen
class Steps:
    """What follows the collection itself; if it `is_cycle`, the run is one of many."""

    with_compaction: bool = True
    with_maintenance: bool = True
    with_push: bool = True
    is_cycle: bool = False


@frozen
class Collecting:
    """How logs become data; one method for each verb."""

    data: Data
    working: Working
    """Opens the catalog, and the engine that runs its jobs."""

    def collect(
        self,
        partitions: Selection,
        window: Window | None,
        steps: Steps,
        *,
        overwrite: bool,
        accept_loss: bool,
        fill: bool,
        skip_bad_artifacts: bool,
        source: str | None,
        command: str,
        emit: Emit,
    ) -> Report:
        """Collect the selected partitions, clean up after it, push, and record what it took."""
        config, pushing = self.data.config, self.data.pushing(is_off=not steps.with_push)
        with self.working(emit) as (catalog, engine):
            chosen, started = choose_ready(config, self.data.tables, partitions, source), engine.started
            if not all(catalog.is_known(partition.address) for partition, _ in chosen):
                engine.prepare()  # a first run has something to collect, as a rule
            from tailpipe.collect.collect import collect  # Java starts meanwhile
            from tailpipe.collect.events import Started
            from tailpipe.collect.run import Options
            from tailpipe.lifecycle.maintain import maintain
            from tailpipe.model.request import CollectRequest

            request = CollectRequest(datetime.now(UTC), window, overwrite, fill=fill, accept_loss=accept_loss)
            landings = pushing if pushing and not engine.shares_disk else None
            options = Options(
                request, skip_bad_artifacts, source, command, pushes=pushing, landings=landings, is_cycle=steps.is_cycle
            )
            addresses = [partition.address for partition, _ in chosen]
            if landings is not None:
                engine.expect(landings.stores_of(addresses))
            if pushing is not None:
                pushing.before_run(catalog, addresses)
            report = collect(config, chosen, catalog, engine, options, emit)
            if engine.started is not None and engine.started is not started:
                report = report.with_start(engine.started)
            landing_of = landings.landing if landings else lambda _: None
            if steps.with_maintenance:
                emit(Started("", "cleaning up"))
                report = report.after(
                    lambda one, pair: maintain(
                        catalog, engine, *pair, request, one.units if steps.with_compaction else (), landing_of
                    ),
                    chosen,
                    engine.cpu_seconds,
                )
            if pushing is not None and (steps.with_push or not steps.is_cycle):
                emit(Started("", "pushing"))
                report = report.with_pushes(pushing.finish(catalog, addresses))
            self._note_history(catalog, report, request.now)
        return self.data.followed(report, steps.is_cycle and not any(one.committed for one in report.partitions))

    def maintain(self, units: Mapping[str, Collection[str]], emit: Emit) -> dict[str, Maintenance]:
        """Drop what has expired of partitions of the config, and compact their named units where that pays."""
        from tailpipe.collect.events import Started
        from tailpipe.lifecycle.maintain import maintain
        from tailpipe.model.request import CollectRequest

        with self.working(emit) as (catalog, engine):
            pushing = self.data.pushing() if not engine.shares_disk else None
            landing_of = pushing.landing if pushing else lambda _: None
            request, done = CollectRequest(datetime.now(UTC)), {}
            for partition, table in choose(self.data.config, self.data.tables, list(units)):
                chosen = units[partition.address]
                done[partition.address] = maintain(catalog, engine, partition, table, request, chosen, landing_of)
                emit(Started(partition.address, "cleaning up"))
        return self.data.followed(done, not any(one.compacted_files or one.expired_days for one in done.values()))

    def preview(
        self,
        partitions: Selection,
        window: Window | None,
        *,
        overwrite: bool,
        fill: bool,
        source: str | None,
        warn: Callable[[str], None],
    ) -> list[tuple[Partition, Planned]]:
        """What collecting would do; nothing is changed."""
        from tailpipe.collect.collect import preview
        from tailpipe.collect.run import Options
        from tailpipe.model.request import CollectRequest

        request = CollectRequest(datetime.now(UTC), window, overwrite, fill=fill)
        with self.working() as (catalog, engine):
            chosen = choose_ready(self.data.config, self.data.tables, partitions, source)
            return preview(chosen, catalog, engine, Options(request, source=source), warn)

    def scan(
        self, partition: str, window: Window, spark: SparkEngine, planner: Engine, warn: Callable[[str], None]
    ) -> DataFrame:
        """The standardised rows of a window as a lazy Spark DataFrame."""
        from tailpipe.collect.scan import tasks_to_scan
        from tailpipe.model.request import CollectRequest
        from tailpipe.spark.scan import scan_tasks

        with self.data.catalog() as catalog:
            [(chosen, table)] = choose_ready(self.data.config, self.data.tables, partition)
            request = CollectRequest(datetime.now(UTC), window)
            tasks = tasks_to_scan(chosen, table, catalog, planner, request, warn)
        return scan_tasks(spark.session, tasks)

    def _note_history(self, catalog: Catalog, report: Report, now: datetime) -> None:
        """Record in the history what runs took after their end, and forget what is older than it keeps."""
        from tailpipe.catalog.runs import amend_profile, prune

        late = [one for one in report.partitions if one.run and set(one.profile) & {"start", "compact", "push"}]
        if late:
            amend_profile(catalog.database, [(one.run or 0, one.profile) for one in late])
        oldest = datetime.combine(day_before(self.data.settings.workspace.run_history, now=now), time.min, UTC)
        prune(catalog.database, [one.partition for one in report.partitions], oldest)


def try_source(
    config: Config,
    tables: Mapping[str, Table],
    partition: str,
    source: str | None,
    *,
    start: str | None,
    end: str | None,
    limit: int,
    warn: Callable[[str], None],
) -> SourceTrial:
    """What a source of one partition lists, and what the newest artifact becomes; nothing is written."""
    from tailpipe.collect.check import check_sql
    from tailpipe.collect.trial import try_source

    chosen = choose_ready(config, tables, partition, source)
    check_sql(config, chosen)
    return try_source(*chosen[0], source, (start, end), limit, datetime.now(UTC), warn)


def check_config_sql(config: Config, tables: Mapping[str, Table]) -> None:
    """Raise `ConfigError` with every problem in the SQL of partitions, their tables, schemas and detections."""
    from tailpipe.collect.check import check_sql
    from tailpipe.detect.check import check_detections
    from tailpipe.query.check import check_schemas

    others = [*check_schemas(config, tables), *check_detections(config, tables)]
    check_sql(config, choose(config, tables, ()), others, config.tables.values())
