"""Maintain a partition after a collection: drop expired days, then merge small files of new days where that pays."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from tailpipe.catalog.catalog import Catalog
from tailpipe.errors import TailpipeError
from tailpipe.kernel.engine import Engine
from tailpipe.lifecycle.compact import Subject, compact
from tailpipe.lifecycle.policy import Wanted
from tailpipe.lifecycle.retain import expire, preview, why_not_yet
from tailpipe.model.maintenance import Maintenance
from tailpipe.model.partition import Partition
from tailpipe.model.request import Collect
from tailpipe.model.table import Table

if TYPE_CHECKING:
    from tailpipe.lifecycle.compact import LandingOf


def maintain(
    catalog: Catalog,
    engine: Engine,
    partition: Partition,
    table: Table,
    request: Collect,
    units: Collection[str],
    landing_of: LandingOf = lambda _: None,
) -> Maintenance:
    """Do both, for the units that a run has committed; what was collected is safe, so a failure is only reported."""
    done = Maintenance()
    try:
        done = _expire(catalog, partition, request)
        if units:
            wanted = Wanted(units=units, is_full_pass=False)
            landing = landing_of(partition.address)
            made = compact(catalog, engine, Subject(partition.address, table, wanted=wanted), landing)
            done = replace(done, compacted_files=made.files, new_files=made.new_files or 0)
    except TailpipeError as error:
        done = replace(done, warnings=(*done.warnings, f"maintenance failed: {error.message}"))
    return done


def _expire(catalog: Catalog, partition: Partition, request: Collect) -> Maintenance:
    if partition.retention is None:
        return Maintenance()
    oldest = partition.retention.oldest(request.now)
    warnings: tuple[str, ...] = ()
    if request.window is not None and request.window.start.date() < oldest:
        # They were requested by this very run.
        keep = partition.retention.keep
        warnings = (f"days before {oldest} exceed the retention of {keep}; the next run without --from deletes them",)
        oldest = request.window.start.date()
    if why := why_not_yet(catalog, request.now):
        if preview(catalog, partition.address, oldest).dates:
            warnings = (
                *warnings,
                f"no days expired: {why}; if the clock is right, run: tailpipe expire {partition.address} --force",
            )
        return Maintenance(warnings=warnings)
    gone = expire(catalog, partition.address, oldest)
    return Maintenance(gone.dates, gone.rows, warnings=warnings)
