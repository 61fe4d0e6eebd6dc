"""Entries of systemd's journal, day by day, as `journalctl` reads them from journal files."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, cast

from tailpipe.formats import Jsonl
from tailpipe.formats.journald_parser import json_entries
from tailpipe.plugin import Artifact, Event, Rejected, Source, TailpipeError, UsageError, Window, option
from tailpipe.plugins.checks import check_overlap

_PROGRAM = "journalctl"
_LOCAL = "local"
_PLACES = ("/var/log/journal", "/run/log/journal")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MATCH = re.compile(r"[A-Z_][A-Z0-9_]{0,63}=.*", re.DOTALL)
_PARTIAL = "not seeing messages from other users"
_CLOSED = "insufficient permissions"
_DAMAGED = re.compile(r"^Journal file (.*?) (?:is|has|uses|corrupted|truncated)", re.MULTILINE)
_TAIL = 4096


def _check_paths(paths: Sequence[str]) -> None:
    for path in paths:
        if not path or "\0" in path or "://" in path:
            raise UsageError(f'"{path}" is not a path', hint="name a directory, a file, or a glob of journal files")


def _check_matches(matches: Sequence[str]) -> None:
    for match in matches:
        if not _MATCH.fullmatch(match) or "\0" in match:
            raise UsageError(f'"{match}" is not a match', hint='write FIELD=value, such as "_SYSTEMD_UNIT=ssh.service"')


class Journal(Source):
    """Reads systemd's journal: that of this machine, or journal files; needs `journalctl`."""

    type = "journald"
    yields_events = True
    paths: Sequence[str] = option(
        "Directories or files of journals, with `*` in names of files; this machine's journal if not given.",
        default=(),
        check=_check_paths,
    )
    matches: Sequence[str] = option(
        "Which entries to read, as `FIELD=value`; several values of a field mean any of them.",
        default=(),
        check=_check_matches,
    )
    overlap_days: int = option(
        "How many days are read again, because entries of other machines may come late.", default=2, check=check_overlap
    )

    def __post_init__(self) -> None:
        if self.format is None:  # the entries are JSON objects, whatever the table's files are
            object.__setattr__(self, "format", Jsonl())

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """A range for each path and day of the window."""
        _program()
        if not self.paths and not any(_has_journals(Path(place)) for place in _PLACES):
            hint = "start systemd-journald, or name journal files by paths"
            raise UsageError(f"this machine has no journal in {' or '.join(_PLACES)}", hint=hint)
        for path in self.paths or [_LOCAL]:
            where = str(_found(path, self.name or self.type)) if self.paths else path
            for day in window.days():
                uri = f"journald:{where}/{day}"
                yield Artifact(uri, day=day, kind="range", fields={"tp_source_name": where}, path=uri)

    def open(self, artifact: Artifact) -> Iterator[Event]:
        """The entries of the day; one is known by its cursor."""
        assert artifact.day is not None  # noqa: S101 - each range has one
        where = artifact.uri.removeprefix("journald:").rpartition("/")[0]
        span = Window.of_day(artifact.day)
        with _reading([*self._arguments(where), *_times(span), *self.matches]) as output:
            for entry in json_entries(output):
                if isinstance(entry, Rejected):
                    raise TailpipeError(f"{_PROGRAM} printed what {entry.reason}")
                event = _event(entry, where)
                if event.time is not None and span.start <= event.time < span.end:
                    yield event

    def _arguments(self, where: str) -> list[str]:
        if not self.paths:
            return []
        return [f"--directory={where}"] if Path(where).is_dir() else [f"--file={where}"]


def _program() -> str:
    found = shutil.which(_PROGRAM)
    if found is None:
        raise UsageError(
            f'source "journald" needs {_PROGRAM}, which this machine does not have',
            hint="install systemd, or export the journal elsewhere by journalctl -o export and collect the file",
        )
    return found


def _found(path: str, source: str) -> Path:
    """The absolute path, which must exist; a wildcard must match a file."""
    whole = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - links are not resolved
    hint = f'correct "paths" of source "{source}"'
    if not (any(whole.parent.glob(whole.name)) if "*" in whole.name else whole.exists()):
        raise UsageError(f'there is no journal "{path}"', hint=hint)
    if whole.is_dir() and not _has_journals(whole):
        raise UsageError(f'the directory "{path}" has no journal files', hint=hint)
    return whole


def _has_journals(directory: Path) -> bool:
    """Whether there are journal files in the directory, or in one for a machine: journalctl looks no deeper."""
    return any(any(directory.glob(pattern)) for pattern in ("*.journal*", "*/*.journal*"))


def _times(span: Window) -> list[str]:
    """The ends of a day for journalctl, which takes the second one in."""
    start, end = (int((moment - _EPOCH).total_seconds()) for moment in (span.start, span.end))
    return [f"--since=@{start}", f"--until=@{end}"]


def _event(entry: Any, where: str) -> Event:
    try:
        moment = _EPOCH + timedelta(microseconds=int(entry["__REALTIME_TIMESTAMP"]))
        return Event(str(entry["__CURSOR"]), moment, object=entry, location=f"journald:{where}")
    except (KeyError, ValueError, TypeError, OverflowError):
        raise TailpipeError(f"{_PROGRAM} printed an entry without cursor or time") from None


@contextmanager
def _reading(arguments: Sequence[str]) -> Iterator[BinaryIO]:
    """What journalctl prints; it is ended when the caller reads no further, and must not have left anything out."""
    import subprocess  # late, as few configs read journals

    command = [_program(), "--output=json", "--all", "--no-pager", *arguments]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "SYSTEMD_COLORS": "0", "TZ": "UTC"}
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment
        )
        assert child.stdout is not None  # noqa: S101 - it is a pipe
        try:
            yield cast(BinaryIO, child.stdout)
            code = child.wait()
        finally:
            child.stdout.close()
            if child.poll() is None:
                child.kill()
                child.wait()
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL))
        _check_errors(code, errors.read().decode("utf-8", "replace"))


def _check_errors(code: int, words: str) -> None:
    if _PARTIAL in words or _CLOSED in words:
        raise TailpipeError(
            "this user may not read the whole journal", hint='add the user to the group "systemd-journal"'
        )
    if match := _DAMAGED.search(words):
        raise TailpipeError(
            f'the journal file "{match[1]}" is damaged: {words.strip().splitlines()[-1]}',
            hint=f"see: journalctl --verify --file={match[1]}; move the file away to collect the others",
        )
    if code != 0:
        last = " / ".join(line.strip() for line in words.splitlines()[-3:] if line.strip())
        raise TailpipeError(f"{_PROGRAM} ended with exit code {code}" + (f": {last}" if last else ""))
