"""Whatever happens to a partition, in whatever order: the rows are those of a plain dict."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.database import utc_now
from tailpipe.catalog.failpoints import NAMES
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import LockedError
from tests.crash.collector import PARTITION, perform_step
from tests.crash.harness import Server, read_ids
from tests.crash.world import FIRST, Step, Taken
from tests.examples import examples

DAYS = st.integers(0, 3).map(lambda number: FIRST + timedelta(days=number))
COUNTS = st.integers(1, 3)
PICKS = st.integers(0, 1_000)


@dataclass
class Log:
    """What was taken of one generation of an artifact: its rows, in order, and the name it has now."""

    unit: date
    uri: str
    rows: list[tuple[str, date]] = field(default_factory=list)


class Machine(RuleBasedStateMachine):
    """A collector and its model: logs by identity, and the live rows by id."""

    server: Server

    def __init__(self) -> None:
        super().__init__()
        # In memory, if there is one: a kill loses nothing there either, and fsync costs nothing.
        self.place = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.home = self.place / "ws"
        self.logs: dict[tuple[str, int], Log] = {}
        self.live: dict[str, date] = {}
        self.offset = timedelta()
        self.steps = 0
        self.names = 0

    def teardown(self) -> None:
        try:
            if self.home.exists():
                with self._open() as catalog, catalog.writer(PARTITION):
                    pass
                assert doctor.examine(self.home, with_checksums=True) == []
                self._compare()
                rebuild(self.home)
                self._compare()
        finally:
            shutil.rmtree(self.place)

    @rule(day=DAYS, count=COUNTS, failpoint=st.sampled_from(["", *NAMES]))
    def append_a_new_or_late_artifact(self, day: date, count: int, failpoint: str) -> None:
        self.names += 1
        self._append((f"log-{self.names}", 0), day, count, failpoint)

    @precondition(lambda self: self.logs)
    @rule(pick=PICKS, count=COUNTS, failpoint=st.sampled_from(["", *NAMES]))
    def grow(self, pick: int, count: int, failpoint: str) -> None:
        identity = self._pick(pick)
        self._append(identity, self.logs[identity].unit, count, failpoint)

    @precondition(lambda self: self.logs)
    @rule(pick=PICKS, count=COUNTS)
    def truncate_so_that_a_new_generation_begins(self, pick: int, count: int) -> None:
        origin, generation = self._pick(pick, newest=True)
        self._append((origin, generation + 1), self.logs[origin, generation].unit, count, "")

    @precondition(lambda self: self.logs)
    @rule(pick=PICKS, count=COUNTS)
    def rotate_to_another_name(self, pick: int, count: int) -> None:
        origin, generation = self._pick(pick, newest=True)
        log = self.logs[origin, generation]
        log.uri = f"{origin}.{generation + 1}"
        with self._open() as catalog, catalog.writer(PARTITION) as writer:
            entry = next(one for one in catalog.state(PARTITION).ledger if one.identity == (origin, generation))
            writer.note([replace(entry, uri=log.uri)])
        self._append((origin, generation + 1), log.unit, count, "")

    @precondition(lambda self: self.logs)
    @rule(pick=PICKS, failpoint=st.sampled_from(["", *NAMES]))
    def replace_a_unit(self, pick: int, failpoint: str) -> None:
        unit = self.logs[self._pick(pick)].unit
        members = {identity: log for identity, log in self.logs.items() if log.unit == unit}
        rows = [row for log in members.values() for row in log.rows]
        taken = tuple(
            Taken(origin, generation, 0, len(log.rows), len(log.rows)) for (origin, generation), log in members.items()
        )
        step = self._step("replace", unit, rows, taken)
        if self._do(step, self.live | dict(rows), failpoint):
            for (origin, generation), log in members.items():
                self._own(origin, generation, log)

    @rule(day=DAYS, failpoint=st.sampled_from(["", *NAMES]))
    def delete_a_date(self, day: date, failpoint: str) -> None:
        if not self.home.exists():
            return
        self.steps += 1
        step = Step(self.steps, "delete", dates=(day.isoformat(),))
        self._do(step, {key: when for key, when in self.live.items() if when != day}, failpoint)

    @rule()
    def clean_up(self) -> None:
        self.steps += 1
        self._do(Step(self.steps, "clean"), self.live, "")

    @rule(days=st.integers(-3, 3))
    def let_the_clock_jump(self, days: int) -> None:
        self.offset += timedelta(days=days)

    @rule()
    def try_a_second_writer(self) -> None:
        with self._open() as first, first.writer(PARTITION), self._open() as second:
            blocked = second.writer(PARTITION)
            with pytest.raises(LockedError):
                blocked.__enter__()

    @invariant()
    def the_rows_are_those_of_the_model(self) -> None:
        if (self.home / ".tailpipe" / "catalog.db").exists():
            self._compare()

    def _append(self, identity: tuple[str, int], unit: date, count: int, failpoint: str) -> None:
        origin, generation = identity
        log = self.logs.get(identity) or Log(unit, origin)
        since = len(log.rows)
        dates = [unit - timedelta(days=n % 2) for n in range(since, since + count)]
        rows = [(f"{origin}/{generation}-{since + n}", day) for n, day in enumerate(dates)]
        step = self._step("append", unit, rows, (Taken(origin, generation, since, since + count, count),))
        if self._do(step, self.live | dict(rows), failpoint):
            log.rows += rows
            self.logs[identity] = log
            self._own(origin, generation, log)

    def _own(self, origin: str, generation: int, log: Log) -> None:
        """The collector of the tests commits every artifact under its origin: others lose that name."""
        for identity, other in self.logs.items():
            if other.uri == origin and identity != (origin, generation):
                other.uri = ""
        log.uri = origin

    def _step(self, kind: str, unit: date, rows: list[tuple[str, date]], taken: tuple[Taken, ...]) -> Step:
        self.steps += 1
        groups: dict[tuple[str, str], list[str]] = {}
        for identifier, day in rows:
            groups.setdefault((identifier[-1], day.isoformat()), []).append(identifier)
        files = tuple((index, day, tuple(ids)) for (index, day), ids in groups.items())
        return Step(self.steps, kind, unit.isoformat(), files, taken)  # type: ignore[arg-type]

    def _do(self, step: Step, after: dict[str, date], failpoint: str) -> bool:
        """Do a step, perhaps killed on the way; returns whether it took effect, as a reader sees it."""
        if not failpoint:
            with self._open() as catalog, catalog.writer(PARTITION) as writer:
                perform_step(catalog, writer, step)
            self.live = after
            return True
        status, error = self.server.ask(
            home=str(self.home),
            steps=[json.dumps(asdict(step))],
            failpoint=f"{failpoint}=kill",
            mutant="",
            disk="plain",
            journal="",
        )
        assert status in (0, -9), error
        if not (self.home / ".tailpipe" / "catalog.db").exists():
            return False
        is_done = status == 0 or (after != self.live and self._seen() == Counter(after.keys()))
        self.live = after if is_done else self.live
        return is_done or (after == self.live and self._is_in_ledger(step))

    def _is_in_ledger(self, step: Step) -> bool:
        with self._open() as catalog:
            return any(entry.etag == f"step-{step.number}" for entry in catalog.state(PARTITION).ledger)

    def _pick(self, number: int, *, newest: bool = False) -> tuple[str, int]:
        known = sorted(self.logs)
        origin, generation = known[number % len(known)]
        return (origin, max(of for name, of in known if name == origin)) if newest else (origin, generation)

    def _compare(self) -> None:
        assert self._seen() == Counter(self.live.keys())
        with self._open() as catalog:
            ledger = catalog.state(PARTITION).ledger
        found = {entry.identity: (entry.uri or "", entry.committed_ordinals) for entry in ledger}
        assert found == {identity: (log.uri, len(log.rows)) for identity, log in self.logs.items()}

    def _seen(self) -> Counter[str]:
        with self._open() as catalog:
            return read_ids(catalog.snapshot().paths())

    def _open(self) -> Catalog:
        return Catalog.open(self.home, clock=self._now)

    def _now(self) -> datetime:
        return utc_now() + self.offset


def test_any_history_gives_the_rows_of_the_model() -> None:
    with Server() as server:
        Machine.server = server
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=examples(25),
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
