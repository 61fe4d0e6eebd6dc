"""A run of a partition, as the history of runs records it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal

from tailpipe.frozen import frozen
from tailpipe.model.artifact import Accounts
from tailpipe.model.meter import Spent, ordered
from tailpipe.model.window import Window

Ended = Literal["done", "failed", "interrupted"]
"""How a run came to its end."""
Outcome = Literal["running", "done", "failed", "interrupted"]


@frozen
class RunFacts:
    """What a run took and brought."""

    seconds: float = 0.0
    bytes: int = 0
    """How many bytes the sources gave for what was committed."""
    artifacts: int = 0
    accounts: Accounts = field(default_factory=Accounts)
    profile: Mapping[str, Spent] = field(default_factory=dict)
    """Where time went, by phase."""
    error: str = ""


@frozen
class RunRecord:
    """One run of a partition. `facts` is None if it has not ended, or an earlier version recorded it."""

    id: int
    partition: str
    window: Window
    begun_at: datetime
    ended_at: datetime | None
    outcome: Outcome
    command: str = ""
    facts: RunFacts | None = None
    idle_checks: int = 0
    """How many further runs without news it stands for: those of `collect --follow` that follow each other."""


def profile_text(profile: Mapping[str, Spent]) -> str:
    """The profile as the catalog keeps it: by phase, wall and CPU seconds."""
    return json.dumps({phase: [round(spent.wall, 3), round(spent.cpu, 3)] for phase, spent in ordered(profile).items()})


def profile_from(text: str | None) -> dict[str, Spent]:
    """The way back."""
    return {phase: Spent(*spent) for phase, spent in json.loads(text or "{}").items()}
