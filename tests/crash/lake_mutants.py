"""Deliberately broken pushes and tiers: the harness must catch each of them, or it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tailpipe.catalog import learn
from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.learn import UnpushedFile
from tailpipe.catalog.log_entry import LogEntry, make_entry
from tailpipe.errors import ObjectStoreError
from tailpipe.storage.objects import Objects
from tailpipe.stores import log, tiers
from tailpipe.stores import push as push_module
from tailpipe.stores.keys import log_key
from tests.crash.world import StepKind


def log_before_files() -> None:
    """The log names files before they are there."""
    original = push_module._Push._upload

    def broken(self: Any) -> None:
        files = learn.unpushed_files(self.database, self.writer.partition_id)
        learn.mark_put(self.writer, [(file, one.key) for file, one in self._uploads(files)])
        names = learn.pending(self.database, self.writer.partition_id)
        if names:
            self._append(names)
        with self.database.writing() as connection:
            connection.executemany("UPDATE files SET there = 0 WHERE path = ?", [(file.path,) for file in files])
        original(self)

    _put(push_module._Push, "_upload", broken)


def there_before_log() -> None:
    """A file counts as there as soon as it is uploaded, although nobody could find it."""
    original = learn.mark_put

    def broken(writer: Writer, files: Iterable[tuple[UnpushedFile, str]]) -> None:
        original(writer, [(replace(file, is_named=True), key) for file, key in files])

    _put(push_module, "mark_put", broken)


def next_version_without_reading() -> None:
    """An unknown outcome is tried again under the next number."""

    def broken(objects: Objects, partition: str, entry: LogEntry, **_: Any) -> bool:
        for version in range(entry.version, entry.version + 5):
            again = make_entry(entry.manifests, version, entry.store, entry.host, is_whole=entry.is_whole)
            try:
                return objects.put(log_key(partition, version), again.data)
            except ObjectStoreError:
                continue
        return False

    _put(log, "append", broken)


def version_apart() -> None:
    """The version is known before the transactions are."""
    original = learn.learn

    def broken(writer: Writer, store: str, entry: LogEntry) -> int:
        with writer.database.writing() as connection:
            connection.execute(
                "INSERT INTO stores VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version",
                (writer.partition_id, store, entry.version),
            )
        writer.database.failpoints.reach("learn.copied")
        return original(writer, store, entry)

    _put(push_module, "learn", broken)


def unlinked_without_proof() -> None:
    """A file goes because the catalog says that the store has it."""
    _put(tiers, "is_proved", lambda *_: True)


def forgotten_before_unlinked() -> None:
    """The mark of a file that leaves goes before the file."""
    original = tiers._free

    def broken(writer: Writer, *rest: Any) -> Any:
        due = writer.database.connection.execute(
            "SELECT path FROM files WHERE left_at IS NOT NULL AND here = 0"
        ).fetchall()
        with writer.database.writing() as connection:
            connection.execute("UPDATE files SET left_at = NULL")
        for (path,) in due:
            writer.database.failpoints.reach("tier.unlink")
            writer.database.storage.delete(writer.database.layout.stored(path))
        return original(writer, *rest)

    _put(tiers, "_free", broken)


def hive_not_brought_in_line() -> None:
    """What a killed process had let go stays in the hive."""
    move, original = tiers._move, tiers._project

    def broken(writer: Writer, stays: tiers.Stays) -> tuple[int, int]:
        rows = writer.database.connection.execute("SELECT path FROM files WHERE here = 0").fetchall()
        before = {path for (path,) in rows}
        _put(tiers, "_project", lambda of, paths: original(of, [path for path in paths if path not in before]))
        return move(writer, stays)

    _put(tiers, "_move", broken)


def _put(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)


@dataclass(frozen=True)
class LakeMutant:
    """How to break it, and the step, failpoints and circumstances in which it shows."""

    install: Callable[[], None]
    kind: StepKind
    first: str
    rule: str = "none"
    faults: str = ""
    has_grace: bool = False
    damages: bool = False


LAKE_MUTANTS = {
    mutant.install.__name__: mutant
    for mutant in (
        LakeMutant(log_before_files, "append", "push.put"),
        LakeMutant(there_before_log, "append", "push.noted"),
        LakeMutant(next_version_without_reading, "append", "", faults="lost-commit"),
        LakeMutant(version_apart, "append", "learn.copied"),
        LakeMutant(unlinked_without_proof, "append", "tier.after", has_grace=True, damages=True),
        LakeMutant(forgotten_before_unlinked, "append", "tier.unlink"),
        LakeMutant(hive_not_brought_in_line, "append", "tier.left", has_grace=True),
    )
}
