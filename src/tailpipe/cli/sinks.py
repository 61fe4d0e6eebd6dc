"""Where answers go: stdout, a pager, or a file that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tailpipe.cli import render
from tailpipe.errors import TailpipeError

if TYPE_CHECKING:
    import subprocess

Write = Callable[[bytes], None]
Sink = Callable[[], AbstractContextManager[Write]]
"""Where one answer goes."""
FOR_PEOPLE = ("pretty", "plain", "line")


def screen() -> tuple[int | None, bool]:
    """How many columns stdout shows, None if it is no terminal, and whether it shows colours."""
    if not sys.stdout.isatty():
        return None, False
    return shutil.get_terminal_size().columns, "NO_COLOR" not in os.environ


def to_screen(output: str) -> Sink:
    """Stdout, through a pager if people read it on a terminal."""
    is_read = output in FOR_PEOPLE and sys.stdout.isatty() and sys.stdin.isatty()
    return _to_pager if is_read else _to_stdout


def shared(write: Write) -> Sink:
    """One place for several answers."""
    return lambda: nullcontext(write)


@contextmanager
def _to_stdout() -> Iterator[Write]:
    """Straight to stdout."""
    sys.stdout.flush()
    yield writer_to(sys.stdout.buffer)
    sys.stdout.buffer.flush()


@contextmanager
def _to_pager() -> Iterator[Write]:
    """To stdout as long as it fits on the screen, and to a pager when it does not.

    The pager is what PAGER says, or `less`. To close it before the last row is no failure: the block ends there.
    """
    pager = _Pager(shutil.get_terminal_size().lines - 2)
    try:
        with suppress(_Closed):
            yield pager.write
    finally:
        pager.close()


class _Closed(Exception):  # noqa: N818 - a signal between two functions of this file
    """The person has closed the pager."""


class _Pager:
    def __init__(self, lines: int) -> None:
        self._held: list[bytes] = []
        self._left = lines
        self._process: subprocess.Popen[bytes] | None = None
        try:
            import shlex

            words = shlex.split(os.environ.get("PAGER", "less"))
        except ValueError:  # a quote in it is not closed
            words = []
        self._command = words if words and words != ["cat"] and shutil.which(words[0]) else []

    def write(self, data: bytes) -> None:
        self._left -= data.count(b"\n")
        if self._command and self._left < 0 and self._process is None:
            self._start()
        if self._process is not None:
            self._send(data)
        elif self._command:
            self._held.append(data)
        else:
            sys.stdout.buffer.write(data)

    def _start(self) -> None:
        """Start the pager with what was held for it; if it cannot be started, print without one."""
        import subprocess  # late, as not every answer is paged

        env = {"LESS": "-RSX", **os.environ}
        sys.stdout.flush()
        held = b"".join(self._held)
        self._held = []
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, env=env)
        except OSError:  # such as a script without a first line that names its interpreter
            self._command = []
            sys.stdout.buffer.write(held)
        else:
            self._send(held)

    def _send(self, data: bytes) -> None:
        assert self._process is not None  # noqa: S101 - it was started
        assert self._process.stdin is not None  # noqa: S101 - it was requested
        try:
            self._process.stdin.write(data)
        except BrokenPipeError:
            raise _Closed from None

    def close(self) -> None:
        if self._process is None:
            sys.stdout.buffer.write(b"".join(self._held))
            sys.stdout.buffer.flush()
            return
        import signal

        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager now
        try:
            with suppress(BrokenPipeError):
                self._process.communicate()
        finally:
            signal.signal(signal.SIGINT, before)
        if self._process.returncode > 0:
            import shlex

            failed = f"{shlex.join(self._command)} ended with exit code {self._process.returncode}"
            render.say(f"warning: the pager failed: {failed}; PAGER=cat prints without one")


@contextmanager
def to_file(path: Path, *, has_more: bool = False) -> Iterator[Write]:
    """Write to a temporary file that replaces `path` at the end; `has_more` keeps the existing content in front.

    A failure leaves the file as it was. What is no plain file, such as a pipe, is written straight.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield writer_to(stream)
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}-", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                if has_more and target.exists():
                    with target.open("rb") as before:
                        shutil.copyfileobj(before, stream)
                yield writer_to(stream)
                stream.flush()
                os.fchmod(stream.fileno(), target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
                os.fsync(stream.fileno())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TailpipeError(f'cannot write "{path}": {error.strerror or error}', hint="name another file") from error


def writer_to(stream: IO[bytes]) -> Write:
    """Write to a file that is open."""

    def write(data: bytes) -> None:
        stream.write(data)

    return write


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
