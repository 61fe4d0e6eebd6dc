"""Deleting drops by date, in one transaction, and is remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import pytest

from tailpipe.errors import UsageError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Staged, StagedArtifact
from tests.crash.collector import stage, stage_rejected
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace, entry

BEFORE = date(2024, 1, 30)


def test_dates_are_dropped_and_marked_and_the_unit_knows_what_it_lost(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1", "2"]), ("a", BEFORE, ["3"])])
    workspace.collect([("a", BEFORE, ["4"])], day=BEFORE, origin="b.log")
    with workspace.open() as catalog:
        preview = catalog.preview_deletion(PARTITION, DaySet.of([BEFORE]))
        assert (preview.files, preview.rows, preview.dates) == (2, 2, DaySet.of([BEFORE]))
        assert len(catalog.delete(PARTITION, DaySet.of([BEFORE])).retired) == 2
        state = catalog.state(PARTITION)
    assert workspace.ids() == workspace.hive_ids() == Counter(["1", "2"])
    assert state.coverage["file"].dropped == DaySet.of([BEFORE])
    assert state.coverage["file"].covered == DaySet.of([DAY])
    assert state.lost == {Unit(day=DAY): DaySet.of([BEFORE]), Unit(day=BEFORE): DaySet.of([BEFORE])}
    assert len(state.ledger) == 2


def test_a_unit_that_is_collected_again_has_lost_nothing_any_more(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with workspace.open() as catalog:
        catalog.delete(PARTITION, DaySet.of([DAY]))
    workspace.collect([("a", DAY, ["1"])], kind="replace")
    with workspace.open() as catalog:
        state = catalog.state(PARTITION)
    assert state.lost == {}
    assert state.coverage["file"].covered == DaySet.of([DAY])
    assert workspace.ids() == Counter(["1"])


def test_everything_of_a_partition_can_go_and_nothing_of_another(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    workspace.collect([("a", DAY, ["2"])], partition="app_log.other")
    with workspace.open() as catalog:
        catalog.delete(PARTITION)
        assert [(one.name, one.rows) for one in catalog.partitions()] == [
            ("app_log.other", 1),
            (PARTITION, 0),
        ]
    assert workspace.hive_ids() == Counter(["2"])
    assert not (workspace.home / "tp_table=app_log" / "tp_partition=prod").exists()


def test_an_unknown_partition_is_not_found(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with (
        workspace.open() as catalog,
        pytest.raises(UsageError, match=r"^partition not found: app_log\.nope\n") as caught,
    ):
        catalog.delete("app_log.nope")
    assert caught.value.exit_code == 2
    assert "app_log.prod" in caught.value.hint


def test_deleting_what_is_not_there_is_no_error(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with workspace.open() as catalog:
        assert catalog.delete(PARTITION, DaySet.of([date(2020, 1, 1)])).retired == ()
        assert catalog.state(PARTITION).coverage["file"].dropped == DaySet()


def test_days_of_which_something_is_known_are_dropped_also_without_rows_and_no_others(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    workspace.collect([], day=BEFORE, origin="empty.log")
    with workspace.open() as catalog:
        assert catalog.preview_deletion(PARTITION, DaySet.span(date(2020, 1, 1), DAY)).dates == DaySet.of([DAY])
        catalog.delete(PARTITION, DaySet.span(date(2020, 1, 1), DAY))
        assert catalog.state(PARTITION).coverage["file"].dropped == DaySet.span(BEFORE, DAY)


@pytest.mark.parametrize(
    ("unit", "days", "rows", "rejected"),
    [
        (Unit(day=DAY), DaySet.of([BEFORE]), 1, 2),  # they go with the Day of their unit
        (Unit(day=DAY), DaySet.of([DAY]), 1, 0),
        (Unit(day=DAY), DaySet.span(BEFORE, DAY), 0, 0),
        (Unit(day=date(2024, 2, 1)), DaySet.of([date(2024, 2, 1)]), 2, 0),
        (Unit(pack="p"), DaySet.of([BEFORE]), 1, 2),  # those of a pack with its last rows
        (Unit(pack="p"), DaySet.of([date(2020, 1, 1)]), 2, 2),
        (Unit(pack="p"), DaySet.span(BEFORE, DAY), 0, 0),
        (Unit(pack="p"), EVERY_DAY, 0, 0),
    ],
)
def test_rejected_rows_go_with_the_day_of_their_unit_or_the_last_rows_of_a_pack(
    workspace: Workspace, unit: Unit, days: DaySet, rows: int, rejected: int
) -> None:
    reject(workspace, unit, {DAY: ["1"], BEFORE: ["2"]})
    with workspace.open() as catalog:
        told = catalog.preview_deletion(PARTITION, days)
        catalog.delete(PARTITION, days)
        (totals,) = catalog.partitions()
    assert (totals.rows, totals.rejected_rows) == (rows, rejected)
    assert (told.rows, told.rejected) == (2 - rows, 2 - rejected)


def test_a_pack_of_which_nothing_was_kept_goes_with_everything_only(workspace: Workspace) -> None:
    reject(workspace, Unit(pack="p"), {})
    with workspace.open() as catalog:
        for days, left in ((DaySet.span(date(2020, 1, 1), DAY), 2), (EVERY_DAY, 0)):
            catalog.delete(PARTITION, days)
            assert [totals.rejected_rows for totals in catalog.partitions()] == [left]


def reject(workspace: Workspace, unit: Unit, kept: Mapping[date, Sequence[str]]) -> None:
    """Commit these rows, and two that were rejected."""
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(unit)
        files = [stage(transaction.staging, f"part-{day}", "a", day, ids) for day, ids in kept.items()]
        rows = sum(file.rows for file in files)
        known = replace(entry("a.log", DAY, rows + 2), unit=unit)
        accounts = Accounts(read=rows + 2, kept=rows, rejected=2)
        bad = stage_rejected(transaction.staging, "bad", 2)
        transaction.commit(Staged((*files, bad), (StagedArtifact(known, accounts),)))
