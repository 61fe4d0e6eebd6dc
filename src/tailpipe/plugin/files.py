"""Files by what their file system knows of them: which one was listed, and whether an open one is it."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from functools import cache

from tailpipe.model.artifact import Artifact, FileId

__all__ = ["file_id", "is_listed_file", "modified_at"]


def file_id(facts: os.stat_result) -> FileId | None:
    """The identity of a file in its file system; None if the file system does not number files."""
    if not facts.st_ino:
        return None
    return FileId(_host(), facts.st_dev, facts.st_ino, facts.st_ctime_ns, facts.st_nlink)


def modified_at(facts: os.stat_result) -> datetime:
    """When a file was last written to, to the microsecond."""
    return datetime.fromtimestamp(facts.st_mtime_ns // 1000 / 1_000_000, UTC)


def is_listed_file(artifact: Artifact, facts: os.stat_result) -> bool:
    """Whether an open file with these facts is the one that was listed; it may have grown since.

    Its number decides. With another number, the file is the same only if it was not written, renamed or replaced since:
    some mounts renumber their files. Another host may have other numbers and times of changes: there it is enough that
    the file has not become shorter or older.
    """
    listed, found = artifact.file, file_id(facts)
    size, modified = artifact.size or 0, modified_at(facts)
    if listed is None or found is None:
        return True
    if facts.st_size < size:
        return False
    if listed.host != found.host or listed.device != found.device:
        return listed.number == found.number or artifact.modified is None or modified >= artifact.modified
    if listed.number == found.number:
        return True
    return (listed.changed_ns, size, artifact.modified) == (found.changed_ns, facts.st_size, modified)


@cache
def _host() -> str:
    return platform.node()
