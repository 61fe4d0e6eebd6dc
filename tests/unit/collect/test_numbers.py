"""Undeclared fields as numbers in transforms and filters, also when a later file has something else there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from .support import NOW, World

CONFIG = """
format "delimited" "mine" { header = true }
table "app" {
  format = format.delimited.mine
  column "tp_timestamp" { source = "time" }
  column "doubled" { transform = "raw_value * 2" }
  column "class" {
    type      = "varchar"
    transform = "CASE WHEN status_code < 300 THEN 'ok' ELSE 'bad' END"
  }
}
partition "app" "x" {
  filter = "status_code >= 200"
  source "file" { paths = ["LOGS"] }
}
"""
COLUMNS = "second(tp_timestamp), doubled, class, raw_value, status_code, typeof(doubled)"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, CONFIG)
    write(world, "a.csv", "5,200", "7,404", "9,100")
    return world


def write(world: World, name: str, *values: str) -> None:
    day = NOW.date() - timedelta(days=1)
    start = 10 * (ord(name[0]) - ord("a"))
    lines = [f"{day}T10:00:{start + n:02}Z,{one}\n" for n, one in enumerate(values)]
    (world.logs / name).write_text("time,raw_value,status_code\n" + "".join(lines))


def test_undeclared_numbers_are_numbers_in_transforms_and_filters(world: World) -> None:
    summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.filtered, summary.type_errors) == (2, 1, {})
    assert world.rows(COLUMNS) == [(0, 10, "ok", 5, 200, "BIGINT"), (1, 14, "bad", 7, 404, "BIGINT")]


def test_fractions_that_come_later_keep_their_digits(world: World) -> None:
    world.collect()
    write(world, "b.csv", "2.25,200")
    assert world.collect().type_errors == {}
    assert [row[1] for row in world.rows(COLUMNS)] == [10, 14, 4.5]


def test_a_later_value_that_is_no_number_is_null_and_counted_and_earlier_rows_stay(world: World) -> None:
    world.collect()
    write(world, "b.csv", "n/a,200", "8,201")
    summary = world.collect()
    assert summary.is_done
    assert summary.type_errors == {"doubled": 1}
    assert [row[1:4] for row in world.rows(COLUMNS)] == [
        (10, "ok", "5"),
        (14, "bad", "7"),
        (None, "ok", "n/a"),
        (16, "ok", "8"),
    ]


def test_a_row_whose_filter_needs_a_number_and_has_none_is_rejected_not_the_run(world: World) -> None:
    world.collect()
    write(world, "b.csv", "1,none", "2,500", "3,100")
    summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.filtered, summary.accounts.rejected) == (1, 1, 1)
    assert [one.reason for one in summary.rejected_samples] == ["the filter cannot be computed"]
