"""What a table says of its columns becomes rows: paths, common columns, macros and times of all kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailpipe.formats import Delimited
from tailpipe.model.table import Column, Table
from tests.unit.kernel.support import TIME, run

RECORD = {
    "time": "2024-01-31T10:00:00Z",
    "actor": {"name": "anna", "ip": "192.0.2.1:443", "roles": ["a", "b"], "extra": {"team": "x"}},
    "target": [{"id": "t1", "kind": "host"}, {"id": "t2"}, {"id": "t1"}],
    "addr.remote": "[2001:db8::1]:80",
    "more": 5,
}


def rows(*records: dict[str, Any], columns: list[Column] | None = None, **facts: Any) -> list[dict[str, Any]]:
    content = b"\n".join(json.dumps({"time": RECORD["time"], **record}).encode() for record in records)
    table = Table(name="things", columns=[*([] if "common" in facts else [TIME]), *(columns or [])], **facts)
    return run(content, of=table).rows


def test_a_path_takes_a_value_from_inside_the_record() -> None:
    columns = [
        Column("name", "varchar", source="actor.name"),
        Column("team", "varchar", source="actor.extra.team"),
        Column("roles", "varchar[]", source="actor.roles"),
        Column("ids", "varchar[]", source="target[*].id"),
        Column("remote", "varchar", source='"addr.remote"'),
        Column("gone", "integer", source="actor.age"),
    ]
    (row,) = rows(RECORD, columns=columns)
    assert [row[column.name] for column in columns] == [
        "anna",
        "x",
        ["a", "b"],
        ["t1", "t2", "t1"],
        "[2001:db8::1]:80",
        None,
    ]


@pytest.mark.parametrize("actor", ["text", 5, None, [], [{"name": "anna"}], {"name": None}, {}])
def test_a_path_through_something_else_gives_null(actor: Any) -> None:
    columns = [Column("name", "varchar", source="actor.name"), Column("team", "varchar", source="actor.extra.team")]
    (row,) = rows({"actor": actor}, columns=columns)
    assert (row["name"], row["team"]) == (None, None)


def test_a_value_may_be_wanted_whole_and_in_parts() -> None:
    columns = [
        Column("actor", "json"),
        Column("name", "varchar", source="actor.name"),
        Column("extra", "json", source="actor.extra"),
        Column("team", "varchar", source="actor.extra.team"),
        Column("target", "json"),
        Column("kinds", "varchar[]", source="target[*].kind"),
    ]
    (row,) = rows(RECORD, columns=columns)
    assert json.loads(row["actor"]) == RECORD["actor"]
    assert (row["name"], json.loads(row["extra"]), row["team"]) == ("anna", {"team": "x"}, "x")
    assert row["kinds"] == ["host", None, None]


def test_a_struct_and_a_path_into_it_are_read_together() -> None:
    who = Column("who", "struct(name varchar, extra json)", source="actor")
    (row,) = rows(RECORD, columns=[who, Column("team", "varchar", source="actor.extra.team")])
    assert (row["who"]["name"], row["team"]) == ("anna", "x")


def test_keys_that_differ_in_case_alone_are_told_apart_inside_objects_too() -> None:
    columns = [Column("one", "varchar", source="a.Key"), Column("two", "varchar", source="a.key")]
    (row,) = rows({"a": {"Key": 1, "key": 2}}, columns=columns)
    assert (row["one"], row["two"]) == ("1", "2")


def test_the_rest_knows_the_paths_and_keeps_everything_else() -> None:
    columns = [Column("name", "varchar", source="actor.name"), Column("ids", "varchar[]", source="target[*].id")]
    (row,) = rows(RECORD, columns=columns, additional="additional")
    expected: dict[str, Any] = {key: value for key, value in RECORD.items() if key != "time"}
    expected["actor"] = {key: value for key, value in RECORD["actor"].items() if key != "name"}  # type: ignore[attr-defined]
    assert json.loads(row["additional"]) == expected


def test_an_expression_may_take_values_from_inside_the_record() -> None:
    columns = [
        Column("name", "varchar", transform="upper(actor.name) || '!'"),
        Column("team", "varchar", transform="actor.extra.team"),
    ]
    (row,) = rows(RECORD, columns=columns)
    assert (row["name"], row["team"]) == ("ANNA!", "x")


def test_common_columns_take_paths() -> None:
    common = {
        "tp_timestamp": ["gone.time", "time"],
        "tp_source_ip": "actor.ip",
        "tp_ips": ["actor.ip", '"addr.remote"', "actor.name", "gone.ip", "actor.ip"],
        "tp_usernames": ["actor.name", "gone.name", "actor.name", "upper(actor.name)"],
        "tp_akas": ["target[*].id", "more"],
        "tp_tags": "roles",
        "tp_domains": ["actor.name", "host"],
    }
    columns = [Column("roles", "varchar[]", source="actor.roles")]
    (row,) = rows({**RECORD, "host": "www.example.com"}, columns=columns, common=common, additional="additional")
    assert row["tp_source_ip"] == "192.0.2.1"
    assert row["tp_ips"] == ["192.0.2.1", "2001:db8::1"]
    assert row["tp_usernames"] == ["anna", "ANNA"]
    assert row["tp_akas"] == ["5", "t1", "t2"]
    assert row["tp_tags"] is None  # `roles` is no key of the record
    assert row["tp_domains"] == ["www.example.com"]
    assert json.loads(row["additional"])["more"] == 5, "what only common columns take is not lost"


def test_a_list_column_gives_its_values_to_a_common_column() -> None:
    columns = [Column("roles", "varchar[]", source="actor.roles")]
    common = {"tp_timestamp": "time", "tp_tags": ["actor.roles", "actor.name"]}
    (row,) = rows(RECORD, columns=columns, common=common)
    assert row["tp_tags"] == ["anna", "a", "b"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:28915", "192.0.2.1"),
        ("[fdfd::555]:12346", "fdfd::555"),
        ("2a02::1#1234", "2a02::1"),
        ("2a02::1 port 1234", "2a02::1"),
        ("127.0.0.0/8", None),
        ("localhost", None),
        ("private", None),
        ("-", None),
        ("", None),
        (None, None),
    ],
)
def test_an_address_is_checked_and_never_an_error(text: str | None, address: str | None) -> None:
    common = {"tp_timestamp": "time", "tp_source_ip": ["ip"], "tp_ips": ["ip"]}
    (row,) = rows({"ip": text}, columns=[Column("own", "varchar", transform="tp_address(ip)")], common=common)
    assert (row["own"], row["tp_source_ip"], row["tp_ips"]) == (address, address, [address] if address else None)


def test_the_macros_work_in_transforms_and_filters() -> None:
    texts = Column("texts", "varchar[]", transform="tp_texts([a, b, a, ''])")
    mails = Column("mails", "varchar[]", transform="tp_emails([a, b])")
    done = run(
        b'{"time":"2024-01-31","a":"x@example.com","b":"192.0.2.1:1"}\n{"time":"2024-01-31","a":"x","b":"-"}',
        [texts, mails, Column("b", "varchar")],
        filter="tp_address(b) IS NOT NULL",
    )
    assert done.column("texts") == [["x@example.com", "192.0.2.1:1"]]
    assert done.column("mails") == [["x@example.com"]]
    assert done.accounts == (2, 1, 1, 0, 0)


@pytest.mark.parametrize(
    ("formats", "text", "moment"),
    [
        ("%d/%b/%Y:%H:%M:%S", "31/Jan/2024:10:00:00", "2024-01-31 10:00:00"),
        ("%d/%b/%Y:%H:%M:%S %z", "31/Jan/2024:10:00:00 +0200", "2024-01-31 08:00:00"),
        (("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S"), "1/9/2024 9:41:00 PM", "2024-01-09 21:41:00"),
        (("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S"), "01/09/2024 09:41:00", "2024-01-09 09:41:00"),
        (("%d.%m.%Y", "iso"), "2024-01-31T10:00:00Z", "2024-01-31 10:00:00"),
        ("%Y-%m-%d %H:%M:%S.%n", "2024-01-31 10:00:00.123456789", "2024-01-31 10:00:00.123456"),
        (("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%n"), "9024-01-31 10:00:00.5", "9024-01-31 10:00:00.500000"),
        ("epoch_s", "1706695200", "2024-01-31 10:00:00"),
        ("epoch_s", "1706695200.25", "2024-01-31 10:00:00.250000"),
        ("epoch_s", "86400", "1970-01-02 00:00:00"),
        ("epoch_ms", "1706695200123", "2024-01-31 10:00:00.123000"),
        ("epoch_us", "1706695200123456", "2024-01-31 10:00:00.123456"),
        ("epoch_ns", "1706695200123456789", "2024-01-31 10:00:00.123456"),
        ("epoch_ms", "99999999999999999999", None),
        ("epoch_ms", "9223372036854775807", None),
        ("epoch_s", "soon", None),
        ("%d/%b/%Y", "2024-01-31", None),
    ],
)
def test_a_time_is_read_by_its_formats(formats: str | tuple[str, ...], text: str, moment: str | None) -> None:
    columns = [Column("at", source="at", time_format=formats)]
    content = json.dumps({"time": "2024-01-31", "at": text}).encode()
    done = run(content, columns)
    assert [str(value) if value else None for value in done.column("at")] == [moment]
    assert done.outcome.results[0].nulls == ({} if moment else {"at": 1})
    lines = run(f"time,at\n2024-01-31,{text}\n".encode(), columns, Delimited(header=True))
    assert [str(value) if value else None for value in lines.column("at")] == [moment]


def test_the_time_of_a_row_has_the_formats_of_its_column() -> None:
    at = Column("at", time_format="%d.%m.%Y %H:%M")
    table = Table(name="things", columns=[at], common={"tp_timestamp": "at"})
    done = run(b'{"at":"31.01.2024 10:00"}\n{"at":"2024-01-31"}', of=table)
    assert [str(value) for value in done.column("tp_timestamp")] == ["2024-01-31 10:00:00"]
    assert done.accounts == (2, 1, 0, 1, 0)


def test_optional_common_columns_are_there_only_if_the_table_maps_them() -> None:
    optional = {"tp_host", "tp_level", "tp_message", "tp_outcome", "tp_service"}
    (row,) = rows(RECORD)
    assert not optional & set(row)
    common = {"tp_timestamp": "time", "tp_host": ["actor.extra.host", "actor.extra.team"], "tp_level": "upper('info')"}
    (row,) = rows(RECORD, common=common)
    assert {name: row[name] for name in optional & set(row)} == {"tp_host": "x", "tp_level": "INFO"}
