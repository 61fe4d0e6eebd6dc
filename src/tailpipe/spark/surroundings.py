"""What is around Spark while it starts: its log, its environment, and interrupts that must wait."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tailpipe.model.redacted_logging import RedactingFormatter

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""


def may_write(directory: Path) -> bool:
    """Whether this process may make files in a directory."""
    return os.access(directory, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def writable_cache(cache: Path) -> Path:
    """The cache directory, or one of this user in the temporary directory if it cannot be written."""
    with contextlib.suppress(OSError):
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if may_write(cache):
            return cache
    other = Path(tempfile.gettempdir(), f"tailpipe-{os.geteuid()}")
    other.mkdir(mode=0o700, exist_ok=True)
    if other.stat().st_uid != os.geteuid() or other.is_symlink():
        return Path(tempfile.mkdtemp(prefix="tailpipe-"))  # another user has taken the name
    return other


def write_log4j(log: Path) -> Path:
    """Write the settings of Spark's logger next to the log: each workspace has its own."""
    path = log.with_name("log4j2.properties")
    name = "".join(one if one.isascii() else f"\\u{ord(one):04x}" for one in str(log).replace("\\", "\\\\"))
    write_if_changed(path, _LOG4J.format(log=name), 0o600)
    return path


def write_if_changed(path: Path, text: str, mode: int) -> None:
    """Write a file unless it has this text already; another process may be using this very file."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(mode)
        draft.rename(path)


class _LogFile(logging.FileHandler):
    """A handler of ours, which may be removed again; other handlers of a logger are not ours."""


def log_to(log: Path) -> None:
    """The Python half of Spark writes into the same file, instead of to the terminal."""
    from pyspark.logger import PySparkLogger

    for name in ("py4j", "pyspark"):
        logger = logging.getLogger(name)
        logger.propagate = False
        for old in [one for one in logger.handlers if isinstance(one, _LogFile)]:
            logger.removeHandler(old)
            old.close()
        handler = _LogFile(log, delay=True)
        handler.setLevel(logging.INFO)  # below that, py4j writes down all that is sent, credentials among it
        handler.setFormatter(RedactingFormatter())
        logger.addHandler(handler)
    logging.getLogger().addFilter(_is_not_of_py4j)
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True  # they log every failure, which is raised as well


def log_error(*_: object) -> None:
    """Note the exception under way in the log of Spark."""
    logging.getLogger("pyspark").exception("a connection to the JVM was lost")


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Send to the log of py4j what it logs by the root logger, tracebacks among it."""
    if Path(record.pathname).parent.name != "py4j":
        return True
    logging.getLogger("py4j").handle(record)
    return False


@contextlib.contextmanager
def environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Environment variables that hold meanwhile; None takes one away."""
    before = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def output_to(log: Path) -> Iterator[None]:
    """Processes that are started meanwhile print into the log for as long as they live."""
    sys.stdout.flush()
    sys.stderr.flush()
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        for descriptor in kept:
            os.dup2(target, descriptor)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, before in kept.items():
            os.dup2(before, descriptor)
            os.close(before)
        os.close(target)


@contextlib.contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Keep interrupts until Spark is up: before that, its JVM would stay behind when we leave.

    It also takes back the handler that Spark puts in place, which talks to the JVM in the middle of
    another talk.
    """
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield held
        return
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)
