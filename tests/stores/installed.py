"""An installed workspace whose partition has a store: its config, its logs, and what leaves its disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.tiers import settle
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.unit.collect.support import CONFIG

TODAY = datetime.now(UTC).date()
NAME = "app.x"
NOTHING = "where = \"tp_date < DATE '2000-01-01'\""
"""A rule by which nothing stays here."""


def configure(
    install: Path, *, here: str = "", has_store: bool = True, location: str = "", connection: str = ""
) -> None:
    """Write the config, with the arguments of a `here` block."""
    text = CONFIG.replace("LOGS", str(install / "logs"))
    if has_store:
        text = text.replace('partition "app" "x" {', 'partition "app" "x" {\n  store = store.lake')
        block = f"  here {{\n    {here}\n  }}\n" if here else ""
        named = "  connection = connection.aws.default\n" if connection else ""
        text += f'store "lake" {{\n  location = "{location or install / "lake"}"\n{named}{block}}}\n{connection}'
    text += 'workspace "default" {\n  host = "web-1"\n}\n'
    (install / "config").mkdir(exist_ok=True)
    (install / "config" / "main.tpc").write_text(text)


def opened(install: Path, say: Callable[[str], None] = lambda _: None) -> Workspace:
    return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(install)}, engine=InProcessEngine(), say=say)


def write(install: Path, name: str, days: int = 1, message: str = "") -> None:
    """Write a log for each of some days; one that is written again with other rows has changed."""
    for back in range(days):
        day = TODAY - timedelta(days=back + 2)
        path = install / "logs" / name / f"{day}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"time": f"{day}T10:00:00Z", "message": message or name}) + "\n")


def log(install: Path) -> list[str]:
    """The keys of the log of the store."""
    return [one.key for one in open_objects(str(install / "lake")).list("log")]


def free(install: Path) -> list[Path]:
    """Unlink what has left this disk, without the grace period; the stored files that are still here."""
    objects = open_objects(str(install / "lake"))
    with opened(install).home.catalog() as catalog, catalog.writer(NAME) as writer:
        settle(writer, objects, lambda files: [], grace=timedelta(0))
    return [path for path in (install / "data" / "default" / ".tailpipe" / "files").rglob("*") if path.is_file()]
