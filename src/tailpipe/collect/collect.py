"""Collect partitions one after the other, in one session of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect import events
from tailpipe.collect.check import check_sql
from tailpipe.collect.engine import Engine
from tailpipe.collect.planner import Planned
from tailpipe.collect.run import Options, PartitionRun
from tailpipe.collect.types import known_types
from tailpipe.config.config import Config
from tailpipe.errors import StorageError, TailpipeError
from tailpipe.kernel.evolve import evolve
from tailpipe.model.option import secrets_in
from tailpipe.model.partition import Partition
from tailpipe.model.redaction import Redactor
from tailpipe.model.table import Table

__all__ = ["collect", "preview"]

Chosen = Sequence[tuple[Partition, Table]]


def collect(
    config: Config,
    chosen: Chosen,
    catalog: Catalog,
    engine: Engine,
    options: Options,
    emit: Callable[[events.Event], None],
) -> events.Report:
    """Collect what was chosen. One partition that cannot be collected does not keep the others from it."""
    check_sql(config, chosen)
    summaries: list[events.Summary] = []
    emit(events.Opened(len(chosen)))
    for partition, table in chosen:
        run = PartitionRun(partition, table, catalog, engine, options, emit)
        try:
            _check_columns(table, catalog)
            summaries.append(run.run())
        except StorageError:
            raise  # a full disk is full for the others too
        except TailpipeError as error:
            told = Redactor(secrets_in(partition))(error.with_hint)
            done = events.Summary(partition.address, tuple(run.committed), tuple(run.failed.values()))
            summaries.append(replace(done, error=told))
    return events.Report(tuple(summaries))


def preview(chosen: Chosen, catalog: Catalog, engine: Engine, options: Options) -> list[tuple[Partition, Planned]]:
    """What collecting would do; nothing is changed."""
    return [
        (partition, PartitionRun(partition, table, catalog, engine, options, lambda _: None).plan())
        for partition, table in chosen
    ]


def _check_columns(table: Table, catalog: Catalog) -> None:
    """Refuse a table whose columns changed so that old and new files could not be read together."""
    sets = catalog.column_sets(table=table.name)
    types = known_types(sets, table)
    for columns in sets.values():
        for change in evolve(columns, table, types):
            if change.verdict == "refused":
                raise TailpipeError(change.message)
