"""The wheel outside a checkout: it installs into a bare environment by pip and as a tool, and works there."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from .demo import ROOT

pytestmark = pytest.mark.slow

UV = str(Path(sys.executable).with_name("uv"))
CONFIG = """
table "app_log" {{
  format = format.jsonl.default
  column "tp_timestamp" {{ source = "time" }}
}}
partition "app_log" "x" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""


def run(*words: str, cwd: Path, **env: str) -> str:
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(("PYTHON", "VIRTUAL_ENV", "TAILPIPE"))}
    done = subprocess.run(words, cwd=cwd, env={**kept, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    run(
        UV,
        "build",
        "--wheel",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "-o",
        str(place),
        str(ROOT),
        cwd=ROOT,
    )
    (found,) = place.glob("*.whl")
    return found


def try_it(program: Path, home: Path) -> None:
    logs, config = home / "logs", home / "config"
    logs.mkdir(parents=True)
    config.mkdir()
    yesterday = datetime.now(UTC) - timedelta(days=1)
    (logs / "a.jsonl").write_text(f'{{"time": "{yesterday.isoformat()}", "message": "hello"}}\n' * 3)
    (config / "main.tpc").write_text(CONFIG.format(logs=logs))
    env = {"TAILPIPE_INSTALL_DIR": str(home), "HOME": str(home)}
    assert "3 rows" in run(str(program), "collect", "--no-progress", cwd=home, **env)
    answer = run(str(program), "query", "SELECT count(*) AS n FROM app_log", "--output", "csv", cwd=home, **env)
    assert answer.split() == ["n", "3"]


def test_pip_installs_the_wheel_into_a_bare_environment(wheel: Path, tmp_path: Path) -> None:
    python = tmp_path / "bare" / "bin" / "python"
    run(sys.executable, "-m", "venv", str(tmp_path / "bare"), cwd=tmp_path)
    run(UV, "pip", "install", "--quiet", "--python", str(python), str(wheel), cwd=tmp_path)
    run(str(python), "-c", "import tailpipe, importlib.util as u; assert u.find_spec('pytest') is None", cwd=tmp_path)
    try_it(python.with_name("tailpipe"), tmp_path / "home")


@pytest.mark.soak
def test_uv_installs_the_wheel_as_a_tool(wheel: Path, tmp_path: Path) -> None:
    env = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    run(UV, "tool", "install", "--quiet", "--python", sys.executable, str(wheel), cwd=tmp_path, **env)
    try_it(tmp_path / "bin" / "tailpipe", tmp_path / "home")
