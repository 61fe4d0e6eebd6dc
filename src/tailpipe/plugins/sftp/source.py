"""Files on SFTP servers: directories and globs, with layouts as for local files."""

from __future__ import annotations

import io
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, BinaryIO, cast
from urllib.parse import quote, unquote_to_bytes

from tailpipe.formats.grok import check_patterns
from tailpipe.plugin import Artifact, Source, TailpipeError, UsageError, Window, option
from tailpipe.plugins.sftp.connection import Sftp, asyncssh
from tailpipe.plugins.sftp.remote_file import RemoteFile
from tailpipe.plugins.sftp.session import Session, session_of

_MOST_FILES = 1_000_000
_DEEPEST = 64
_BUFFER = 256 * 1024
_MAGIC = frozenset("*?[")
_LINKS = "symbolic links are not followed; name their targets"
Entry = tuple[str, Any]
"""Name and attributes."""


def _check_paths(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("name at least one path")
    for path in paths:
        if not path or "\0" in path or "://" in path:
            hint = 'write the path on the server, such as "/var/log/app"; the host belongs into the connection'
            raise UsageError(f'"{path}" is not a path', hint=hint)


class SftpFiles(Source):
    """Reads files from directories of an SFTP server."""

    type = "sftp"
    lists_all = True
    paths: Sequence[str] = option(
        "Files, directories or globs on the server; relative ones begin in the directory of the login.",
        check=_check_paths,
    )
    file_layout: str | None = option(
        "Grok pattern of the paths below a directory; its groups `year`, `month` and `day` date the file.", default=None
    )
    patterns: Mapping[str, str] = option("Your own grok patterns for the layout.", default={}, check=check_patterns)
    recursive: bool = option("Whether directories inside directories are entered.", default=True)
    connection: Sftp = option("How to reach the server.", default=Sftp())

    def artifacts(self, window: Window) -> Iterator[Artifact]:  # noqa: ARG002 - every run lists all files
        """Every regular file below the paths, each once; links are not followed."""
        seen: set[str] = set()
        walk = _Walk(session_of(self.connection), is_deep=self.recursive)
        for path in self.paths:
            base, files = self._below(path, walk)
            links = list[str]()
            before = len(seen)
            for found, facts in files:
                if stat.S_ISLNK(facts.permissions or 0):
                    links.append(found)
                elif stat.S_ISREG(facts.permissions or 0) and found not in seen:
                    seen.add(found)
                    if len(seen) > _MOST_FILES:
                        raise TailpipeError(
                            f"more than {_MOST_FILES:,} files on {self.connection.server}: name narrower paths"
                        )
                    yield self._artifact(found, base, facts)
            if links and len(seen) == before:
                yield Artifact(self._uri(links[0]), unavailable=_LINKS)
        for where, reason in walk.problems.items():
            text = _spelt(where)
            yield Artifact(
                self._uri(where), path=text, problem=f'cannot read "{text}" on {self.connection.server}: {reason}'
            )

    def open(self, artifact: Artifact) -> BinaryIO:
        """The file's bytes; a connection that is lost meanwhile is made again."""
        path = unquote_to_bytes(artifact.uri.removeprefix(self._uri("")))
        return cast(BinaryIO, io.BufferedReader(RemoteFile(session_of(self.connection), path, artifact), _BUFFER))

    def _uri(self, path: str) -> str:
        return f"sftp://{self.connection.server}{quote(os.fsencode(path))}"

    def _artifact(self, path: str, base: str, facts: Any) -> Artifact:
        modified = datetime.fromtimestamp(facts.mtime, UTC) if facts.mtime is not None else None
        relative = posixpath.relpath(path, base)
        server = self.connection.host
        return Artifact(self._uri(path), facts.size, modified, path=_spelt(relative), fields={"tp_source_name": server})

    def _below(self, path: str, walk: _Walk) -> tuple[str, Iterator[Entry]]:
        """The directory that a layout begins at, and what is below the path."""
        hint = f'correct "paths" of source "{self.name or self.type}"'
        whole = walk.absolute(path)
        facts = walk.facts(whole)
        if facts is None and _MAGIC & set(path):
            parts = whole.split("/")[1:]
            fixed = list(takewhile(lambda part: not _MAGIC & set(part), parts))
            base = "/" + "/".join(fixed)
            if walk.facts(base) is None:
                raise UsageError(f'there is no directory "{base}" on {self.connection.server}', hint=hint)
            return base, walk.matches(base, parts[len(fixed) :])
        if facts is None:
            raise UsageError(f'there is no "{path}" on {self.connection.server}', hint=hint)
        if stat.S_ISDIR(facts.permissions or 0):
            return whole, walk.below(whole)
        return posixpath.dirname(whole), iter([(whole, facts)])


class _Walk:
    """A walk over directories of a server; what cannot be looked into is added to `problems`."""

    def __init__(self, session: Session, *, is_deep: bool) -> None:
        self.problems: dict[str, str] = {}
        self._session = session
        self._is_deep = is_deep

    def absolute(self, path: str) -> str:
        """The path from the root of the server on."""
        if not path.startswith("/"):
            start = self._session.call(lambda client: client.realpath(b"."))
            path = posixpath.join(os.fsdecode(start), path)
        return posixpath.normpath(path).replace("//", "/")

    def facts(self, path: str) -> Any:
        """The attributes of what a path leads to; None if it leads nowhere."""
        library = asyncssh()
        try:
            return self._session.call(lambda client: client.stat(os.fsencode(path)))
        except (library.SFTPNoSuchFile, library.SFTPNoSuchPath, library.SFTPNotADirectory):
            return None
        except library.SFTPError as error:
            raise TailpipeError(
                f'cannot read "{path}" on {self._session.connection.server}: {_reason(error)}'
            ) from None

    def below(self, directory: str, depth: int = 0) -> Iterator[Entry]:
        """The files of a directory, and of the directories inside of it."""
        if depth > _DEEPEST:
            self.problems[directory] = f"more than {_DEEPEST} directories in one another"
            return
        for name, facts in self.entries(directory):
            path = posixpath.join(directory, name)
            if not stat.S_ISDIR(facts.permissions or 0):
                yield path, facts
            elif self._is_deep:
                yield from self.below(path, depth + 1)

    def matches(self, directory: str, parts: Sequence[str]) -> Iterator[Entry]:
        """What a glob means below a directory."""
        part, rest = parts[0], parts[1:]
        for name, facts in self.entries(directory):
            path, is_directory = posixpath.join(directory, name), stat.S_ISDIR(facts.permissions or 0)
            if part == "**":
                yield from self.matches(path, parts) if is_directory else ()
                yield from _matching(path, facts, rest or ("*",), is_directory, self)
            else:
                yield from _matching(path, facts, parts, is_directory, self)

    def entries(self, directory: str) -> list[Entry]:
        """The names in a directory, in order; a name that is no name of a file is refused."""
        library = asyncssh()

        async def read(client: Any) -> list[Entry]:
            return [(os.fsdecode(one.filename), one.attrs) async for one in client.scandir(os.fsencode(directory))]

        try:
            found = self._session.call(read)
        except (library.SFTPNoSuchFile, library.SFTPNoSuchPath):
            return []
        except library.SFTPError as error:
            self.problems[directory] = _reason(error)
            return []
        names = [one for one in found if one[0] not in (".", "..")]
        for name, _ in names:
            if not name or "/" in name or "\0" in name:
                raise TailpipeError(
                    f'{self._session.connection.server} lists a name that leads elsewhere, in "{_spelt(directory)}"',
                    hint="this is no correct server: do not trust it",
                )
        return sorted(names, key=lambda one: one[0])


def _matching(path: str, facts: Any, parts: Sequence[str], is_directory: bool, walk: _Walk) -> Iterator[Entry]:
    if not fnmatchcase(posixpath.basename(path), parts[0]):
        return
    if len(parts) > 1:
        yield from walk.matches(path, parts[1:]) if is_directory else ()
    elif is_directory:
        yield from walk.below(path)
    else:
        yield path, facts


def _reason(error: Any) -> str:
    text = str(getattr(error, "reason", "") or error).strip().lower()
    return "".join(one if one.isprintable() else "�" for one in text)[:200] or "the server does not say why"


def _spelt(path: str) -> str:
    """A path as people read it: %XX for each byte that is no text."""
    with suppress(UnicodeEncodeError):
        path.encode()
        return path
    return "".join(f"%{ord(one) - 0xDC00:02X}" if "\udc80" <= one <= "\udcff" else one for one in path)
