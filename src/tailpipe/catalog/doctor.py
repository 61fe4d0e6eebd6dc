"""The doctor: compare the disk with the catalog, and report what differs."""

from __future__ import annotations

from pathlib import Path

from tailpipe.catalog import findings
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.database import Database, storage_errors
from tailpipe.catalog.findings import REBUILD, Finding
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.rebuild import Rebuilt, rebuild
from tailpipe.catalog.repair import Repaired, repair
from tailpipe.errors import CatalogError, NewerError

__all__ = ["Finding", "Rebuilt", "Repaired", "examine", "rebuild", "repair"]


def examine(home: Path | Layout, *, data: Path | None = None, with_checksums: bool = False) -> list[Finding]:
    """All differences between disk and catalog, without a change or a lock; `with_checksums` reads all bytes."""
    layout = Layout.of(home, data)
    try:
        with Catalog.open(layout, is_read_only=True, may_be_lost=True) as catalog, storage_errors(layout.home):
            return _findings(catalog.database, with_checksums)
    except NewerError:
        raise  # a rebuild by this version would make it worse
    except CatalogError as problem:
        return [Finding("damaged", problem.path, problem.message, repair=REBUILD)]


def _findings(database: Database, with_checksums: bool) -> list[Finding]:
    if found := list(findings.damage(database)):
        return found
    found += findings.unknown(database)
    for name in findings.partitions(database):
        if unmounted := list(findings.unmounted(database, name)):
            found += unmounted
            continue
        found += findings.stored(database, name, with_checksums)
        found += findings.lost(database, name)
        found += findings.hive(database, name, with_checksums)
        found += findings.unstored(database, name)
        found += findings.transactions(database, name, with_checksums)
    return found
