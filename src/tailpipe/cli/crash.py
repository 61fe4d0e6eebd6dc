"""Commands that run SQL do so in a child: if the engine crashes, the parent says so, or has another child do the rest.

Both are in the process group of the terminal, so Ctrl-C and Ctrl-Z reach the child by themselves; what is sent to the
parent alone is passed on.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import click

from tailpipe.sql.attempt import Attempt

_RUN_SQL = frozenset(
    {
        *("check", "config", "connect", "detect", "detection", "format", "query"),
        *("rejected", "saved", "schema", "search", "source", "table"),
    }
)
"""Not those that write for long: service managers watch them by the number of their process."""
_WITH_VALUE = ("--config-path", "--workspace")
_ATTEMPT = "tailpipe.attempt"
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1)
_BY_TERMINAL = 0x80
"""The code of a signal that the kernel has sent to the whole group."""


def is_needed(words: Sequence[str]) -> bool:
    """Whether these arguments call a command that may run SQL."""
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return hasattr(signal, "sigwaitinfo") and word in _RUN_SQL
    return False


def put_attempt(context: click.Context, attempt: Attempt) -> None:
    """Keep the attempt for the commands of a call."""
    context.meta[_ATTEMPT] = attempt


def attempt_of(context: click.Context) -> Attempt:
    """The attempt that this call is."""
    found = context.meta.get(_ATTEMPT)
    return found if isinstance(found, Attempt) else Attempt()


def run_in_child() -> Attempt:
    """Return in a child, with the attempt that it is; the parent waits for the last one's end and never returns."""
    waited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    attempt = Attempt()
    while True:
        parent, (reading, writing) = os.getpid(), os.pipe()
        if child := os.fork():
            os.close(reading)
            code = _waited_for(child, waited)
            os.close(writing)
            following = attempt.following() if -code in _CRASHES else None
            if following is None:
                _end_like(code, attempt.running, waited)
            attempt = following
            continue
        os.close(writing)
        # The end of the parent closes its side of the pipe, which sends SIGTERM to this process.
        fcntl.fcntl(reading, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | os.O_ASYNC)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if os.getppid() != parent:
            os._exit(1)
        return attempt


def _waited_for(child: int, waited: set[signal.Signals]) -> int:
    """How a child ended; meanwhile signals are passed on to it."""
    while True:
        info = signal.sigwaitinfo(waited)
        if info.si_signo != signal.SIGCHLD:
            if info.si_code != _BY_TERMINAL:
                with suppress(ProcessLookupError):
                    os.kill(child, info.si_signo)
            continue
        pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if pid and os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)  # the shell sees it, and continues both
            os.kill(child, signal.SIGCONT)
        elif pid:
            return os.waitstatus_to_exitcode(status)


def _end_like(code: int, statement: str, waited: set[signal.Signals]) -> NoReturn:
    """End as the child did; what crashed is an error."""
    if -code in _CRASHES:
        from tailpipe.cli import render
        from tailpipe.errors import CrashedError

        failure = CrashedError.of(-code, statement)
        render.error(failure)
        sys.stderr.flush()
        os._exit(failure.exit_code)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, waited)
    os._exit(code if code >= 0 else 128 - code)
