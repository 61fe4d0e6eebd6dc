"""Collect: run sources, commit days, expire and compact, push, and record the history."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from tailpipe.config.config import choose, choose_ready
from tailpipe.home.home import Home
from tailpipe.model.request import Collect
from tailpipe.model.window import Window, day_before

if TYPE_CHECKING:  # each operation loads what it needs, so that none waits for the others
    from pyspark.sql import DataFrame

    from tailpipe.catalog.catalog import Catalog
    from tailpipe.collect.events import Report
    from tailpipe.collect.job import Emit
    from tailpipe.collect.planner import Planned
    from tailpipe.model.maintenance import Maintenance
    from tailpipe.model.partition import Partition

__all__ = ["Collect", "collect", "maintain", "preview", "scan"]


def collect(home: Home, request: Collect, emit: Emit = lambda _: None) -> Report:
    """Collect partitions, each day atomically; then expire and compact them, push, and record what it took."""
    pushing = home.stores.pushing(is_off=not request.push)
    with home.working(emit) as (catalog, engine):
        chosen, started = choose_ready(home.config, home.tables, request.partitions, request.source), engine.started
        if not all(catalog.is_known(partition.address) for partition, _ in chosen):
            engine.prepare()  # a first run has something to collect, as a rule
        from tailpipe.collect.collect import collect  # Java starts meanwhile
        from tailpipe.collect.events import Started
        from tailpipe.collect.job import Job
        from tailpipe.lifecycle.maintain import maintain

        addresses = [partition.address for partition, _ in chosen]
        if pushing is not None:
            if not engine.shares_disk:
                pushing.lands = True
                engine.expect(pushing.stores_of(addresses))
            pushing.before_run(catalog, addresses)
        report = collect(
            home.config, [Job(*pair, catalog, engine, request, emit, pushes=pushing) for pair in chosen], engine
        )
        if engine.started is not None and engine.started is not started:
            report = report.with_start(engine.started)
        if request.maintain:
            emit(Started("", "cleaning up"))
            landing_of = pushing.landing if pushing else lambda _: None
            report = report.after(
                lambda one, pair: maintain(
                    catalog, engine, *pair, request, one.units if request.compact else (), landing_of
                ),
                chosen,
                engine.cpu_seconds,
            )
        if pushing is not None and (request.push or not request.is_cycle):
            emit(Started("", "pushing"))
            report = report.with_pushes(pushing.finish(catalog, addresses))
        _note_history(home, catalog, report, request.now)
    is_idle = request.is_cycle and not any(one.committed for one in report.partitions)
    return home.followers.refresh_copies(report, is_changed=not is_idle)


def maintain(home: Home, units: Mapping[str, Collection[str]], emit: Emit = lambda _: None) -> dict[str, Maintenance]:
    """Expire days of partitions of the config, and compact their named units where that pays."""
    from tailpipe.collect.events import Started
    from tailpipe.lifecycle.maintain import maintain

    with home.working(emit) as (catalog, engine):
        request, landing_of, done = Collect(datetime.now(UTC)), home.landing_of(engine), {}
        for partition, table in choose(home.config, home.tables, list(units)):
            chosen = units[partition.address]
            done[partition.address] = maintain(catalog, engine, partition, table, request, chosen, landing_of)
            emit(Started(partition.address, "cleaning up"))
    is_changed = any(one.compacted_files or one.expired_days for one in done.values())
    return home.followers.refresh_copies(done, is_changed=is_changed)


def preview(home: Home, request: Collect) -> list[tuple[Partition, Planned]]:
    """The plan of a collection; nothing is changed."""
    from tailpipe.collect.collect import preview
    from tailpipe.collect.job import Job

    with home.working() as (catalog, engine):
        chosen = choose_ready(home.config, home.tables, request.partitions, request.source)
        return preview([Job(*pair, catalog, engine, request) for pair in chosen], home.warn)


def scan(home: Home, partition: str, window: Window) -> DataFrame:
    """The standardised rows of a window as a lazy Spark DataFrame, equal to what collecting would store.

    The session stays open; `frame.sparkSession.stop()` ends it.
    """
    from tailpipe.collect.scan import tasks_to_scan
    from tailpipe.spark.scan import scan_tasks

    spark = home.spark()
    with home.catalog() as catalog:
        [(chosen, table)] = choose_ready(home.config, home.tables, partition)
        request = Collect(datetime.now(UTC), window)
        tasks = tasks_to_scan(chosen, table, catalog, home.engine or spark, request, home.warn)
    return scan_tasks(spark.session, tasks)


def _note_history(home: Home, catalog: Catalog, report: Report, now: datetime) -> None:
    """Record in the history what runs took after their end, and forget what is older than it keeps."""
    from tailpipe.catalog.runs import amend_profile, prune

    late = [one for one in report.partitions if one.run and set(one.profile) & {"start", "compact", "push"}]
    if late:
        amend_profile(catalog.database, [(one.run or 0, one.profile) for one in late])
    oldest = datetime.combine(day_before(home.settings.workspace.run_history, now=now), time.min, UTC)
    prune(catalog.database, [one.partition for one in report.partitions], oldest)
