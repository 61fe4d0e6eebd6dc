"""Commands that run SQL do so in a child: if the engine crashes, the parent is there to say so.

Both are in the process group of the terminal, so Ctrl-C and Ctrl-Z reach the child by themselves; what is sent to the
parent alone is passed on.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import NoReturn

__all__ = ["is_needed", "run_in_child"]

_RUN_SQL = frozenset({"check", "detect", "detection", "query", "search"})
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1)
_BY_TERMINAL = 0x80
"""The code of a signal that the kernel has sent to the whole group."""


def is_needed(words: Sequence[str], commands: Collection[str]) -> bool:
    """Whether these arguments call a command that runs SQL."""
    return hasattr(signal, "sigwaitinfo") and next((word for word in words if word in commands), "") in _RUN_SQL


def run_in_child() -> None:
    """Return in a child; the parent waits for its end and never returns."""
    waited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    reading, writing = os.pipe()
    parent, child = os.getpid(), os.fork()
    if child:
        os.close(reading)
        _wait(child, waited)
    os.close(writing)
    # The end of the parent closes its side of the pipe, which sends SIGTERM to this process.
    fcntl.fcntl(reading, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | os.O_ASYNC)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if os.getppid() != parent:
        os._exit(1)


def _wait(child: int, waited: set[signal.Signals]) -> NoReturn:
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
            _end_like(os.waitstatus_to_exitcode(status), waited)


def _end_like(code: int, waited: set[signal.Signals]) -> NoReturn:
    """End as the child did; what crashed is an error."""
    if -code in _CRASHES:
        from tailpipe.cli import render
        from tailpipe.errors import CrashedError

        failure = CrashedError.of(-code)
        render.error(failure)
        sys.stderr.flush()
        os._exit(failure.exit_code)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, waited)
    os._exit(code if code >= 0 else 128 - code)
