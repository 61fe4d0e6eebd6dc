"""The errors that tailpipe raises on purpose, and the exit code of each.

    TailpipeError            anything expected to go wrong; shown as one message, never as a traceback
    ├── UsageError           a wrong argument, name, window or selector                       exit 2
    │   └── ConfigError      problems in `.tpc` files, all of them at once, with their places  exit 2
    ├── PluginError          a plugin that cannot be loaded, or two that claim the same name   exit 1
    ├── ChangedError         an artifact that is no longer what was listed; the run lists again   exit 1
    ├── UnpackError          an artifact whose bytes cannot be unpacked: cut off, damaged, or a bomb  exit 1
    ├── CommitError          staged files or accounts that must not become live; nothing was changed  exit 1
    ├── ConflictError        hosts whose changes of one partition do not follow from each other  exit 1
    ├── SparkError           Spark cannot be started, or a job of it failed                    exit 1
    ├── QueryError           a statement that cannot be answered, with the place in it         exit 1
    ├── TimeLimitError       a statement that took longer than its time limit                  exit 124
    ├── CrashedError         a statement that ended the process that ran it                    exit 1
    ├── ObjectStoreError     a bucket, container or directory of objects that refuses or does not answer  exit 1
    └── WorkspaceError       a workspace directory that cannot be used                         exit 1
        ├── CatalogError     `catalog.db` or a manifest is missing or damaged                  exit 1
        │   └── NewerError   it was written by a newer version                                 exit 1
        ├── LockedError      another process writes this partition, or took it over            exit 1
        └── StorageError     the disk is full, read-only, not ours, or fails                   exit 1

A message says what, where and what to do next: lower case, no full stop, the user's own words in quotes. Facts are
attributes, and every error survives pickling, because some come from worker processes.
"""

from __future__ import annotations

from tailpipe.frozen import frozen

__all__ = [
    "EXIT_DONE",
    "EXIT_FAILED",
    "EXIT_FOUND",
    "EXIT_INTERRUPTED",
    "EXIT_TIME_LIMIT",
    "EXIT_USAGE",
    "CatalogError",
    "ChangedError",
    "CommitError",
    "ConfigError",
    "ConflictError",
    "CrashedError",
    "Diagnostic",
    "LockedError",
    "NewerError",
    "Note",
    "ObjectStoreError",
    "Place",
    "PluginError",
    "QueryError",
    "SparkError",
    "StorageError",
    "TailpipeError",
    "TimeLimitError",
    "UnpackError",
    "UsageError",
    "WorkspaceError",
]

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_FOUND = 3
"""A check has found rows."""
EXIT_TIME_LIMIT = 124
EXIT_INTERRUPTED = 130

_KILLED = 9
_SHOWN = 200
"""Characters of a statement in a message."""


@frozen
class Place:
    """A span of text in a config file; line and column begin at 1, a column counts characters."""

    file: str
    line: int
    column: int
    length: int = 1
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@frozen
class Note:
    """A second place that explains a diagnostic, such as the first of two equal names."""

    message: str
    place: Place


@frozen
class Diagnostic:
    """One problem in the config: what is wrong, where, and what to do about it."""

    message: str
    place: Place
    hint: str = ""
    notes: tuple[Note, ...] = ()


class TailpipeError(Exception):
    """A failure that was expected; `hint` is the next step for the user.

    Hints and places are notes too, so that a notebook shows them below the message.
    """

    exit_code = EXIT_FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"  = {hint}")

    @property
    def with_hint(self) -> str:
        """The message and the hint in one line, for reports that have no line of their own for hints."""
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with the message alone and fail on keyword-only facts.
        return (_restore, (type(self), self.args, self.__dict__))

    def __str__(self) -> str:
        return self.message


class UsageError(TailpipeError):
    """The command was used wrongly; nothing was done."""

    exit_code = EXIT_USAGE


class ConfigError(UsageError):
    """The config has problems; `diagnostics` holds all of them."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        count = len(diagnostics)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in the config")
        self.diagnostics = diagnostics
        for one in diagnostics:
            self.add_note(f"  {one.place}: {one.message}" + (f" ({one.hint})" if one.hint else ""))


class PluginError(TailpipeError):
    """A plugin cannot be used; `plugins` names those that are involved."""

    def __init__(self, message: str, *, plugins: tuple[str, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.plugins = plugins


class SparkError(TailpipeError):
    """The engine of collecting cannot be started, or a job of it failed through no fault of the data."""


class QueryError(TailpipeError):
    """A statement cannot be answered; `place` is where in it the mistake is. The statements after it are run."""

    def __init__(self, message: str, *, hint: str = "", place: Place | None = None) -> None:
        super().__init__(message, hint=hint)
        self.place = place
        if place is not None:
            self.add_note(f"  --> {place}: {place.text[place.column - 1 :]}")


class TimeLimitError(TailpipeError):
    """A statement took longer than its time limit, and was ended."""

    exit_code = EXIT_TIME_LIMIT


class CrashedError(TailpipeError):
    """A statement ended the process that ran it; `signal` is what the process died of."""

    def __init__(self, message: str, *, signal: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.signal = signal

    @classmethod
    def of(cls, signal: int, statement: str = "") -> CrashedError:
        """The error for a process that died of a signal."""
        shown = " ".join(statement[:_SHOWN].split()) + ("…" if len(statement) > _SHOWN else "")
        quoted = f": {shown}" if shown else ""
        if signal == _KILLED:
            hint = "it may have needed too much memory: read fewer rows, or aggregate them"
            return cls(f"the process of the statement was killed{quoted}", signal=signal, hint=hint)
        hint = "write it in another way, with fewer nested brackets, functions or types"
        return cls(f"the statement crashed the SQL engine{quoted}", signal=signal, hint=hint)


class ObjectStoreError(TailpipeError):
    """A store of objects refused a request or did not answer; `key` is empty where no single object is meant.

    `is_unknown` says that a write may have happened, because its reply was lost: look at the store first.
    """

    def __init__(self, message: str, *, location: str, key: str = "", is_unknown: bool = False, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.location = location
        self.key = key
        self.is_unknown = is_unknown


class WorkspaceError(TailpipeError):
    """The workspace directory cannot be used; `path` is the directory or file at fault."""

    def __init__(self, message: str, *, path: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


class CommitError(TailpipeError):
    """What was staged must not become live; collecting goes on with the other units."""

    def __init__(self, message: str, *, partition: str, unit: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.partition = partition
        self.unit = unit


class ConflictError(TailpipeError):
    """The log of a store holds what does not follow from this workspace; nothing was changed here or there.

    `hosts` are this one and the one whose push stands in the way.
    """

    def __init__(self, message: str, *, partition: str, hosts: tuple[str, str], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.partition = partition
        self.hosts = hosts


class ChangedError(TailpipeError):
    """An artifact is no longer what was listed: rotated, replaced, cut or gone. Its rows must not be kept.

    The run lists its sources again and collects the files it finds then.
    """


class UnpackError(TailpipeError):
    """An artifact cannot be unpacked, so none of its rows are taken; collecting goes on with the others.

    `offset` counts the bytes before unpacking: those of the artifact `file`, or of its member `member`
    where the trouble is inside an archive.
    """

    def __init__(self, reason: str, *, file: str, offset: int, member: str = "", hint: str = "") -> None:
        where = f'"{file}", in its member "{member}",' if member else f'"{file}"'
        super().__init__(f"{where} {reason}", hint=hint)
        self.reason = reason
        self.file = file
        self.member = member
        self.offset = offset


class CatalogError(WorkspaceError):
    """The catalog itself cannot be read; the doctor catches this and writes it again."""


class NewerError(CatalogError):
    """A newer version has written it, so nothing is damaged; the doctor leaves it alone."""


class LockedError(WorkspaceError):
    """Another process holds the partition; collecting goes on with the others."""

    def __init__(self, message: str, *, path: str, partition: str, pid: int | None = None, hint: str = "") -> None:
        super().__init__(message, path=path, hint=hint)
        self.partition = partition
        self.pid = pid


class StorageError(WorkspaceError):
    """The disk refused; the unit in hand was rolled back, and going on would fail again."""


def _restore(kind: type[TailpipeError], args: tuple[object, ...], facts: dict[str, object]) -> TailpipeError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error
