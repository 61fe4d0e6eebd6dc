"""The command line as a person runs it: a process of its own, in a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailpipe.workspace import Workspace

from .demo import ROOT, demo_environment, demo_workspace, make_logs
from .starter import INTERPRETER, Starter, starter


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def install(tmp_path: Path) -> Path:
    return tmp_path / "install"


@pytest.fixture(scope="session")
def starting() -> Iterator[Starter]:
    """What starts commands without importing the product for each of them."""
    with starter() as it:
        yield it


@pytest.fixture
def run(tmp_path: Path, install: Path, starting: Starter) -> Run:
    """Run `tailpipe` with arguments; keyword arguments are environment variables."""
    return _running("tailpipe", tmp_path, install, starting)


@pytest.fixture
def run_without_spark(tmp_path: Path, install: Path, starting: Starter) -> Run:
    """The same, but jobs are done in its own process, for tests of what is printed."""
    return _running("tests.e2e.without_spark", tmp_path, install, starting)


def _running(module: str, tmp_path: Path, install: Path, starting: Starter) -> Run:
    scratch = tmp_path.with_name(f"{tmp_path.name}-output")

    def call(*arguments: str, **env: str) -> Done:
        home = {"HOME": str(tmp_path), "TAILPIPE_INSTALL_DIR": str(install), "NO_COLOR": "1"}
        around = {**os.environ, **home, **env}
        if any(name.startswith(INTERPRETER) for name in env):
            done = _process(module, *arguments, env={**around, "PYTHONPATH": str(ROOT)}, cwd=tmp_path)
        else:
            done = Done(*starting.run(module, list(arguments), env=around, cwd=tmp_path, scratch=scratch))
        assert "Traceback" not in done.err, done.err
        return done

    return call


def _process(module: str, *arguments: str, env: dict[str, str], cwd: Path) -> Done:
    call = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(call, env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def write_config(install: Path) -> Callable[[str], Path]:
    """Put text into a `.tpc` file of the install directory."""

    def write(text: str, name: str = "main.tpc") -> Path:
        path = install / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


@pytest.fixture(scope="session")
def demo_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten days of the quickstart's logs, collected; tests only read it."""
    directory = tmp_path_factory.mktemp("demo")
    make_logs(directory, days=10)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in demo_environment(directory).items():
            patch.setenv(name, value)
        assert demo_workspace().collect().is_done
    return directory


@pytest.fixture
def demo(demo_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The quickstart's workspace."""
    for name, value in demo_environment(demo_directory).items():
        monkeypatch.setenv(name, value)
    return demo_workspace()
