"""Sources that need no service: files on this machine."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from tailpipe.plugin import Artifact, Source, UsageError, Window, option

__all__ = ["File"]

_Found = tuple[str, os.stat_result]


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def _check_paths(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("name at least one path")
    for path in paths:
        if not path or "\0" in path:
            raise UsageError("a path cannot be empty or hold a NUL")
        if match := _ADDRESS.match(path):
            hint = f'use source "aws_s3_bucket" {{ paths = ["{path}"] }}' if match[1] == "s3" else "name a mounted path"
            raise UsageError(f'"{path}" is not a path: source "file" reads local files', hint=hint)


def _check_patterns(patterns: Mapping[str, str]) -> None:
    from tailpipe.plugin.grok import check_patterns  # late, because few layouts have patterns of their own

    check_patterns(patterns)


class File(Source):
    """Reads files from directories of this machine, or of a shared mount."""

    type = "file"
    lists_all = True
    paths: Sequence[str] = option("Files, directories or globs; `~` is the home directory.", check=_check_paths)
    file_layout: str | None = option(
        "Grok pattern of the paths below a directory; its groups `year`, `month` and `day` date the file.",
        default=None,
    )
    patterns: Mapping[str, str] = option("Grok patterns of your own for the layout.", default={}, check=_check_patterns)
    recursive: bool = option("Whether directories inside directories are entered.", default=True)
    follow_symlinks: bool = option("Whether symbolic links are followed.", default=False)

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """Every regular file below the paths, hidden ones too, each once, in the order of their names."""
        seen: set[str] = set()
        for path in self.paths:
            base, files = self._files(os.path.expanduser(path))  # noqa: PTH111 - keeps a "~" that is no one's home
            places: dict[str, tuple[str, str]] = {}
            for found, facts in files:
                directory, name = os.path.split(found)
                if directory not in places:
                    # resolve() would follow links
                    places[directory] = os.path.abspath(directory), os.path.relpath(directory or ".", base)  # noqa: PTH100
                absolute, relative = (os.path.join(place, name) for place in places[directory])  # noqa: PTH118
                same = os.path.realpath(absolute) if self.follow_symlinks else absolute
                if same not in seen:
                    seen.add(same)
                    yield _artifact(absolute, relative.removeprefix("./"), facts)
            if not places and not self.follow_symlinks:
                yield from self._behind_links(path, window)

    def _behind_links(self, path: str, window: Window) -> Iterator[Artifact]:
        """What a path without files would give if links were followed: to be told of, not to be taken."""
        with contextlib.suppress(UsageError):
            for artifact in replace(self, paths=[path], follow_symlinks=True).artifacts(window):
                yield replace(artifact, withheld="because symbolic links lead there: set follow_symlinks = true")

    def open(self, artifact: Artifact) -> BinaryIO:
        """The file's bytes."""
        return Path(artifact.uri).open("rb")

    def _files(self, path: str) -> tuple[str, Iterator[_Found]]:
        """The directory that a layout begins at, and the files below the path."""
        correct = f'correct "paths" of source "{self.name or self.type}"'
        if os.path.lexists(path):  # also a name with * or [ in it
            if os.path.islink(path) and not self.follow_symlinks:  # noqa: PTH114
                raise UsageError(
                    f'"{path}" is a symbolic link', hint="name what it points to, or set follow_symlinks = true"
                )
            if not os.path.isfile(path) and not os.path.isdir(path):  # noqa: PTH112, PTH113
                raise UsageError(f'"{path}" is neither a file nor a directory', hint=correct)
            return (path if os.path.isdir(path) else os.path.dirname(path) or "."), self._below(path)  # noqa: PTH112, PTH120
        if has_magic(path):
            parts = Path(path).parts
            fixed = list(takewhile(lambda part: not has_magic(part), parts))
            base = os.path.join(*fixed) if fixed else "."  # noqa: PTH118
            if not os.path.isdir(base):  # noqa: PTH112
                raise UsageError(f'there is no directory "{base}"', hint=correct)
            matches = sorted(set(self._matches(base, parts[len(fixed) :])))
            return base, (found for match in matches for found in self._below(match))
        raise UsageError(f'there is no "{path}"', hint=correct)

    def _below(self, path: str) -> Iterator[_Found]:
        if not os.path.isdir(path):  # noqa: PTH112
            yield from self._regular(path)
            return
        for directory, names, files in self._walk(path):
            if not self.recursive:
                names.clear()
            for name in sorted(files):
                yield from self._regular(os.path.join(directory, name))  # noqa: PTH118

    def _regular(self, path: str) -> Iterator[_Found]:
        """The file with its facts, if it is a regular one, and there."""
        try:
            facts = os.stat(path, follow_symlinks=self.follow_symlinks)  # noqa: PTH116
        except PermissionError as error:  # the directory may be listed, but not entered
            _refuse(error)
            return
        except OSError:
            return
        if stat.S_ISREG(facts.st_mode):
            yield path, facts

    def _matches(self, directory: str, parts: Sequence[str]) -> Iterator[str]:
        """What a glob means below a directory: `glob()` would follow links, also in circles."""
        part, rest = parts[0], parts[1:]
        if part == "**":
            for inside, _, _ in self._walk(directory):
                yield from self._matches(inside, tuple(p for p in rest if p != "**") or ("*",))
            return
        for name in _names(directory) if has_magic(part) else [part]:
            found = os.path.join(directory, name)  # noqa: PTH118
            if not fnmatchcase(name, part) or (os.path.islink(found) and not self.follow_symlinks):  # noqa: PTH114
                continue
            if not rest:
                yield found
            elif os.path.isdir(found):  # noqa: PTH112
                yield from self._matches(found, rest)

    def _walk(self, path: str) -> Iterator[tuple[str, list[str], list[str]]]:
        entered: set[tuple[int, int]] = set()
        for directory, names, files in os.walk(path, onerror=_refuse, followlinks=self.follow_symlinks):
            if self.follow_symlinks:
                facts = os.stat(directory)  # noqa: PTH116
                if (facts.st_dev, facts.st_ino) in entered:  # a circle of links
                    names.clear()
                    continue
                entered.add((facts.st_dev, facts.st_ino))
            names.sort()
            yield directory, names, files


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208
    except OSError as error:
        _refuse(error)
        return []


def _artifact(path: str, relative: str, facts: os.stat_result) -> Artifact:
    modified = datetime.fromtimestamp(facts.st_mtime_ns // 1000 / 1_000_000, UTC)
    return Artifact(uri=path, size=facts.st_size, modified=modified, path=relative)


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # removed since it was listed
        raise UsageError(f'cannot read "{error.filename}": {error.strerror}') from error
