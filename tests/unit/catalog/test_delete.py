"""Deleting drops by date, in one transaction, and is remembered."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from tailpipe.errors import UsageError
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace

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
