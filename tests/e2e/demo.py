"""The quickstart's workspace, collected by the kernel in this process: no JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace

ROOT = Path(__file__).parents[2]


def demo_environment(directory: Path) -> dict[str, str]:
    """The variables that lead to the workspace."""
    return {
        "HOME": str(directory),
        "TAILPIPE_INSTALL_DIR": str(directory / "install"),
        "TAILPIPE_CONFIG_PATH": str(ROOT / "examples/quickstart/config"),
        "TAILPIPE_DEMO_LOGS": str(directory / "logs"),
        "PATH": os.environ["PATH"],
    }


def make_logs(directory: Path, days: int) -> None:
    """Write the logs of the quickstart."""
    script = ROOT / "examples/quickstart/make_logs.py"
    subprocess.run(
        [sys.executable, str(script), str(directory / "logs"), "--days", str(days)], check=True, capture_output=True
    )


def demo_workspace() -> Workspace:
    """The workspace that the variables lead to, with an engine that needs no Spark."""
    return Workspace.open(engine=InProcessEngine())
