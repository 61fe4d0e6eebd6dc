"""Values of `tp_index` that are awkward as names of directories: each row comes back with its own value."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.collect.support import CONFIG, World
from tests.unit.collect.test_run import days_ago

VALUES = [
    "a/b", "/etc/passwd", "..", "../../x", ".", "a\nb", "a\tb", "a\x00b", "x" * 300, "x" * 299 + "y", "é" * 200,
    "A", "a", "a.", "a ", " a", "", "e\u0301", "\u00e9", "con", "a=b", "a%2Fb", "*?[]{}", "\u202e", "\U0001f600", "~",
    "null", "__HIVE_DEFAULT_PARTITION__",
]  # fmt: skip


def test_any_value_of_an_index_is_stored_inside_the_workspace_and_comes_back(tmp_path: Path) -> None:
    text = CONFIG.replace('partition "app" "x" {', 'partition "app" "x" {\n  tp_index = "account"')
    world = World(
        tmp_path, text=text.replace('table "app" {', 'table "app" {\n  column "account" { type = "varchar" }')
    )
    rows = [{"time": f"{days_ago(1)}T10:00:00Z", "message": value, "account": value} for value in VALUES]
    (world.logs / f"{days_ago(1)}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = {path.name for path in tmp_path.iterdir()}
    summary = world.collect()
    assert summary.is_done, (summary.failed, summary.error)
    assert summary.accounts.kept == len(VALUES)
    assert sorted(world.rows()) == sorted(VALUES)
    found = dict(world.rows("message, tp_index"))
    assert {value: found[value] for value in VALUES if value} == {value: value for value in VALUES if value}
    assert {path.name for path in tmp_path.iterdir()} - before == {"home"}
    names = [path.name for path in (tmp_path / "home").rglob("tp_index=*")]
    assert all(len(name.encode()) <= 255 and name.isprintable() and not name.endswith(" ") for name in names)
    folded = {path.relative_to(tmp_path).as_posix().casefold() for path in (tmp_path / "home").rglob("*.parquet")}
    assert len(folded) == len(list((tmp_path / "home").rglob("*.parquet")))
    assert world.collect().is_done
    assert sorted(world.rows()) == sorted(VALUES)
