"""A column gets a type that its files cannot have: the message names a way out, and the way leads out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tailpipe.cli.report import print_report
from tailpipe.model.coverage import EVERY_DAY
from tests.unit.collect.support import CONFIG, NOW, World

FIRST = NOW.date() - timedelta(days=5)
CHANGED = CONFIG.replace('type = "varchar"', 'type = "integer"')
REFUSED = 'column "message" of table "app" is varchar in existing files and cannot become integer'


def delete(world: World) -> None:
    with world.catalog() as catalog:
        catalog.delete("app.x", EVERY_DAY)


def test_a_refused_type_can_be_had_by_the_commands_in_the_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    world.write(f"{FIRST}.jsonl", "1")
    assert world.collect().is_done
    world.text = CHANGED
    report = world.report()
    again = f"tailpipe partition delete app.x, then tailpipe collect app.x --from {FIRST}"
    print_report(report, "pretty")
    assert capsys.readouterr().out == f"app.x: failed: {REFUSED} (use a wider type or another name; or: {again})\n"

    delete(world)
    print_report(world.report(), "pretty")
    assert capsys.readouterr().out.splitlines() == [
        "app.x: no new data",
        f"  source file: 1 artifact outside the requested window, {FIRST};"
        f" to collect them: tailpipe collect app.x --from {FIRST}",
    ]
    assert world.collect(str(FIRST)).is_done
    assert world.rows() == [1]


def test_files_of_another_partition_stand_in_the_way_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write(f"{FIRST}.jsonl", "1")
    world.collect()
    world.text = CHANGED.replace('partition "app" "x"', 'partition "app" "y"')
    again = "tailpipe partition delete 'app.*', then tailpipe collect 'app.*' --from FIRST_DAY"
    assert world.collect().error == f"{REFUSED} (use a wider type or another name; or: {again})"


def test_rows_that_were_all_rejected_are_still_read_again_by_overwriting(tmp_path: Path) -> None:
    world = World(tmp_path)
    (world.logs / f"{FIRST}.jsonl").write_text("no json\n")
    assert world.collect().accounts.rejected == 1
    world.text = CHANGED
    assert world.collect().is_stale
