"""Publish a committed transaction: manifest, hive, mark, staging; every step can be done again."""

from __future__ import annotations

from pathlib import Path

from tailpipe.catalog import head
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.database import Database
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.project import drain, project


def publish(database: Database, manifest: Manifest) -> None:
    """Do what comes after the commit, in the order in which a recovery can take it up."""
    _write_manifest(database, manifest, database.layout.manifest(manifest.transaction))
    project(database, manifest.transaction, [*(file.path for file in manifest.added), *manifest.removed])
    database.failpoints.reach("publish.before")
    workspace, home = head.workspace_of(database.connection) or "", str(database.layout.home)
    newest = head.Head(workspace, home, manifest.partition, manifest.transaction, manifest.sequence)
    draft = head.draft(database, newest, database.layout.staging / manifest.transaction / "head")
    with database.writing() as connection:
        head.advance(database, newest, draft)
        connection.execute(
            "UPDATE transactions SET state = 'published', record = NULL WHERE name = ? AND state = 'committed'",
            (manifest.transaction,),
        )
    database.failpoints.reach("publish.after")
    drop_staging(database, manifest.transaction)


def drop_staging(database: Database, transaction: str) -> None:
    """Remove the staging directory of a transaction that is over."""
    database.failpoints.reach("staging.remove")
    drain(database, transaction)
    remove_staging(database, transaction)
    database.failpoints.reach("staging.removed")


def remove_staging(database: Database, transaction: str) -> None:
    """Remove what a transaction has in staging, on all disks that are there."""
    for root in database.layout.all_roots():
        if database.tree.is_directory(place := database.layout.staging_in(root) / transaction):
            database.tree.remove_tree(place)


def write_dropped(database: Database, manifest: Manifest) -> None:
    """Record a dropped transaction under a name that is not that of a manifest; it can be repeated."""
    _write_manifest(database, manifest, database.layout.dropped(manifest.transaction))
    database.storage.delete(database.layout.manifest(manifest.transaction))
    drop_staging(database, manifest.transaction)


def _write_manifest(database: Database, manifest: Manifest, target: Path) -> None:
    if database.storage.exists(target):
        return
    draft = database.layout.staging / manifest.transaction / "manifest"
    database.tree.make_directory(draft.parent)
    database.tree.delete(draft)  # what a killed process has left is protected, and only root could write over it
    manifests.write([manifest], draft)
    database.tree.protect(draft)
    database.tree.sync(draft)
    database.failpoints.reach("manifest.written")
    database.storage.put_file(draft, target, if_absent=True)
    database.storage.settle({target.parent})
    database.failpoints.reach("manifest.after")
