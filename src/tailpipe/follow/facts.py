"""What metrics need of the catalog, read at most every few seconds, however often it is requested."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from tailpipe.collect.scope import missing_days
from tailpipe.errors import TailpipeError
from tailpipe.follow.metrics import Facts, PartitionFacts
from tailpipe.home.home import Home
from tailpipe.operations.detect import waiting_alerts
from tailpipe.operations.facts import overview

_SECONDS = 5.0


class CachedFacts:
    """The facts of a few seconds ago at most; None if the catalog cannot be read."""

    def __init__(self, read: Callable[[], Facts], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._until = float("-inf")
        self._facts: Facts | None = None

    def __call__(self) -> Facts | None:
        """Read them if it is time."""
        with self._lock:
            if self._clock() >= self._until:
                try:
                    self._facts = self._read()
                except TailpipeError:
                    self._facts = None
                self._until = self._clock() + _SECONDS
            return self._facts


def read_facts(home: Home) -> Facts:
    """What the catalog knows of the partitions of the config."""
    now, known = datetime.now(UTC), {one.totals.name: one for one in overview(home)}
    found = {}
    for name, partition in home.config.partitions.items():
        one, store = known.get(name), home.stores.of(name)
        if one is None:
            found[name] = PartitionFacts(store=store.name if store else None)
            continue
        event, since = one.totals.last_event, one.store.since
        found[name] = PartitionFacts(
            one.totals.rows,
            one.totals.rejected_rows,
            (event if event.tzinfo else event.replace(tzinfo=UTC)).timestamp() if event else None,
            len(missing_days(one, partition, now)),
            store.name if store else None,
            one.store.unpushed,
            since.timestamp() if since else None,
        )
    alerts = waiting_alerts(home)
    lost = sum(one.is_given_up for one in alerts)
    return Facts(found, len(alerts) - lost, lost)
