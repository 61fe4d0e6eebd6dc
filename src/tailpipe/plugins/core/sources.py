"""Sources that need no service: files on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path
from typing import BinaryIO

from tailpipe.plugin import Artifact, Source, UsageError, Window, option

__all__ = ["File"]


def _check_paths(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("name at least one path")
    for path in paths:
        if not path or "\0" in path:
            raise UsageError("a path cannot be empty or hold a NUL")


class File(Source):
    """Reads files from directories of this machine, or of a shared mount."""

    type = "file"
    paths: Sequence[str] = option("Files, directories or globs; `~` is the home directory.", check=_check_paths)
    file_layout: str | None = option(
        "Grok pattern of the paths below a directory; its groups `year`, `month`, `day`, `hour` date the file.",
        default=None,
    )
    patterns: Mapping[str, str] = option("Grok patterns of your own for the layout.", default={})
    recursive: bool = option("Whether directories inside directories are entered.", default=True)
    follow_symlinks: bool = option("Whether symbolic links are followed.", default=False)

    def artifacts(self, window: Window) -> Iterator[Artifact]:  # noqa: ARG002 - files carry no date of their own
        """Every regular file below the paths, hidden ones too, each once, in the order of their names."""
        seen: set[str] = set()
        for path in self.paths:
            for found in self._files(str(Path(path).expanduser())):
                absolute = os.path.abspath(found)  # noqa: PTH100 - resolve() would follow links
                if absolute not in seen:
                    seen.add(absolute)
                    yield _artifact(absolute)

    def open(self, artifact: Artifact) -> BinaryIO:
        """The file's bytes."""
        return Path(artifact.uri).open("rb")

    def _files(self, path: str) -> Iterator[str]:
        if os.path.lexists(path):  # also a name with * or [ in it
            yield from self._walk(path)
        elif has_magic(path):
            for match in sorted(glob(path, recursive=True, include_hidden=True)):  # noqa: PTH207
                yield from self._walk(match)
        else:
            raise UsageError(f'there is no "{path}"', hint=f'mend "paths" of source "{self.name or self.type}"')

    def _walk(self, path: str) -> Iterator[str]:
        if not self.follow_symlinks and os.path.islink(path):  # noqa: PTH114
            return
        if not os.path.isdir(path):  # noqa: PTH112
            if stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
                yield path
            return
        entered: set[tuple[int, int]] = set()
        for directory, names, files in os.walk(path, onerror=_refuse, followlinks=self.follow_symlinks):
            facts = os.stat(directory)  # noqa: PTH116
            if (facts.st_dev, facts.st_ino) in entered:  # a loop of links
                names.clear()
                continue
            entered.add((facts.st_dev, facts.st_ino))
            names[:] = sorted(names) if self.recursive else []
            for name in sorted(files):
                found = os.path.join(directory, name)  # noqa: PTH118
                if (self.follow_symlinks or not os.path.islink(found)) and os.path.isfile(found):  # noqa: PTH113, PTH114
                    yield found


def _artifact(path: str) -> Artifact:
    facts = os.stat(path)  # noqa: PTH116
    return Artifact(uri=path, size=facts.st_size, modified=datetime.fromtimestamp(facts.st_mtime, UTC))


def _refuse(error: OSError) -> None:
    raise UsageError(f'cannot read "{error.filename}": {error.strerror}') from error
