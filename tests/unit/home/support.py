"""A home with one partition of small logs, whose jobs run in this process instead of on Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tailpipe.home.home import Home
from tailpipe.testing import InProcessEngine
from tests.unit.collect.support import CONFIG

OLD = datetime.now(UTC).date() - timedelta(days=6)


def opened(install: Path, more: str = "") -> Home:
    """The home, with further arguments in its partition."""
    (install / "config").mkdir(exist_ok=True)
    text = CONFIG.replace("LOGS", str(install / "logs")).replace('"x" {', '"x" {\n' + more)
    (install / "config" / "main.tpc").write_text(text)
    return Home.open(env={"TAILPIPE_INSTALL_DIR": str(install)}, engine=InProcessEngine())


def write(install: Path, name: str) -> None:
    """Write one log of an old day."""
    path = install / "logs" / name / f"{OLD}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"time": f"{OLD}T10:00:00Z", "message": name}) + "\n")


def with_block(install: Path, block: str, more: str = "") -> Home:
    """The home with further blocks in its config, and further arguments in its partition."""
    home = opened(install, more)
    path = install / "config" / "main.tpc"
    path.write_text(path.read_text() + block)
    return home
