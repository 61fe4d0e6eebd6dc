"""Plans carried out with the real catalog: it ends where the least catalog of the plans' own test ends."""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.rebuild import rebuild
from tailpipe.collect.plan import Plan, UnitPlan
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import Coverage, DaySet, Drop
from tailpipe.model.ledger import LedgerEntry
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tests.crash.collector import stage
from tests.crash.harness import read_ids
from tests.examples import examples
from tests.properties import test_planning as plans

PARTITION = "app_log.prod"
Identity = tuple[str, int]


class Both(plans.Catalog):
    """The least catalog and the real one, doing the same and compared after each deed."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self.home = home
        self.is_inside = False

    def __deepcopy__(self, memo: dict[int, object]) -> plans.Catalog:
        return plans.Catalog(
            copy.deepcopy(self.coverage, memo),
            copy.deepcopy(self.ledger, memo),
            copy.deepcopy(self.lost, memo),
            copy.deepcopy(self.rows, memo),
        )

    def drop(self, days: DaySet) -> None:
        known = dict(self.coverage)
        dates = DaySet.of(line.day for rows in self.rows.values() for line in rows.values())
        super().drop(days)
        # Days of which nothing is known are not dropped: they can still be asked for.
        for name, coverage in known.items():
            self.coverage[name] = coverage.after(Drop(days & (coverage.known | (dates & days))))
        self._really(lambda writer: writer.delete(days))

    def request(self, plan: Plan) -> None:
        super().request(plan)
        self._really(lambda writer: writer.begin_run(plans.EVER, plan.requests, frontiers=plan.frontiers))

    def note(self, entry: LedgerEntry) -> None:
        super().note(entry)
        if not self.is_inside:
            self._really(lambda writer: writer.note([entry]))

    def cover(self, covers: tuple[Covered, ...]) -> None:
        super().cover(covers)
        if not self.is_inside:
            self._really(lambda writer: writer.note([], covers))

    def commit(self, unit: UnitPlan, logs: dict[str, plans.Log], now: datetime) -> None:
        before = copy.deepcopy(self.rows)
        self.is_inside = True
        super().commit(unit, logs, now)
        self.is_inside = False
        drops = {entry.identity for entry in unit.drops}
        taken = {(one.origin, one.generation): one for one in unit.artifacts}
        fresh: dict[str, date] = {}
        staged = []
        for identity, one in taken.items():
            old = {} if identity in drops else before.get(identity, {})
            rows = {key: line for key, line in self.rows[identity].items() if key not in old}
            fresh |= _ids(identity, rows)
            read = len(logs[one.artifact.uri].lines) - one.offset_rows
            accounts = Accounts(read=read, kept=len(rows), out_of_window=read - len(rows))
            staged.append(StagedArtifact(self.ledger[identity], accounts, one.offset_bytes, one.offset_rows))
        carried: dict[str, date] = {}
        if unit.kind == "rewrite":
            for entry in unit.keeps:
                carried |= _ids(entry.identity, before.get(entry.identity, {}))
        self._really(lambda writer: self._commit(writer, unit, fresh, carried, staged))

    def _commit(
        self,
        writer: Writer,
        unit: UnitPlan,
        fresh: dict[str, date],
        carried: dict[str, date],
        staged: list[StagedArtifact],
    ) -> None:
        by_date: dict[date, list[str]] = {}
        for identifier, day in (fresh | carried).items():
            by_date.setdefault(day, []).append(identifier)
        with writer.begin(unit.unit, unit.kind) as transaction:
            files = tuple(stage(transaction.staging, f"part-{day}", "", day, ids) for day, ids in by_date.items())
            draft = Staged(files, tuple(staged), unit.covers, carried=len(carried), restores=unit.restores)
            if unit.kind == "rewrite":
                live = writer.database.connection.execute(
                    "SELECT path FROM files WHERE unit = ? AND state = 'live'", (str(unit.unit),)
                )
                draft = replace(
                    draft,
                    retires=tuple(path for (path,) in live),
                    drops=tuple(entry.identity for entry in unit.drops),
                )
            transaction.commit(draft)

    def _really(self, deed: Callable[[Writer], object]) -> None:
        with Catalog.open(self.home) as catalog, catalog.writer(PARTITION) as writer:
            deed(writer)
        self.compare()

    def compare(self) -> None:
        with Catalog.open(self.home) as catalog:
            state = catalog.state(PARTITION)
            rows = read_ids(catalog.snapshot().paths())
        assert {name: state.coverage.get(name, Coverage()) for name in self.coverage} == self.coverage
        assert {entry.identity: entry for entry in state.ledger} == self.ledger
        assert state.lost == {unit: days for unit, days in self.lost.items() if days}
        assert rows == Counter(key for identity, held in self.rows.items() for key in _ids(identity, held))


class Collecting(plans.Collecting):
    """Everything that the plans' own test does, with the real catalog beside."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.real = Both(self.place / "ws")
        self.world.catalog = self.real

    def teardown(self) -> None:
        try:
            super().teardown()
            assert doctor.examine(self.real.home, with_checksums=True) == []
            rebuild(self.real.home)
            self.real.compare()
        finally:
            shutil.rmtree(self.place)


def _ids(identity: Identity, rows: dict[int, plans.Line]) -> dict[str, date]:
    origin, generation = identity
    return {f"{origin}/{generation}-{ordinal}": line.day for ordinal, line in rows.items()}


def test_plans_and_the_catalog_agree() -> None:
    run_state_machine_as_test(
        Collecting,
        settings=settings(
            max_examples=examples(15), stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
