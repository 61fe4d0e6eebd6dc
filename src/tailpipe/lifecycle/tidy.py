"""Tidy up after a collection: drop what has expired, then merge small files of the days it touched where that pays."""

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
from tailpipe.model.partition import Partition
from tailpipe.model.request import CollectRequest
from tailpipe.model.table import Table
from tailpipe.model.tidied import Tidied

if TYPE_CHECKING:
    from tailpipe.lifecycle.compact import LandingOf

__all__ = ["tidy"]


def tidy(
    catalog: Catalog,
    engine: Engine,
    partition: Partition,
    table: Table,
    request: CollectRequest,
    units: Collection[str],
    landing_of: LandingOf = lambda _: None,
) -> Tidied:
    """Do both, for the units that a run has committed; what was collected is safe, so a failure is only reported."""
    done = Tidied()
    try:
        done = _expire(catalog, partition, request)
        if units:
            wanted = Wanted(units=units, is_full_pass=False)
            landing = landing_of(partition.address)
            made = compact(catalog, engine, Subject(partition.address, table, wanted=wanted), landing)
            done = replace(done, files=made.files, new_files=made.new_files or 0)
    except TailpipeError as error:
        done = replace(done, notes=(*done.notes, f"cleanup failed: {error.message}"))
    return done


def _expire(catalog: Catalog, partition: Partition, request: CollectRequest) -> Tidied:
    if partition.retention is None:
        return Tidied()
    oldest = partition.retention.oldest(request.now)
    notes: tuple[str, ...] = ()
    if request.window is not None and request.window.start.date() < oldest:
        # They were requested by this very run.
        notes = (
            f"days before {oldest} are older than {partition.retention.keep}: the next run without --from drops them",
        )
        oldest = request.window.start.date()
    if why := why_not_yet(catalog, request.now):
        if preview(catalog, partition.address, oldest).dates:
            notes = (
                *notes,
                f"nothing expired: {why}; if it is right, run: tailpipe expire {partition.address} --force",
            )
        return Tidied(notes=notes)
    gone = expire(catalog, partition.address, oldest)
    return Tidied(gone.dates, gone.rows, notes=notes)
