"""Collects in a process that can be killed: `python -m tests.http.collector DIRECTORY CONFIG FROM`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.http.world import world

if __name__ == "__main__":
    root, text, start = sys.argv[1:]
    done = world(Path(root), Path(text).read_text()).collect(start, "2024-03-10")
    sys.exit(not done.is_done)
