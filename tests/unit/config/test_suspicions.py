from __future__ import annotations

from tailpipe.config.suspicions import broken_layouts, unknown_tables
from tests.unit.config.world import build

CONFIG = """schema "a" { tables = ["web_log", "web_*", "old_log"] }
schema "b" {
  tables = ["wbe_log"]
}
schema "c" {}
"""


def test_a_table_that_nobody_knows_is_told_where_it_stands() -> None:
    found = list(unknown_tables(build(CONFIG), ["web_log", "old_log"]))
    assert [(str(one.place), one.hint) for one in found] == [("main.tpc:3:13", 'did you mean "web_log"?')]


def test_a_table_that_only_holds_data_is_known_and_wildcards_are_not_asked() -> None:
    assert [one.place.line for one in unknown_tables(build(CONFIG), ["web_log"])] == [1, 3]
    assert not list(unknown_tables(build(CONFIG), ["web_log", "old_log", "wbe_log"]))


def test_only_the_schemas_that_are_used_are_looked_at() -> None:
    assert not list(unknown_tables(build(CONFIG), ["web_log", "old_log"], ["a", "c"]))
    assert len(list(unknown_tables(build(CONFIG), ["web_log", "old_log"], ["b"]))) == 1


def test_a_layout_of_a_table_that_cannot_be_read_is_told_where_it_stands() -> None:
    config = build(
        'table "t" {\n  layouts = { file = "%{YEER:year}/x", any_bucket = "[^/]*" }\n'
        '  column "tp_timestamp" { source = "time" }\n}'
    )
    (found,) = broken_layouts(config)
    assert (found.place.line, found.place.column) == (2, 22)
    assert "YEER" in found.message
