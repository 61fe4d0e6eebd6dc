"""Starts `python -m MODULE …` as forks of a process that has imported the product: most of what a short command costs.

A fork has its own environment, directory, output and exit code, as a process of its own has. What tells whether the
start itself is right, such as `test_start.py`, starts real processes.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOADED = (
    "duckdb",
    "pyarrow",
    "pyarrow.parquet",
    "sqlglot",
    "tailpipe.cli.app",
    "tailpipe.cli.query",
    "tailpipe.query.session",
    "tailpipe.home.home",
    "tailpipe.operations.query",
    "tailpipe.catalog.catalog",
    "tailpipe.collect.collect",
    "tailpipe.config.loader",
    "tailpipe.testing",
)
INTERPRETER = ("PYTHON", "LC_", "LANG", "TZ")
"""Variables that are read when the interpreter starts, so a fork would not heed them."""


class Starter:
    """A process that forks for each call; one call at a time."""

    def __init__(self) -> None:
        call = [sys.executable, "-m", "tests.e2e.starter"]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)

    def run(
        self, module: str, arguments: list[str], *, env: Mapping[str, str], cwd: Path, scratch: Path
    ) -> tuple[int, str, str]:
        """The exit code and both outputs of one call."""
        out, err = scratch / "out", scratch / "err"
        scratch.mkdir(exist_ok=True)
        request = {"module": module, "arguments": arguments, "env": dict(env), "cwd": str(cwd)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({**request, "out": str(out), "err": str(err)}), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def starter() -> Iterator[Starter]:
    """A starter, ended at the end."""
    it = Starter()
    try:
        yield it
    finally:
        it.close()


def _serve() -> None:
    for name in LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request)
        print(_code(child), flush=True)


def _code(child: int, seconds: float = 300) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM


def _become(request: dict[str, Any]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = [request["module"], *request["arguments"]]
    code: object = 0
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - the interpreter would print it, too
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    _serve()
