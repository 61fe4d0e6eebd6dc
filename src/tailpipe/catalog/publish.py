"""Publish a committed transaction: manifest, hive, mark, staging; every step can be done again."""

from __future__ import annotations

from tailpipe.catalog import head
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.project import drain, project
from tailpipe.catalog.store import Store
from tailpipe.model.manifest import Manifest

__all__ = ["drop_staging", "publish"]


def publish(store: Store, manifest: Manifest) -> None:
    """Do what comes after the commit, in the order in which a recovery can take it up."""
    _write_manifest(store, manifest)
    project(store, manifest.transaction, [*(file.path for file in manifest.added), *manifest.removed])
    store.failpoints.reach("publish.before")
    newest = head.of(store, manifest.partition, manifest.transaction, manifest.sequence)
    draft = head.draft(store, newest, store.layout.staging / manifest.transaction / "head")
    with store.writing() as connection:
        head.advance(store, newest, draft)
        connection.execute(
            "UPDATE transactions SET state = 'published', record = NULL WHERE name = ? AND state = 'committed'",
            (manifest.transaction,),
        )
    store.failpoints.reach("publish.after")
    drop_staging(store, manifest.transaction)


def drop_staging(store: Store, transaction: str) -> None:
    """Remove the staging directory of a transaction that is over."""
    store.failpoints.reach("staging.remove")
    drain(store, transaction)
    store.tree.remove_tree(store.layout.staging / transaction)
    store.failpoints.reach("staging.removed")


def _write_manifest(store: Store, manifest: Manifest) -> None:
    target = store.layout.manifest(manifest.transaction)
    if store.storage.exists(target):
        return
    draft = store.layout.staging / manifest.transaction / "manifest"
    store.tree.make_directory(draft.parent)
    store.tree.delete(draft)  # what a killed process has left is protected, and only root could write over it
    manifests.write(manifest, draft)
    store.tree.protect(draft)
    store.tree.sync(draft)
    store.failpoints.reach("manifest.written")
    store.storage.put_file(draft, target, if_absent=True)
    store.storage.settle({target.parent})
    store.failpoints.reach("manifest.after")
