"""A world in which a program logs and rotates while runs collect: what they have in the end is every row, once."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.unit.collect.rotating import UNDATED
from tests.unit.collect.support import World

WRITER = Path(__file__).parents[2] / "rotating_writer.py"


def collect_while_it_turns(world: World, style: str, *, rounds: int, pause: float) -> None:
    """Collect until so many runs have had a rotation meanwhile, then let the program end, and look at the rows."""
    world.text = UNDATED
    program = [sys.executable, str(WRITER), str(world.logs), style, str(pause)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        try:
            while rounds:
                before = _rotations(world)
                _collect(world)
                rounds -= _rotations(world) > before
                assert not world.has_twins()
        except BaseException:
            writer.kill()
            raise
        written = int(writer.communicate()[0])
    for _ in range(2):
        assert _collect(world)
    found, expected = [row[:7] for row in world.rows()], [f"{number:07d}" for number in range(written)]
    assert found == expected, (sorted(set(expected) - set(found))[:5], len(found), len(expected))
    assert not world.has_twins()


def _collect(world: World) -> bool:
    world.now = datetime.now(UTC) - timedelta(minutes=2)  # each run adds them
    summary = world.collect()
    assert not summary.error, summary
    assert not summary.bad_artifacts, summary
    return summary.is_done


def _rotations(world: World) -> int:
    path = world.root / "rotations"
    return int(path.read_text() or 0) if path.exists() else 0
