"""Facts that the catalog knows: partitions, coverage, runs, rejected rows, tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.home.home import Home
from tailpipe.model.selector import Selection

if TYPE_CHECKING:
    from tailpipe.catalog.overview import Overview
    from tailpipe.catalog.run_record import RunRecord
    from tailpipe.model.coverage import Coverage, DaySet


def overview(home: Home) -> list[Overview]:
    """All partitions that the catalog knows, with their contents, coverage and last run."""
    with_store = {name for name in home.config.partitions if home.stores.of(name)}
    return home.read(lambda catalog: catalog.overview(with_store), [])


def runs(
    home: Home, partitions: Selection = (), limit: int | None = None, *, is_failed: bool = False
) -> list[RunRecord]:
    """The newest runs of the selected partitions, or of all, newest first; or of those that did not succeed."""
    from tailpipe.catalog.runs import runs

    names = home.select(partitions) if partitions else None
    return home.read(lambda catalog: runs(catalog.database, names, limit, is_failed=is_failed), [])


def coverage(home: Home, partition: str) -> Mapping[str, Coverage]:
    """The coverage of each source of a partition."""
    return home.read(lambda catalog: catalog.coverage(partition), {})


def days_out_of_window(home: Home, partition: str) -> DaySet | None:
    """The days of rows of a partition that were read and not stored, because no run had requested them."""
    return home.read(lambda catalog: catalog.left_out(partition), None)


def rejected(home: Home, partition: str) -> list[Path]:
    """The files that hold the rejected rows of a partition, those of the newest day first."""
    return home.read(lambda catalog: list(catalog.rejected_files(partition).values()), [])


def table_names(home: Home) -> list[str]:
    """The names of all tables that can be queried: declared ones, and those that hold data."""
    return sorted({*home.tables, *(name.partition(".")[0] for name in home.held())})
