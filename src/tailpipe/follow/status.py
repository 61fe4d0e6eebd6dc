"""The state of the loop, as health checks and metrics show it; written by the loop, read by the server's threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tailpipe.frozen import frozen
from tailpipe.model.artifact import Accounts


@frozen
class PartitionStatus:
    """What the loop knows of a partition since it began. Times are seconds since 1970."""

    accounts: Accounts = field(default_factory=Accounts)
    bytes: int = 0
    artifacts: int = 0
    runs: int = 0
    failures: int = 0
    seconds: float = 0.0
    """The time of all runs; `last_seconds` that of the last one."""
    last_seconds: float = 0.0
    last_success: float | None = None
    error: str = ""
    """Why the last run failed; empty if it did not."""
    is_stuck: bool = False

    @property
    def is_healthy(self) -> bool:
        """Whether its last run succeeded, and none hangs."""
        return not (self.error or self.is_stuck)


@frozen
class State:
    """The loop at one instant."""

    partitions: Mapping[str, PartitionStatus] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    """Why tasks (maintenance, push, detect) fail or hang, by their names."""
    hits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """New hits by detection and severity."""
    is_ready: bool = False
    is_stopping: bool = False
    has_engine: bool = False
    config_error: str = ""
    """Why the config could not be reloaded; the one before is in use."""
    begun: float = 0.0

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong, by partition or task."""
        found = {name: one.error or "the run is stuck" for name, one in self.partitions.items() if not one.is_healthy}
        return {**found, **self.tasks, **({"config": self.config_error} if self.config_error else {})}


@dataclass
class Status:
    """The current state; a change replaces it as a whole."""

    state: State = field(default_factory=State)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def set(self, **changes: object) -> None:
        """Change facts of the loop."""
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def choose(self, partitions: Iterable[str]) -> None:
        """Show these partitions; what is known of them stays."""
        with self._lock:
            known = self.state.partitions
            chosen = {name: known.get(name, PartitionStatus()) for name in partitions}
            self.state = replace(self.state, partitions=chosen)

    def change(self, partition: str, **changes: object) -> None:
        """Change facts of a partition that is shown."""
        with self._lock:
            known = self.state.partitions
            if partition in known:
                one = replace(known[partition], **changes)  # type: ignore[arg-type]
                self.state = replace(self.state, partitions={**known, partition: one})

    def task(self, name: str, problem: str) -> None:
        """Show why a task fails; nothing if it does not."""
        with self._lock:
            others = {key: value for key, value in self.state.tasks.items() if key != name}
            self.state = replace(self.state, tasks={**others, name: problem} if problem else others)

    def add_hits(self, hits: Mapping[tuple[str, str], int]) -> None:
        """Count new hits."""
        with self._lock:
            total = dict(self.state.hits)
            for key, count in hits.items():
                total[key] = total.get(key, 0) + count
            self.state = replace(self.state, hits=total)
