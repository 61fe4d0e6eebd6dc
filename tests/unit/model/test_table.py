"""Tables, columns, partitions, schemas and settings, as plugins and config make them."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from tailpipe.config.settings import LOG_LEVELS, SparkSettings, WorkspaceSettings
from tailpipe.errors import UsageError
from tailpipe.model.format import Format
from tailpipe.model.option import options_of
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.table import COMMON_COLUMNS, OPTIONAL_COLUMNS, Column, Table
from tailpipe.model.types import parse_type
from tests.unit.model.foreign import Inherited


class Combined(Format):
    """Lines of a web server."""

    type = "combined"


COMBINED = Combined()
TIME = "strptime(time_local, '%d/%b/%Y:%H:%M:%S %z')"


class NginxAccessLog(Table):
    """One row for each request that nginx has served."""

    name = "nginx_access_log"
    format = COMBINED
    columns = [
        Column("remote_addr", "varchar", "Address of the client."),
        Column("status", "integer", "HTTP status of the answer."),
    ]
    common = {"tp_timestamp": TIME, "tp_source_ip": "remote_addr", "tp_ips": "[remote_addr]"}


INSTANCE = Table(
    name="nginx_access_log",
    description="One row for each request that nginx has served.",
    format=COMBINED,
    columns=(
        Column(name="remote_addr", type="string", description="Address of the client."),
        Column(name="status", type="int", description="HTTP status of the answer."),
    ),
    common={"tp_timestamp": TIME, "tp_source_ip": "remote_addr", "tp_ips": "[remote_addr]"},
)


def declared_table() -> Table:
    declared: Any = NginxAccessLog  # its fields all have defaults, which its type cannot tell
    table: Table = declared()
    return table


def facts(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def check(declared: type, name: str, value: object) -> None:
    checked = options_of(declared)[name].check
    assert checked is not None
    checked(value)


# Tables


def test_a_table_declared_as_a_class_says_the_same_as_one_made_as_a_value() -> None:
    # A class is what a plugin brings; a value is what a config says.
    assert facts(declared_table()) == {**facts(INSTANCE), "is_shipped": True}
    assert isinstance(declared_table(), Table)


def test_two_of_the_same_declaration_are_equal_and_travel() -> None:
    for table in (declared_table(), INSTANCE):
        assert pickle.loads(pickle.dumps(table)) == table
    assert declared_table() == declared_table()


def test_the_docstring_of_a_table_becomes_its_description_unless_it_says_another() -> None:
    assert declared_table().description == "One row for each request that nginx has served."
    described: Any = NginxAccessLog
    assert described(description="Mine.").description == "Mine."


def test_a_table_without_a_docstring_has_no_description() -> None:
    class Silent(Table):
        name = "silent"

    silent: Any = Silent
    assert silent().description == ""
    assert Table(name="bare").description == ""


def test_columns_are_kept_as_a_tuple_in_their_order() -> None:
    table = Table(name="t", columns=[Column("b"), Column("a")], map_fields=["x*"])
    assert table.columns == (Column("b"), Column("a"))
    assert table.map_fields == ("x*",)
    assert isinstance(declared_table().columns, tuple)


def test_a_column_is_found_by_its_name() -> None:
    assert INSTANCE.column("status") == Column("status", "integer", "HTTP status of the answer.")
    assert INSTANCE.column("nope") is None


def test_a_table_knows_whether_it_maps_the_time() -> None:
    assert INSTANCE.maps_time
    assert Table(name="t", columns=[Column("tp_timestamp", source="time")]).maps_time
    assert not Table(name="t", columns=[Column("time")], common={"tp_ips": "[ip]"}).maps_time


def test_undeclared_fields_are_mapped_by_default_in_config_and_not_in_python() -> None:
    assert options_of(Table)["map_fields"].default == ("*",)
    assert Table(name="t").map_fields == ()


def test_all_that_python_declares_of_a_table_can_be_said_in_config() -> None:
    said = {option.field for option in options_of(Table).values()}
    assert said == {one.name for one in dataclasses.fields(Table)} - {"is_shipped"}


def test_keys_spell_the_fields_of_columns_that_name_none() -> None:
    columns = [Column("event_name"), Column("id", source="eventID"), Column("who", "struct(user_name varchar)")]
    camel = Table(name="t", keys="camel", columns=[*columns, Column("tp_timestamp"), Column("x", transform="1")])
    assert [column.source for column in camel.columns] == ["eventName", "eventID", "who", None, None]
    assert [column.keys for column in camel.columns] == [None, None, "camel", None, None]
    assert Table(name="t", keys="pascal", columns=columns).columns[0].source == "EventName"


def test_the_rest_of_a_record_gets_a_column_and_no_fields_of_its_own() -> None:
    table = Table(name="t", additional="more", map_fields=("*", "x_*"))
    assert [(column.name, column.type, column.source) for column in table.columns] == [("more", "json", "*")]
    assert table.map_fields == ("x_*",)
    own = Column("more", "json", "Mine.", source="x_*")
    assert Table(name="t", additional="more", columns=[own]).columns == (own,)


def test_a_table_is_frozen_and_shares_no_map_with_another() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        INSTANCE.name = "other"  # type: ignore[misc]
    assert declared_table().common is not declared_table().common
    assert Table(name="a").common is not Table(name="b").common


# Columns


def test_a_column_keeps_its_type_under_the_name_of_the_type_table() -> None:
    assert Column("a", "INT").type == "integer"
    assert Column("a", "struct( x  string )[]").type == "struct(x varchar)[]"
    assert Column("a", "int") == Column("a", "integer")
    assert Column("a", "datetime").column_type == parse_type("timestamp")
    assert Column("a").type is None
    assert Column("a").column_type is None


def test_a_column_of_an_unknown_type_is_refused_where_it_is_declared() -> None:
    with pytest.raises(UsageError, match='there is no type "strng"'):
        Column("a", "strng")


def test_a_column_is_not_required_unless_it_says_so() -> None:
    assert facts(Column("a")) == {
        "name": "a",
        "type": None,
        "description": None,
        "source": None,
        "transform": None,
        "null_if": None,
        "required": False,
        "keys": None,
        "time_format": None,
    }


def test_the_common_columns_are_exactly_those_of_the_design() -> None:
    stamped = ("id", "table", "partition", "index", "source_type", "source_name", "source_location")
    expected = {f"tp_{name}": "varchar" for name in (*stamped, "source_ip", "destination_ip")}
    expected |= {f"tp_{name}": "varchar[]" for name in ("ips", "akas", "usernames", "emails", "domains", "tags")}
    expected |= {"tp_timestamp": "timestamp", "tp_ingest_timestamp": "timestamp", "tp_date": "date"}
    assert {column.name: column.type for column in COMMON_COLUMNS} == expected
    assert len(COMMON_COLUMNS) == 18
    assert [column.name for column in COMMON_COLUMNS] == sorted(expected)
    assert all(column.description and column.description.endswith(".") for column in COMMON_COLUMNS)


def test_a_table_has_the_optional_common_columns_that_it_maps() -> None:
    optional = ["tp_host", "tp_level", "tp_message", "tp_outcome", "tp_service"]
    assert [(column.name, column.type) for column in OPTIONAL_COLUMNS] == [(name, "varchar") for name in optional]
    table = Table(name="t", columns=[Column("tp_level", source="severity")], common={"tp_host": "machine"})
    names = [column.name for column in table.common_columns]
    assert names == sorted([*(column.name for column in COMMON_COLUMNS), "tp_host", "tp_level"])


# Partitions and schemas


def test_a_partition_is_named_by_table_and_name() -> None:
    partition = Partition(table="app_log", name="eu-1", sources=(Inherited(),))
    assert partition.address == "app_log.eu-1"
    assert (partition.filter, partition.tp_index, partition.description) == (None, None, None)
    assert pickle.loads(pickle.dumps(partition)) == partition


def test_a_partition_needs_labels_and_sources() -> None:
    options = options_of(Partition)
    assert [option.name for option in options.values() if option.kind == "label"] == ["table", "name"]
    assert [option.name for option in options.values() if option.is_required] == ["table", "name", "sources"]
    assert options["sources"].block == "source"


@pytest.mark.parametrize("name", ["a", "prod", "_x", "0", "eu-west-1", "A_b", "x" * 100])
def test_a_name_that_can_stand_in_a_path_is_taken_for_a_partition(name: str) -> None:
    check(Partition, "name", name)
    check(WorkspaceSettings, "name", name)


@pytest.mark.parametrize("name", ["", "-x", "a.b", "a/b", "..", "a b", "a\n", "é", "a=b", "%41", "x" * 101, "a\0"])
def test_a_name_that_cannot_stand_in_a_path_is_refused_for_a_partition(name: str) -> None:
    for declared in (Partition, WorkspaceSettings):
        with pytest.raises(UsageError) as refused:
            check(declared, "name", name)
        assert refused.value.hint.startswith("use ")


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a.b", "select 1", "a\n", "é", "x" * 101])
def test_a_name_that_cannot_stand_in_sql_is_refused_for_a_table_or_schema(name: str) -> None:
    for declared, option in ((Table, "name"), (Partition, "table"), (Schema, "name")):
        with pytest.raises(UsageError) as refused:
            check(declared, option, name)
        assert refused.value.hint.startswith("use ")


def test_a_table_may_be_named_with_letters_digits_and_underscores() -> None:
    for name in ("a", "_a1", "A_b_9", "x" * 100):
        check(Table, "name", name)


@pytest.mark.parametrize("name", ["main", "Memory", "ocsf", "tailpipe", "TEMP", "system", "pg_catalog"])
def test_a_schema_cannot_take_a_name_that_duckdb_or_we_use(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(Schema, "name", name)
    assert refused.value.message == f'the name "{name}" is taken'
    assert "information_schema, main, memory, ocsf, pg_catalog" in refused.value.hint


def test_a_schema_shows_everything_unless_it_says_less() -> None:
    schema = Schema(name="security")
    assert schema.tables == schema.partitions == schema.indexes == ("*",)
    assert schema.from_ is schema.to is schema.where is None
    assert list(options_of(Schema)) == [
        "name",
        "description",
        "tables",
        "partitions",
        "indexes",
        "from",
        "to",
        "where",
        "materialized",
    ]


def test_a_schema_checks_its_wildcards_and_times() -> None:
    check(Schema, "tables", ("aws_*", "nginx_access_log"))
    check(Schema, "partitions", ("prod", "aws_*.p*"))
    for time in ("T-7d", "2024-01-31", "1/31/2024", "T-1Y"):
        check(Schema, "from", time)
        check(Schema, "to", time)
    for name, value in (("tables", ("a b",)), ("partitions", ("a.b.c",)), ("from", "soon"), ("to", "9999-12-31")):
        with pytest.raises(UsageError):
            check(Schema, name, value)


# Settings of a workspace


def test_a_workspace_is_local_unless_its_block_says_otherwise() -> None:
    settings = WorkspaceSettings(name="default")
    assert settings.spark == SparkSettings() == SparkSettings(master="local[*,4]", driver_memory=None, conf={})
    assert (settings.location, settings.data_dir, settings.log_level) == (None, None, None)
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_the_log_levels_of_config_and_environment_are_the_same() -> None:
    shown = options_of(WorkspaceSettings)["log_level"].annotation
    assert shown.__args__[0].__args__ == LOG_LEVELS


def test_the_spark_block_is_nested_and_may_be_left_out() -> None:
    spark = options_of(WorkspaceSettings)["spark"]
    assert (spark.kind, spark.block, spark.is_required) == ("block", "spark", False)
    assert list(options_of(SparkSettings)) == [
        *("master", "remote", "remote_token", "archive", "driver_memory", "wait_seconds", "class_archive", "conf"),
    ]
