"""Sources that need no service: files on this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote_to_bytes

from tailpipe.plugin import Artifact, ChangedError, Source, UsageError, Window, file_id, modified_at, option

_Found = tuple[str, os.stat_result]
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What a name leads to that was removed since it was listed, or a link that leads nowhere."""
_SCHEME = "file://"


_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def _check_paths(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("expected at least one path")
    for path in paths:
        if not path or "\0" in path:
            raise UsageError("a path cannot be empty or hold a NUL")
        if match := _ADDRESS.match(path):
            hint = f'use source "aws_s3_bucket" {{ paths = ["{path}"] }}' if match[1] == "s3" else "name a mounted path"
            raise UsageError(f'"{path}" is not a path: source "file" reads local files', hint=hint)


def _check_patterns(patterns: Mapping[str, str]) -> None:
    from tailpipe.formats.grok import check_patterns  # late, because few layouts have patterns of their own

    check_patterns(patterns)


class File(Source):
    """Reads files from local directories or a shared mount."""

    type = "file"
    lists_all = True
    paths: Sequence[str] = option("Files, directories or globs; `~` is the home directory.", check=_check_paths)
    file_layout: str | None = option(
        "Grok pattern of the paths below a directory; its groups `year`, `month` and `day` date the file.", default=None
    )
    patterns: Mapping[str, str] = option("Your own grok patterns for the layout.", default={}, check=_check_patterns)
    recursive: bool = option("Whether directories inside directories are entered.", default=True)
    follow_symlinks: bool = option("Whether symbolic links are followed.", default=False)

    @property
    def watched_paths(self) -> tuple[str, ...]:
        """Where its files appear."""
        return tuple(self.paths)

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """Every regular file below the paths, hidden ones too, each once, in the order of their names.

        A directory that cannot be looked into is listed after them, with its problem.
        """
        seen: set[str] = set()
        problems: dict[str, str] = {}
        for path in self.paths:
            walk = _Walk(problems, self.recursive, self.follow_symlinks)
            base, files = self._files(os.path.expanduser(path), walk)  # noqa: PTH111 - keeps a "~" that is no one's home
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
            if not places and not problems and not self.follow_symlinks:
                yield from self._behind_links(path, window)
        for path, reason in problems.items():
            where = os.path.abspath(path)  # noqa: PTH100
            yield Artifact(uri=_uri(where), path=_spelt(path), problem=f'cannot read "{_spelt(where)}": {reason}')

    def _behind_links(self, path: str, window: Window) -> Iterator[Artifact]:
        """What a path without files would give if links were followed: to be reported, not to be taken."""
        with contextlib.suppress(UsageError):
            for artifact in replace(self, paths=[path], follow_symlinks=True).artifacts(window):
                yield replace(artifact, unavailable="contains only symbolic links; set follow_symlinks = true")

    def open(self, artifact: Artifact) -> BinaryIO:
        """The file's bytes. Its name may belong to something else by now, such as a pipe without a writer."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if self.follow_symlinks else os.O_NOFOLLOW)
        try:
            descriptor = os.open(_path(artifact.uri), flags)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
                raise ChangedError(f'"{artifact.uri}" was replaced after it was listed') from error
            raise
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ChangedError(f'"{artifact.uri}" is no longer a file')
        return os.fdopen(descriptor, "rb")

    def _files(self, path: str, walk: _Walk) -> tuple[str, Iterator[_Found]]:
        """The directory that a layout begins at, and the files below the path."""
        correct = f'correct "paths" of source "{self.name or self.type}"'
        if walk.is_closed(path):
            return path, iter(())
        if os.path.lexists(path):  # also a name with * or [ in it
            if os.path.islink(path) and not self.follow_symlinks:  # noqa: PTH114
                raise UsageError(
                    f'"{path}" is a symbolic link', hint="name what it points to, or set follow_symlinks = true"
                )
            if not os.path.isfile(path) and not os.path.isdir(path):  # noqa: PTH112, PTH113
                raise UsageError(f'"{path}" is neither a file nor a directory', hint=correct)
            return (path if os.path.isdir(path) else os.path.dirname(path) or "."), walk.below(path)  # noqa: PTH112, PTH120
        if has_magic(path):
            parts = Path(path).parts
            fixed = list(takewhile(lambda part: not has_magic(part), parts))
            base = os.path.join(*fixed) if fixed else "."  # noqa: PTH118
            if not os.path.isdir(base):  # noqa: PTH112
                raise UsageError(f'there is no directory "{base}"', hint=correct)
            matches = sorted(set(walk.matches(base, parts[len(fixed) :])))
            return base, (found for match in matches for found in walk.below(match))
        raise UsageError(f'there is no "{path}"', hint=correct)


class _Walk:
    """A walk over directories; what cannot be looked into is added to `problems`, and the rest is gone through."""

    def __init__(self, problems: dict[str, str], recursive: bool, follow_symlinks: bool) -> None:
        self._problems = problems
        self._recursive = recursive
        self._follow_symlinks = follow_symlinks

    def below(self, path: str) -> Iterator[_Found]:
        """The files below a directory, or the file itself."""
        if not os.path.isdir(path):  # noqa: PTH112
            yield from self._regular(path)
            return
        for directory, names, files in self._walk(path):
            if not self._recursive:
                names.clear()
            for name in sorted(files):
                yield from self._regular(os.path.join(directory, name))  # noqa: PTH118

    def _regular(self, path: str) -> Iterator[_Found]:
        """The file with its facts, if it is a regular one, and there."""
        try:
            facts = os.stat(path, follow_symlinks=self._follow_symlinks)  # noqa: PTH116
        except OSError as error:
            self._refuse(error, path)
        else:
            if stat.S_ISREG(facts.st_mode):
                yield path, facts

    def matches(self, directory: str, parts: Sequence[str]) -> Iterator[str]:
        """What a glob means below a directory: `glob()` would follow links, also in circles."""
        part, rest = parts[0], parts[1:]
        if part == "**":
            for inside, _, _ in self._walk(directory):
                yield from self.matches(inside, tuple(p for p in rest if p != "**") or ("*",))
            return
        for name in self._names(directory) if has_magic(part) else [part]:
            found = os.path.join(directory, name)  # noqa: PTH118
            if not fnmatchcase(name, part) or (os.path.islink(found) and not self._follow_symlinks):  # noqa: PTH114
                continue
            if not rest:
                yield found
            elif self.is_directory(found):
                yield from self.matches(found, rest)

    def _walk(self, path: str) -> Iterator[tuple[str, list[str], list[str]]]:
        entered: set[tuple[int, int]] = set()
        for directory, names, files in os.walk(path, onerror=self._refuse, followlinks=self._follow_symlinks):
            if self._follow_symlinks:
                try:
                    facts = os.stat(directory)  # noqa: PTH116
                except OSError as error:
                    self._refuse(error, directory)
                    names.clear()
                    continue
                if (facts.st_dev, facts.st_ino) in entered:  # a circle of links
                    names.clear()
                    continue
                entered.add((facts.st_dev, facts.st_ino))
            names.sort()
            yield directory, names, files

    def is_closed(self, path: str) -> bool:
        """Whether a directory on the way to it keeps us out, which is a problem."""
        try:
            os.stat(path)  # noqa: PTH116
        except OSError as error:
            return self._refuse(error, path)
        return False

    def is_directory(self, path: str) -> bool:
        """Whether it is one; if it may not even be looked at, that is a problem."""
        try:
            return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116
        except OSError as error:
            self._refuse(error, path)
            return False

    def _names(self, directory: str) -> list[str]:
        try:
            return os.listdir(directory)  # noqa: PTH208
        except OSError as error:
            self._refuse(error, directory)
            return []

    def _refuse(self, error: OSError, path: str | None = None) -> bool:
        """Note a problem, unless the file is just gone; one of permissions with the directory that it begins at."""
        if error.errno in _GONE:
            return False
        where = path or str(error.filename)
        while isinstance(error, PermissionError) and not _can_be_seen(where):
            where = os.path.dirname(where) or "."  # noqa: PTH120
        self._problems.setdefault(where, (error.strerror or str(error)).lower())
        return True


def _can_be_seen(path: str) -> bool:
    try:
        os.stat(path)  # noqa: PTH116
    except PermissionError:
        return False
    except OSError:
        pass
    return True


def _artifact(path: str, relative: str, facts: os.stat_result) -> Artifact:
    return Artifact(
        uri=_uri(path), path=_spelt(relative), size=facts.st_size, modified=modified_at(facts), file=file_id(facts)
    )


def _is_text(path: str) -> bool:
    """Whether a name is text: Linux allows any bytes, and Python spells those that are not UTF-8 with surrogates."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _uri(path: str) -> str:
    """The name of a file for ever: its path, or a URI with %XX if its bytes are no text."""
    return path if _is_text(path) else _SCHEME + quote(os.fsencode(path))


def _path(uri: str) -> str:
    """The path of a name; an absolute one never begins like a URI."""
    return os.fsdecode(unquote_to_bytes(uri.removeprefix(_SCHEME))) if uri.startswith(_SCHEME) else uri


def _spelt(path: str) -> str:
    """A path as people read it, and layouts match it: %XX for each byte that is no text."""
    if _is_text(path):
        return path
    return "".join(f"%{ord(one) - 0xDC00:02X}" if "\udc80" <= one <= "\udcff" else one for one in path)
