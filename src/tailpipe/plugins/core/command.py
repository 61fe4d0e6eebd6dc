"""Logs that a program prints: its standard output is the artifact."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import BinaryIO, cast

from tailpipe.plugin import Artifact, Secret, Source, TailpipeError, UsageError, Window, option

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d{1,6})([smh])")
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME")
_TAIL_LINES = 5
_SET_DEATH_SIGNAL = 1


def _check_command(command: Sequence[str] | str) -> None:
    if not command or not command[0].strip():
        raise UsageError("set the program to run", hint='write ["program", "argument"], or "program argument"')


def _words(command: Sequence[str] | str, *, is_shell: bool) -> tuple[str, ...]:
    """Program and arguments; a text is cut at its blanks, as a shell would, but means nothing else to one."""
    if not isinstance(command, str):
        return tuple(command)
    if is_shell:
        return (command,)
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = tuple(lexer)
    except ValueError as error:
        raise UsageError(f"the command cannot be split into words: {str(error).lower()}") from None
    for word in words:
        if word and not word.strip("();<>|&"):
            hint = 'set shell = true, or write ["program", "argument"]'
            raise UsageError(f'"{word}" requires a shell', hint=hint)
    return words


def _check_timeout(text: str) -> None:
    if not _DURATION.fullmatch(text):
        raise UsageError(f'"{text}" is not a duration', hint="write it as 30s, 10m or 2h")


class Command(Source):
    """Runs a program once per day and reads its output."""

    type = "command"
    command: Sequence[str] | str = option(
        "Program and arguments, as a list or as one text; no shell is involved.", check=_check_command
    )
    shell: bool = option("Whether the first word is a command line for `/bin/sh`.", default=False)
    per_day: bool = option(
        "Whether it runs once for each day, with `TAILPIPE_FROM` and `TAILPIPE_TO` set; else once a run.", default=True
    )
    timeout: str = option("How long it may take, such as `30s` or `10m`.", default="10m", check=_check_timeout)
    env: Mapping[str, Secret] = option("Additional environment variables; their values are masked.", default={})

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", _words(self.command, is_shell=self.shell))

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """One run for each day of the window, or one alone."""
        name = f"command:{self.name or self.type}"
        if not self.per_day:
            yield Artifact(uri=name, kind="run", path=name)
            return
        for day in window.days():
            yield Artifact(uri=f"{name}/{day}", day=day, kind="run", path=f"{name}/{day}")

    def open(self, artifact: Artifact) -> BinaryIO:
        """What the program prints; a program that fails gives nothing."""
        match = _DURATION.fullmatch(self.timeout)
        assert match is not None  # noqa: S101 - checked when it was declared
        seconds = int(match[1]) * _SECONDS[match[2]]
        output = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
        with tempfile.TemporaryFile() as errors:
            code = self._run(self._environment(artifact), output, errors, seconds)
            if code != 0:
                output.close()
                raise TailpipeError(_failure(self.command[0], code, seconds, _last_lines(errors)))
        output.seek(0)
        return cast(BinaryIO, output)

    def _environment(self, artifact: Artifact) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        if artifact.day is not None:
            day = Window.of_day(artifact.day)
            form = "%Y-%m-%dT%H:%M:%SZ"
            kept |= {"TAILPIPE_FROM": day.start.strftime(form), "TAILPIPE_TO": day.end.strftime(form)}
        return {**kept, **{name: value.reveal() for name, value in self.env.items()}}

    def _run(self, env: dict[str, str], output: object, errors: object, seconds: int) -> int | None:
        """The exit code, or None if it took too long."""
        import subprocess  # late, as few configs run commands

        words = ["/bin/sh", "-c", *self.command] if self.shell else list(self.command)
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=cast("BinaryIO", output),
                stderr=cast("BinaryIO", errors),
                env=env,
                start_new_session=True,  # so that all it has started can be ended with it
                preexec_fn=_ending_with(os.getpid()),
            )
        except OSError as error:
            raise TailpipeError(f'cannot run "{self.command[0]}": {(error.strerror or "").lower()}') from error
        try:
            return child.wait(timedelta(seconds=seconds).total_seconds())
        except subprocess.TimeoutExpired:
            return None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def _ending_with(parent: int) -> Callable[[], None] | None:
    """The preparation of a program, on Linux: the kernel kills it together with the task that waits for it."""
    if sys.platform != "linux":
        return None
    import ctypes  # before the fork

    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _failure(program: str, code: int | None, seconds: int, words: str) -> str:
    how = f"took longer than {seconds} s" if code is None else f"ended with exit code {code}"
    return f'"{program}" {how}' + (f": {words}" if words else "")


def _last_lines(errors: BinaryIO | object) -> str:
    file = cast("BinaryIO", errors)
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 4096))
    lines = file.read().decode("utf-8", "replace").splitlines()
    return " / ".join(line.strip() for line in lines[-_TAIL_LINES:] if line.strip())
