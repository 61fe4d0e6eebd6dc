"""Collects in a process that can be killed: `python -m tests.feeds.collector DIRECTORY CONFIG NOW FAILPOINTS`."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from tests.unit.collect.support import World

if __name__ == "__main__":
    root, config, now, points = sys.argv[1:]
    done = World(Path(root), Path(config).read_text(), datetime.fromisoformat(now), points=points).collect()
    sys.exit(not done.is_done)
