"""The class archive is made after a first run, by a process that goes on when the command has ended.

It has the lowest priority and a session of its own, holds nothing of the command that started it, and ends by itself.
If it is killed, a later run starts it again, a few times at most.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tailpipe.config.settings import SparkSettings
from tailpipe.spark.archive import ClassArchive, make_archive
from tailpipe.spark.java import find_java
from tailpipe.spark.surroundings import may_write

AUTO_WARMUP = "TAILPIPE_AUTO_WARMUP"
"""The variable with which it is switched off, or on where it would be off."""
_TRIES = 3
_LIMIT_SECONDS = 600
_ROOM_BYTES = 1_000_000_000
_NO = ("", "0", "false", "no", "off")


def make_later(archive: ClassArchive | None, cache: Path, env: Mapping[str, str] = os.environ) -> None:
    """Start the process that makes the archive, if there is a need for it; it is not waited for."""
    if archive is None or not should_make(archive, cache, env):
        return
    with contextlib.suppress(OSError):  # nothing of it is needed
        subprocess.Popen(
            [sys.executable, "-m", "tailpipe.spark.background", str(cache)],
            env={**env, "PYTHONSAFEPATH": "1"},
            cwd=cache,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def should_make(archive: ClassArchive, cache: Path, env: Mapping[str, str]) -> bool:
    """Whether the archive is missing, another attempt is allowed, and the disk has room for it."""
    setting = env.get(AUTO_WARMUP)
    is_wanted = env.get("CI", "").lower() in _NO if setting is None else setting.lower() not in _NO
    return (
        is_wanted
        and archive.path.is_relative_to(cache)  # else the cache cannot be written, and another one was used
        and may_write(cache)
        and not archive.is_made
        and archive.tries < _TRIES
        and shutil.disk_usage(cache).free > _ROOM_BYTES
    )


def main() -> None:
    """Make the archive in the cache directory that is named on the command line."""
    os.nice(19)
    signal.alarm(_LIMIT_SECONDS)  # Java ends with this process
    cache = Path(sys.argv[1])
    if not cache.is_dir():
        return  # it was removed meanwhile
    make_archive(SparkSettings(), cache, find_java(os.environ, cache), cache / "warmup.log")


if __name__ == "__main__":
    main()
