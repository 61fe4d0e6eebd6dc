"""The class archive of Spark's JVM: made once, so that later starts map the classes of Spark instead of loading them.

Java 25 and newer write an ahead-of-time cache, older ones an archive of class data. Either is valid for one Java and
one Spark only, so its name is made of both. It is an optimisation and nothing else: without it, or with one that Java
refuses, Spark starts as before.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tailpipe.config.settings import SparkSettings
from tailpipe.frozen import frozen
from tailpipe.spark.gateway import MODULE_OPTIONS, is_plain, spark_home, spark_jars
from tailpipe.spark.java import java_version

_AHEAD_OF_TIME = 25
"""From this Java on, one run writes a whole ahead-of-time cache."""
_LOCK = "making.lock"


@frozen
class ClassArchive:
    """The archive for one Java and one Spark; the disk says whether it exists."""

    path: Path
    is_ahead_of_time: bool

    @classmethod
    def of(cls, java_home: Path, cache: Path, *, is_direct: bool = True) -> ClassArchive:
        """The archive for this Java, the installed Spark, and how Java is started: scripts give it other options."""
        is_ahead_of_time = (java_version(java_home) or 0) >= _AHEAD_OF_TIME
        name = f"spark-{_print(java_home, is_direct=is_direct)}.{'aot' if is_ahead_of_time else 'jsa'}"
        return cls(cache / "java" / name, is_ahead_of_time)

    @property
    def is_made(self) -> bool:
        """Whether it exists with the size that it had when it was made: a part of it must not be mapped."""
        try:
            return self._seal.read_text() == str(self.path.stat().st_size)
        except OSError:
            return False

    @property
    def use(self) -> str:
        """The options with which Java uses it; empty while there is none."""
        if not self.is_made:
            return ""
        # If it is damaged Java may crash, and then writes a report wherever it was started.
        crash = _option("ErrorFile", self.path.with_name("crash.log"))
        return f"{_option('AOTCache' if self.is_ahead_of_time else 'SharedArchiveFile', self.path)} {crash}"

    def make(self, draft: Path) -> str:
        """The option with which Java writes it, when it ends."""
        return _option("AOTCacheOutput" if self.is_ahead_of_time else "ArchiveClassesAtExit", draft)

    @property
    def tries(self) -> int:
        """How many attempts to make it have begun."""
        try:
            return int(self._tries.read_text())
        except (OSError, ValueError):
            return 0

    def begin(self) -> None:
        """Count an attempt to make it, and remove the drafts of attempts that did not end."""
        for left in self.path.parent.glob("draft-*"):
            left.unlink(missing_ok=True)
        self._tries.write_text(str(self.tries + 1))

    def keep(self, draft: Path) -> None:
        """Take a finished draft, and remove what was made for other versions."""
        draft.chmod(0o600)
        size = draft.stat().st_size
        draft.rename(self.path)
        self._seal.write_text(str(size))
        for other in self.path.parent.glob("spark-*"):
            if not other.name.startswith(self.path.name):
                other.unlink(missing_ok=True)

    def drop(self) -> None:
        """Remove it: Spark did not start with it."""
        for path in (self._seal, self.path):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    @property
    def _seal(self) -> Path:
        return self.path.with_name(f"{self.path.name}.size")

    @property
    def _tries(self) -> Path:
        return self.path.with_name(f"{self.path.name}.tries")


def archive_for(settings: SparkSettings, cache: Path, java_home: Path) -> ClassArchive:
    """The archive for a Spark with these settings on this machine."""
    return ClassArchive.of(java_home, cache, is_direct=is_plain(settings, os.environ, spark_home()))


def make_archive(settings: SparkSettings, cache: Path, java_home: Path, log: Path) -> bool:
    """Run Spark once for the archive; False if another process makes it, or if Java wrote none."""
    archive = archive_for(settings, cache, java_home)
    with _alone(archive.path.parent) as is_alone:
        if not is_alone or archive.is_made:
            return is_alone and archive.is_made
        archive.begin()
        draft = archive.path.with_name(f"draft-{os.getpid()}")
        try:
            _rehearse(replace(settings, master="local[2]"), cache, log, archive.make(draft))
            if not draft.is_file() or not draft.stat().st_size:
                return False
            archive.keep(draft)
        finally:
            draft.unlink(missing_ok=True)
    return True


def _rehearse(settings: SparkSettings, cache: Path, log: Path, option: str) -> None:
    """Start Spark, run jobs as a collection does, and wait until its JVM has written all and ended."""
    from tailpipe.spark.jobs import run_job
    from tailpipe.spark.session import end_java, open_context

    context = open_context(settings, cache=cache, log=log, java_options=option)
    try:
        for count in (1, 4):
            run_job(context, [b"x"] * count, _echo)
    finally:
        end_java(context)


def _echo(payload: bytes, _: object) -> bytes:
    return payload


def _option(name: str, path: Path) -> str:
    """An option of Java in the way that Spark takes options apart: blanks and quotes may be in the path."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"-XX:{name}={text}"'


def _print(java_home: Path, *, is_direct: bool) -> str:
    """A print of the Java and of the jars of Spark: an archive of others would be refused at best."""
    digest = hashlib.blake2b(digest_size=8)
    options = "\0".join(MODULE_OPTIONS) if is_direct else "spark-submit"
    digest.update(f"{options}\0{(java_home / 'bin' / 'java').resolve()}\0".encode())
    with suppress(OSError):
        digest.update((java_home / "release").read_bytes())
    with suppress(OSError):
        digest.update((java_home / "bin" / "java").read_bytes()[:4096])
    for jar in spark_jars(spark_home()):
        facts = jar.stat()
        digest.update(f"{jar}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return digest.hexdigest()


@contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Whether no other process makes an archive here; the kernel frees the lock when this one ends."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)
