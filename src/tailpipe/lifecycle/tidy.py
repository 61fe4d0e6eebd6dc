"""Tidy up after a collection: drop what has expired, then put together the small files of the days it touched."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.plan import Ask
from tailpipe.errors import TailpipeError
from tailpipe.lifecycle.compact import Engine, Subject, compact
from tailpipe.lifecycle.policy import Wanted
from tailpipe.lifecycle.retain import expire, preview, why_not_yet
from tailpipe.model.partition import Partition
from tailpipe.model.table import Table
from tailpipe.model.tidied import Tidied

__all__ = ["tidy"]


def tidy(
    catalog: Catalog, engine: Engine, partition: Partition, table: Table, ask: Ask, units: Collection[str]
) -> Tidied:
    """Do both, for the units that a run has committed; what was collected is safe, so a failure is only told."""
    done = Tidied()
    try:
        done = _expire(catalog, partition, ask)
        if units:
            wanted = Wanted(units=units, today=ask.today)
            made = compact(catalog, engine, Subject(partition.address, table, wanted=wanted))
            done = replace(done, files=made.files, new_files=made.new_files or 0)
    except TailpipeError as error:
        done = replace(done, notes=(*done.notes, f"cleanup failed: {error.message}"))
    return done


def _expire(catalog: Catalog, partition: Partition, ask: Ask) -> Tidied:
    if partition.retention is None:
        return Tidied()
    oldest = partition.retention.oldest(ask.now)
    notes: tuple[str, ...] = ()
    if ask.window is not None and ask.window.start.date() < oldest:
        # They were asked for: to drop them in the same breath would make fun of whoever did.
        notes = (
            f"days before {oldest} are older than {partition.retention.keep}: the next run without --from drops them",
        )
        oldest = ask.window.start.date()
    if why := why_not_yet(catalog, ask.now):
        if preview(catalog, partition.address, oldest).dates:
            notes = (
                *notes,
                f"nothing expired: {why}; if it is right, run: tailpipe expire {partition.address} --force",
            )
        return Tidied(notes=notes)
    gone = expire(catalog, partition.address, oldest)
    return Tidied(gone.dates, gone.rows, notes=notes)
