"""A program in a real pseudo-terminal: what is typed, and what a person sees on the screen."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pexpect
import pyte

SECONDS = 240  # to wait for what must come; a machine may be busy


class _Screen(pyte.Screen):
    """A screen that answers when it is asked where the cursor is, as terminals do."""

    def __init__(self, columns: int, lines: int, child: Any) -> None:
        super().__init__(columns, lines)
        self._child = child

    def write_process_input(self, data: str) -> None:
        self._child.send(data)


class Terminal:
    """`tailpipe` with these arguments on a terminal."""

    def __init__(self, *arguments: str, env: Mapping[str, str], cwd: Path, columns: int = 100, lines: int = 40) -> None:
        self.child = pexpect.spawn(
            sys.executable, ["-m", "tailpipe", *arguments], env=dict(env), cwd=str(cwd), dimensions=(lines, columns)
        )
        self.child.delaybeforesend = None
        self._screen = _Screen(columns, lines, self.child)
        self._stream = pyte.ByteStream(self._screen)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.child.isalive():  # `close` would wait a tenth of a second for its end, and fail
            self.child.kill(signal.SIGKILL)
            self.child.wait()
        self.child.close()

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        return [line.rstrip() for line in self._screen.display]

    def type(self, text: str) -> None:
        """Press keys; a line break is Enter."""
        self.child.send(text.replace("\n", "\r"))

    def see(self, *texts: str) -> None:
        """Wait until all of these are on the screen, in this order."""
        end = time.monotonic() + SECONDS
        while not self._shows(texts):
            assert self._read() or self._shows(texts), self._missing(texts)
            assert time.monotonic() < end, self._missing(texts)

    def ask(self, text: str, *answer: str) -> None:
        """Type a line, and see the answer below it and the prompt again."""
        self.type(f"\x0c{text}\n")  # Ctrl-L clears the screen, so that nothing old is seen
        self.see(*answer, "\ntailpipe")
        while self.lines[self._screen.cursor.y] not in ("tailpipe>", "tailpipe (part)>"):
            assert self._read(), "it has ended"

    def ended(self) -> int | None:
        """Wait for the end; the exit code."""
        while self._read():
            pass
        self.child.wait()
        code: int | None = self.child.exitstatus
        return code

    def _shows(self, texts: tuple[str, ...]) -> bool:
        rest = "\n".join(self.lines)
        for text in texts:
            _, found, rest = rest.partition(text)
            if not found:
                return False
        return True

    def _read(self) -> bool:
        try:
            self._stream.feed(self.child.read_nonblocking(65536, 0.1))
        except pexpect.TIMEOUT:
            return bool(self.child.isalive())
        except pexpect.EOF:
            return False
        return True

    def _missing(self, texts: tuple[str, ...]) -> str:
        return f"{texts} not seen in:\n" + "\n".join(self.lines)
