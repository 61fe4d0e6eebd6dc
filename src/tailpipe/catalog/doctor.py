"""The doctor: compare the disk with the catalog, and report what differs."""

from __future__ import annotations

from pathlib import Path

from tailpipe.catalog import findings
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.findings import REBUILD, Finding
from tailpipe.catalog.rebuild import Rebuilt, rebuild
from tailpipe.catalog.repair import Repaired, repair
from tailpipe.catalog.store import Store, storage_errors
from tailpipe.errors import CatalogError, NewerError

__all__ = ["Finding", "Rebuilt", "Repaired", "examine", "rebuild", "repair"]


def examine(home: Path, *, data: Path | None = None, with_checksums: bool = False) -> list[Finding]:
    """Everything that differs; reading all bytes again only if asked to. Changes nothing, takes no lock."""
    try:
        with Catalog.open(home, data=data, is_read_only=True, may_be_lost=True) as catalog, storage_errors(home):
            return _findings(catalog.store, with_checksums)
    except NewerError:
        raise  # a rebuild by this version would make it worse
    except CatalogError as problem:
        return [Finding("damaged", problem.path, problem.message, repair=REBUILD)]


def _findings(store: Store, with_checksums: bool) -> list[Finding]:
    if found := list(findings.damage(store)):
        return found
    found += findings.unknown(store)
    for name in findings.partitions(store):
        found += findings.stored(store, name, with_checksums)
        found += findings.lost(store, name)
        found += findings.hive(store, name, with_checksums)
        found += findings.unstored(store, name)
        found += findings.transactions(store, name, with_checksums)
    return found
