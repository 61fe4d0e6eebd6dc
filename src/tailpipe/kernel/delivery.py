"""Delivery: tasks on a host that shares no disk with the driver put their files into a store.

Such a task works in a private directory. Objects that it reads are fetched into it first, and the files that it has
staged are put under their final keys before it answers. Whatever no answer names is never committed.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tailpipe.frozen import frozen

if TYPE_CHECKING:
    from tailpipe.kernel.carry import CarriedFile, Carry
    from tailpipe.kernel.compact import Compaction
    from tailpipe.kernel.dedupe import Dedupe, Deduped
    from tailpipe.kernel.task import Outcome, Staging, Task
    from tailpipe.model.staged import StagedFile
    from tailpipe.model.store import Store

T = TypeVar("T")
_SCHEME = "tailpipe-object:"


@frozen
class Place:
    """Where in a store the files of a transaction go; their keys are made of it.

    `mark` ends the names of files since the store was last swept, so that no key is used again.
    """

    store: str
    partition: str
    transaction: str
    partition_by: tuple[str, ...]
    mark: str = ""


class Depot(Protocol):
    """A store as a task uses it. It travels to other hosts, so it must be picklable."""

    @property
    def store(self) -> Store:
        """The store of the config."""

    def put(self, place: Place, directory: Path, files: Sequence[StagedFile], attempt: str) -> tuple[StagedFile, ...]:
        """Put staged files under their final keys; returns them with their keys and final names."""

    def fetch(self, key: str, sha256: str, target: Path) -> None:
        """Copy an object into a file, and check its bytes unless the checksum is empty."""

    def put_sign(self, tag: str, name: str) -> str:
        """Put a small object to see whether that works here; returns why not, or nothing."""

    def take_signs(self, tag: str) -> Mapping[str, float]:
        """Remove all signs of a tag; returns when each was put, in seconds since 1970 by the clock of the store."""


Depots = Mapping[str, Depot]
"""Stores by name."""


def address_of(store: str, key: str, sha256: str | None) -> str:
    """The name of an object, for tasks that take the path of a file."""
    return f"{_SCHEME}{store}:{sha256 or ''}:{key}"


def is_address(path: str) -> bool:
    """Whether the path is the name of an object."""
    return path.startswith(_SCHEME)


def fetch_address(address: str, depots: Depots, target: Path) -> None:
    """Copy the object of a name into a file."""
    store, sha256, key = address.removeprefix(_SCHEME).split(":", 2)
    depots[store].fetch(key, sha256, target)


def stores_of(stagings: Iterable[Staging | None], paths: Iterable[str] = ()) -> set[str | None]:
    """The stores that tasks use; None means the disk that they share with the driver."""
    found: set[str | None] = {None if one.place is None else one.place.store for one in stagings if one is not None}
    return found | {path.removeprefix(_SCHEME).partition(":")[0] if is_address(path) else None for path in paths}


def run_there(task: Task, depots: Depots, scratch: Path, attempt: str) -> tuple[Outcome, ...]:
    """Run a task; shares without a place stage their files in their directory."""
    from tailpipe.kernel.run import run_task

    if not any(share.staging and share.staging.place for share in task.shares):
        return run_task(task)
    with _private(scratch):
        moved = [_moved(share.staging, scratch / str(number)) for number, share in enumerate(task.shares)]
        outcomes = run_task(task.at(*moved))
        pairs = zip(outcomes, moved, strict=True)
        return tuple(
            replace(outcome, files=_delivered(outcome.files, staging, depots, attempt)) for outcome, staging in pairs
        )


def carry_there(task: Carry, depots: Depots, scratch: Path, attempt: str) -> tuple[StagedFile, ...]:
    """Stage the rows of live files that a replacement keeps."""
    from tailpipe.kernel.carry import carry_rows

    with _private(scratch):
        fetched = _Inputs(depots, scratch / "in")
        moved = replace(
            task,
            files=fetched.carried(task.files),
            rejected=tuple(map(fetched.path, task.rejected)),
            fresh=tuple(map(fetched.path, task.fresh)),
            staging=_moved(task.staging, scratch / "out"),
        )
        return _delivered(carry_rows(moved), moved.staging, depots, attempt)


def compact_there(
    task: Compaction, depots: Depots, scratch: Path, attempt: str, memory: str | None = None
) -> tuple[StagedFile, ...]:
    """Stage the rows of files in files of the right size."""
    from tailpipe.kernel.compact import compact_files

    with _private(scratch):
        files = _Inputs(depots, scratch / "in").carried(task.files)
        moved = replace(task, files=files, staging=_moved(task.staging, scratch / "out"))
        return _delivered(compact_files(moved, memory), moved.staging, depots, attempt)


def dedupe_there(task: Dedupe, depots: Depots, scratch: Path, attempt: str) -> Deduped:
    """Stage files again without their duplicates."""
    from tailpipe.kernel.dedupe import drop_duplicates

    with _private(scratch):
        fetched = _Inputs(depots, scratch / "in")
        staging, place = _moved(task.staging, scratch / "out"), task.staging.place
        for file in task.files:
            if place is not None and file.key is not None:
                depots[place.store].fetch(file.key, file.sha256, scratch / "out" / file.path)
        found = drop_duplicates(replace(task, live=tuple(map(fetched.path, task.live)), staging=staging))
        names = [path for path, file in found.files.items() if file is not None]
        kept = tuple(file for file in found.files.values() if file is not None)
        put = dict(zip(names, _delivered(kept, staging, depots, attempt), strict=True))
        return replace(found, files={path: put.get(path) for path in found.files})


def misplaced_there(files: Sequence[CarriedFile], column: str, kind: str, depots: Depots, scratch: Path) -> list[str]:
    """The paths of files whose index is not the value of the column in all of their rows."""
    from tailpipe.kernel.compact import misplaced

    with _private(scratch):
        moved = _Inputs(depots, scratch).carried(files)
        names = {one.path: file.path for one, file in zip(moved, files, strict=True)}
        return [names[path] for path in misplaced(moved, column, kind)]


class _Inputs:
    """Objects that are fetched into a directory, each once; other paths stay as they are."""

    def __init__(self, depots: Depots, directory: Path) -> None:
        self._depots, self._directory = depots, directory
        self._known: dict[str, str] = {}

    def path(self, path: str) -> str:
        if not is_address(path):
            return path
        if path not in self._known:
            self._directory.mkdir(exist_ok=True)
            target = self._directory / f"{len(self._known):05d}"
            fetch_address(path, self._depots, target)
            self._known[path] = str(target)
        return self._known[path]

    def carried(self, files: Iterable[CarriedFile]) -> tuple[CarriedFile, ...]:
        return tuple(replace(file, path=self.path(file.path)) for file in files)


@contextlib.contextmanager
def _private(scratch: Path) -> Iterator[None]:
    scratch.mkdir(mode=0o700, parents=True)
    try:
        yield
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _moved(staging: Any, directory: Path) -> Any:
    """The staging with a private directory, if its files go into a store."""
    if staging is None or staging.place is None:
        return staging
    directory.mkdir(exist_ok=True)
    return replace(staging, directory=str(directory))


def _delivered(
    files: Sequence[StagedFile], staging: Staging | None, depots: Depots, attempt: str
) -> tuple[StagedFile, ...]:
    if staging is None or staging.place is None or not files:
        return tuple(files)
    return depots[staging.place.store].put(staging.place, Path(staging.directory), files, attempt)
