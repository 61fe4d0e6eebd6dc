"""A `table` block says all that a table of a plugin says."""

from __future__ import annotations

from tailpipe.config.config import Config
from tailpipe.config.encoder import config_text
from tailpipe.formats import Json
from tailpipe.model.table import Column, Table
from tests.unit.config.world import build

WHOLE = """
table "calls" {
  description = "One row for each call."
  keys        = "camel"
  additional  = "additional"
  row_key     = ["event_id"]
  tp_index    = "account_id"
  layouts     = { file = "[^/]*", any_bucket = "%{YEAR:year}/[^/]*" }
  nested_keys = { raw = "struct(a varchar)" }

  format "json" { records = "Records" }

  column "event_id" { type = "varchar" source = "eventID" }
  column "account_id" { type = "varchar" source = "account.id" }
  column "event_time" { time_format = ["epoch_ms", "iso"] }
  column "who" { type = "struct(user_name varchar)" }

  common {
    tp_timestamp = eventTime
    tp_ips       = [client.ip, "hops[*].address", "split_part(raw, ' ', 1)"]
    tp_akas      = "tp_texts([a, b])"
    tp_tags      = detail-type
  }
}
"""


def test_a_block_makes_the_same_table_as_python() -> None:
    assert build(WHOLE).tables["calls"] == Table(
        name="calls",
        description="One row for each call.",
        format=Json(name="calls", records="Records"),
        keys="camel",
        additional="additional",
        columns=[
            Column("event_id", "varchar", source="eventID"),
            Column("account_id", "varchar", source="account.id"),
            Column("event_time", "timestamp", time_format=("epoch_ms", "iso")),
            Column("who", "struct(user_name varchar)"),
        ],
        common={
            "tp_timestamp": ("eventTime",),
            "tp_ips": ("client.ip", "hops[*].address", "split_part(raw, ' ', 1)"),
            "tp_akas": "tp_texts([a, b])",
            "tp_tags": ('"detail-type"',),
        },
        nested_keys={"raw": "struct(a varchar)"},
        layouts={"file": "[^/]*", "any_bucket": "%{YEAR:year}/[^/]*"},
        row_key=("event_id",),
        tp_index="account_id",
    )


def test_what_is_printed_is_read_back_as_the_same_table() -> None:
    config = build(WHOLE)
    printed = config_text(Config(tables=config.tables))
    assert build(printed).tables == config.tables


def test_a_partition_takes_index_and_key_from_its_table() -> None:
    source = 'source "file" { paths = ["/logs"] }'
    config = build(
        WHOLE
        + f'partition "calls" "one" {{ dedupe = true\n {source} }}\n'
        + f'partition "calls" "two" {{ tp_index = "event_id"\n {source} }}'
    )
    one, two = config.partitions["calls.one"], config.partitions["calls.two"]
    assert (one.tp_index, one.dedupe_key) == ("account_id", ("event_id",))
    assert (two.tp_index, two.dedupe_key) == ("event_id", ())


def test_a_table_extends_another_by_what_it_says() -> None:
    tables = build(
        WHOLE
        + """
        table "mine" {
          extend      = "calls"
          description = "My calls."
          column "account_id" { transform = "upper(account.id)" }
          column "team" { type = "varchar" source = "team.name" }
          common { tp_akas = [team.name] }
          layouts = { file = "x/[^/]*" }
        }
        """
    ).tables
    base, mine = tables["calls"], tables["mine"]
    names = ["event_id", "account_id", "event_time", "who", "team", "additional"]
    assert [column.name for column in mine.columns] == names
    assert mine.column("account_id") == Column("account_id", "varchar", transform="upper(account.id)")
    assert mine.column("event_id") == base.column("event_id")
    assert (mine.description, mine.format, mine.row_key, mine.extend) == (
        "My calls.",
        base.format,
        base.row_key,
        None,
    )
    assert mine.common == {**base.common, "tp_akas": ("team.name",)}
    assert mine.layouts == {**base.layouts, "file": "x/[^/]*"}


def test_a_table_may_extend_one_of_a_plugin_even_under_its_own_name() -> None:
    tables = build(
        'table "aws_cloudtrail_log" {\n extend = "aws_cloudtrail_log"\n'
        ' column "addendum" { type = "json" }\n column "read_only" { type = "varchar" }\n }'
    ).tables
    table = tables["aws_cloudtrail_log"]
    assert (table.columns[-2].name, table.columns[-1].name) == ("addendum", "additional")
    changed = table.column("read_only")
    assert changed is not None
    assert (changed.type, changed.source, changed.description) == (
        "varchar",
        "readOnly",
        "Whether nothing could be changed by it.",
    )
    assert "aws_s3_bucket" in table.layouts
    assert table.map_fields == ()
