"""Rebuild a lost or damaged `catalog.db` by replaying all manifests; nothing is collected again."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tailpipe.catalog import aside, clean, findings, head, schema, seals
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.database import Database, open_database, storage_errors, utc_now
from tailpipe.catalog.history import History, numbers_in, read_history
from tailpipe.catalog.home import has_files
from tailpipe.catalog.layout import DROPPED, MANIFEST, Layout
from tailpipe.catalog.locks import hold_catalog
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.project import project
from tailpipe.catalog.publish import drop_staging
from tailpipe.catalog.replay import replay
from tailpipe.catalog.root_facts import absent, is_marked, read_roots, save_roots
from tailpipe.errors import CatalogError, NewerError
from tailpipe.frozen import frozen
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import LocalTree, Storage

_MOST = 5
"""So many lost manifests are named."""
_IS_OPEN = "SELECT 1 FROM transactions WHERE name = ? AND state = 'committed'"


@frozen
class Rebuilt:
    """The contents of the new catalog, the place of the old one, and how much of the history was given up."""

    transactions: int
    files: int
    rows: int
    set_aside: str
    holes: tuple[str, ...] = ()
    cut: int = 0
    orphans: int = 0


@frozen
class _Found:
    """What there is to rebuild from: manifests that can be read, those that cannot, and the newest number known."""

    manifests: Mapping[str, Manifest]
    unreadable: Mapping[Path, CatalogError]
    newest: int = 0
    accepted: frozenset[int] = frozenset()
    dropped: frozenset[str] = frozenset()
    """Transactions that are not to be replayed, because another host was first."""


def rebuild(
    home: Path | Layout,
    *,
    data: Path | None = None,
    accept_loss: bool = False,
    storage: LocalTree = LOCAL,
    clock: Callable[[], datetime] = utc_now,
) -> Rebuilt:
    """Write a new catalog, set the old one aside, and update the hive.

    The new database is complete before it gets its name: a crash leaves the old state, and the rebuild can be begun
    again. If manifests are lost it is refused, or with `accept_loss` each partition goes back to what is proven.
    """
    layout = Layout.of(home, data)
    if not storage.is_directory(layout.manifests) and not has_files(layout, storage):
        raise CatalogError(
            f"{layout.data} has no manifests", path=str(layout.manifests), hint="the catalog cannot be rebuilt"
        )
    with storage_errors(layout.database):
        storage.settle(storage.make_directory(layout.locks))
    with storage_errors(layout.database), hold_catalog(layout, storage, alone=True):
        workspace = _workspace(layout, storage)
        layout = replace(layout, roots=_roots(layout, storage, workspace, accept_loss))
        found = _find(layout, storage)
        history = read_history(found.manifests.values(), found.newest, found.accepted)
        is_empty = not found.manifests and has_files(layout, storage)
        if (history.holes or is_empty) and not accept_loss:
            raise _refused(layout, history, found)
        history, set_aside = _replace_database(layout, storage, history, found.dropped, workspace, clock(), accept_loss)
        storage.delete(layout.head)  # it may name what was given up; a new one is written below
        with contextlib.closing(open_database(layout, storage=storage, clock=clock)) as database:
            swept = _bring_in_line(database, history, found)
            files, rows = database.connection.execute(
                "SELECT count(*), coalesce(sum(rows), 0) FROM files WHERE state = 'live' AND role = 'data'"
            ).fetchone()
    holes = tuple(str(hole) for hole in history.holes)
    return Rebuilt(len(history.whole), files, rows, set_aside, holes, len(history.cut), swept)


def _workspace(layout: Layout, tree: LocalTree) -> str:
    """The name of the workspace whose data this is; refused if that one is somewhere else, and alive."""
    newest = head.read(layout, tree)
    if newest is not None:
        other = Layout.of(Path(newest.home), layout.data).database
        if layout.data != layout.home and tree.exists(other) and not tree.is_same(other, layout.database):
            with contextlib.suppress(sqlite3.DatabaseError), _reading(other) as connection:
                if head.workspace_of(connection) == newest.workspace:
                    raise head.foreign(layout, newest)
        return newest.workspace
    with contextlib.suppress(sqlite3.DatabaseError), _reading(layout.database) as connection:
        return head.workspace_of(connection) or ""
    return ""


def _roots(layout: Layout, storage: Storage, workspace: str, accept_loss: bool) -> dict[str, Path]:
    """The roots of partitions, which must be mounted: what is not there would count as lost."""
    roots = read_roots(layout, storage)
    for partition, root in roots.items():
        if not accept_loss and not is_marked(root, workspace):
            problem = absent(partition, root)
            hint = "mount its disk; nothing was changed; if it is lost: tailpipe doctor --rebuild --accept-loss"
            raise CatalogError(problem.message, path=str(root), hint=hint)
    return roots


def _find(layout: Layout, storage: Storage) -> _Found:
    made, unreadable = dict(_unpublished(layout)), {}
    dropped = set()
    for path in sorted(path for path in storage.objects(layout.manifests) if path.suffix in (MANIFEST, DROPPED)):
        try:
            made[path.stem] = manifests.read(path, storage)
            if path.suffix == DROPPED:
                dropped.add(path.stem)
        except NewerError:
            raise  # without it the history would not be whole
        except CatalogError as problem:
            unreadable[path] = problem
    try:
        accepted = frozenset(int(number) for number in json.loads(storage.read(layout.gaps)))
    except (OSError, ValueError, TypeError):
        accepted = frozenset()
    newest = head.read(layout, storage)
    return _Found(made, unreadable, newest.sequence if newest else 0, accepted, frozenset(dropped))


def _refused(layout: Layout, history: History, found: _Found) -> CatalogError:
    """The error of a history that is not whole, with the way out."""
    bad = [problem.message for problem in found.unreadable.values()]
    missing = [f"{hole} is lost" for hole in history.holes if layout.manifest(hole.transaction) not in found.unreadable]
    named = [*bad, *missing] or ["there is none, but there are stored files"]
    more = f", and {len(named) - _MOST} more" if len(named) > _MOST else ""
    return CatalogError(
        f"the manifests are incomplete: {'; '.join(named[:_MOST])}{more}",
        path=str(layout.manifests),
        hint="restore the lost files from a backup, or return to the last provable state:"
        " tailpipe doctor --rebuild --accept-loss",
    )


def _bring_in_line(database: Database, history: History, found: _Found) -> int:
    """Let hive, staging and manifests follow the new catalog; returns how many stored files were set aside."""
    layout = database.layout
    for path in {*found.unreadable, *(layout.manifest(one.transaction) for one in history.cut)}:
        if database.storage.exists(path):
            aside.put_aside(database, path)
    _write_gaps(database, history, found)
    for name in database.tree.entries(layout.staging):
        if database.connection.execute(_IS_OPEN, (name,)).fetchone() is None:
            drop_staging(database, name)
    project(database, "rebuild", [path for (path,) in database.connection.execute("SELECT path FROM files")])
    drop_staging(database, "rebuild")
    head.ensure(database)
    return sum(clean.sweep(database, name).set_aside for name in sorted(findings.stored_partitions(database)))


def _write_gaps(database: Database, history: History, found: _Found) -> None:
    """Remember the numbers that no manifest has and none will have: the next rebuild must not take them for lost."""
    (top,) = database.connection.execute("SELECT coalesce(max(number), 0) FROM transactions").fetchone()
    cut = {one.transaction for one in history.cut}
    known = {one.sequence for one in found.manifests.values() if one.transaction not in cut}
    known |= {number for one in history.whole for number in numbers_in(one)}
    lost = sorted(set(range(1, max(top, found.newest) + 1)) - known)
    if lost:
        database.storage.put(database.layout.gaps, json.dumps(lost).encode())


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        yield connection


def _unpublished(layout: Layout) -> dict[str, Manifest]:
    """What the old catalog committed without getting to write its manifest, if it still can be read."""
    if not layout.database.exists():
        return {}
    try:
        with _reading(layout.database) as old:
            rows = old.execute("SELECT name, record FROM transactions WHERE state = 'committed'").fetchall()
        return {name: manifests.from_text(record) for name, record in rows}
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError):
        return {}


def _replace_database(
    layout: Layout,
    tree: LocalTree,
    history: History,
    dropped: frozenset[str],
    workspace: str,
    now: datetime,
    accept_loss: bool,
) -> tuple[History, str]:
    draft = layout.database.with_name("catalog.db.new")
    while (bad := _write_database(layout, tree, draft, history, dropped, workspace)) is not None:
        manifest, reason = bad
        path = layout.manifest(manifest.transaction)
        if not accept_loss:
            raise CatalogError(
                f"{path} does not match the manifests before it: {reason}",
                path=str(path),
                hint="return to the state before it: tailpipe doctor --rebuild --accept-loss",
            )
        history = history.without(manifest)
    tree.sync(draft)
    set_aside = ""
    if tree.exists(layout.database):
        set_aside = f"{layout.database}.{now:%Y%m%dT%H%M%S}"
        for suffix in ("-wal", "-shm"):
            # The log goes with the old database: applied to the new one it would destroy it.
            with contextlib.suppress(FileNotFoundError):
                tree.rename(Path(f"{layout.database}{suffix}"), Path(f"{set_aside}{suffix}"))
        tree.rename(layout.database, Path(set_aside))
    tree.rename(draft, layout.database)
    tree.sync(layout.database.parent)
    return history, set_aside


def _write_database(
    layout: Layout, tree: LocalTree, draft: Path, history: History, dropped: frozenset[str], workspace: str
) -> tuple[Manifest, str] | None:
    """Write a new database; returns the manifest that cannot be applied, and why, if there is one."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        tree.delete(Path(f"{draft}{suffix}"))
    tree.write(draft, b"")  # for its owner alone
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # without a separate log, so that one rename moves all of it
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        seals.install(connection)
        schema.migrate(connection, str(draft))
        connection.execute("BEGIN")
        if workspace:
            connection.execute("UPDATE workspace SET id = ?", (workspace,))
        save_roots(connection, layout.roots)
        if (bad := replay(connection, layout, tree, history.whole, dropped)) is not None:
            return bad
        connection.execute("COMMIT")
        gone = [
            (path,)
            for (path,) in connection.execute("SELECT path FROM files WHERE state = 'retired'")
            if not tree.exists(layout.stored(path))
        ]
        connection.executemany("DELETE FROM files WHERE path = ?", gone)
    return None
