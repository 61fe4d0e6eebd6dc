"""Columns, nulls, misfits, filters, windows: what a table and a partition make of the fields."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import pytest

from tailpipe.formats import Delimited, Jsonl
from tailpipe.kernel.task import Reading
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import DaySet
from tailpipe.model.table import Column, Table
from tests.unit.kernel.support import CONTENT, TIME, Run, run, shared, table, task

T = "2024-01-31T10:00:00Z"


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"time": T, **row}).encode() + b"\n" for row in rows)


def values(kind: str, *given: Any) -> list[Any]:
    """What the values become in a column of the type."""
    done = run(lines(*({"x": value} for value in given)), [Column("x", kind)])
    assert done.accounts[0] == done.accounts[1]
    return done.column("x")


def test_a_column_comes_from_its_source_or_its_own_name_or_an_expression() -> None:
    done = run(
        lines({"a": "1", "b": "x"}),
        [Column("a", "integer"), Column("c", "varchar", source="b"), Column("d", "varchar", transform="upper(b) || a")],
    )
    assert done.rows[0]["a"] == 1
    assert done.rows[0]["c"] == "x"
    assert done.rows[0]["d"] == "X1"
    assert list(done.rows[0])[:3] == ["a", "c", "d"]


def test_every_file_has_all_columns_with_the_common_ones_last_and_sorted() -> None:
    done = run(lines({}), [Column("z", "integer"), Column("a", "json")])
    names = list(done.rows[0])
    assert names[:2] == ["z", "a"]
    assert names[2:] == sorted(names[2:])
    assert all(name.startswith("tp_") for name in names[2:])
    assert len(names) == 20
    assert dict(done.outcome.files[0].columns).keys() == set(names)
    assert done.outcome.files[0].columns["a"] == "VARCHAR"


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("integer", [1, "2", 3.0, "4.0", "5e2"], [1, 2, 3, 4, 500]),
        ("bigint", [9223372036854775807, -9223372036854775808], [9223372036854775807, -9223372036854775808]),
        ("ubigint", [18446744073709551615], [18446744073709551615]),
        ("double", [1, "2.5", 1e300], [1.0, 2.5, 1e300]),
        ("boolean", [True, False, "true", "0"], [True, False, True, False]),
        ("varchar", ["a", 1, True, {"b": [1]}, ["c"]], ["a", "1", "true", '{"b":[1]}', '["c"]']),
        ("json", ["a", 1, {"b": [1]}, None], ['"a"', "1", '{"b":[1]}', None]),
        ("date", ["2024-01-31", "2024-01-31T23:00:00Z"], [date(2024, 1, 31), date(2024, 1, 31)]),
        ("uuid", ["6FD64B7C-1B1E-4E5C-8E5D-2A9E7C1B2A3D"], ["6fd64b7c-1b1e-4e5c-8e5d-2a9e7c1b2a3d"]),
        ("inet", ["10.0.0.1", "10.0.0.0/8", "::1", "2001:db8::1", "fe80::/10"], None),
        ("inet", ["::ffff:1.2.3.4", "0:0:0:0:0:ffff:a00:1", "::ffff:0:0/96"], ["1.2.3.4", "10.0.0.1", "::ffff:0:0/96"]),
        ("interval", ["3 days"], ["3 days"]),
        ("blob", ["é"], ["é".encode()]),
        ("decimal(10,2)", ["12.34"], None),
        ("integer[]", [[1, "2"], []], [[1, 2], []]),
        ("struct(a integer, b varchar[])", [{"a": "1", "b": ["x"], "c": 0}], [{"a": 1, "b": ["x"]}]),
    ],
)
def test_values_that_fit_their_type(kind: str, given: list[Any], expected: list[Any] | None) -> None:
    done = run(lines(*({"x": value} for value in given)), [Column("x", kind)])
    assert done.accounts[1] == len(given)
    assert done.outcome.results[0].nulls == {}
    if expected is not None:
        assert done.column("x") == expected
    else:
        assert None not in done.column("x")


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("integer", ["x", 1.7, "1.7", 2147483648, "", {"a": 1}, [1], True and "yes"]),
        ("tinyint", [128, -129]),
        ("bigint", [9223372036854775808, "1e30"]),
        ("double", ["x", {"a": 1}]),
        ("boolean", ["perhaps", 2.5]),
        ("timestamp", ["yesterday", "2024-13-01T00:00:00Z", "2024-01-31T25:00:00Z", {"a": 1}, ""]),
        ("date", ["x"]),
        ("time", ["25:00"]),
        ("uuid", ["x"]),
        ("inet", ["x", "256.1.1.1", "1.2.3", "1:2:3", "10.0.0.0/33", ":::", "1::2::3"]),
        ("interval", ["x"]),
        ("integer[]", ["x", 5, {"a": 1}]),
        ("struct(a integer)", ["x", 5, [1]]),
    ],
)
def test_values_that_do_not_fit_are_null_and_counted(kind: str, given: list[Any]) -> None:
    done = run(lines(*({"x": value} for value in given)), [Column("x", kind)])
    assert done.accounts == (len(given), len(given), 0, 0, 0)
    assert done.column("x") == [None] * len(given)
    assert done.outcome.results[0].nulls == {"x": len(given)}


def test_a_part_that_does_not_fit_is_null_alone_and_counted_once_for_its_column() -> None:
    done = run(
        lines({"s": {"a": "x", "b": {"c": 1}}, "l": [1, "x", 3]}, {"s": {"a": 1, "b": "not an object"}, "l": [1]}),
        [Column("s", "struct(a integer, b struct(c integer))"), Column("l", "integer[]")],
    )
    assert done.column("s")[0] == {"a": None, "b": {"c": 1}}
    assert done.column("l") == [[1, None, 3], [1]]
    assert done.outcome.results[0].nulls == {"s": 2, "l": 1}


def test_nothing_is_counted_where_there_was_nothing() -> None:
    kinds = ["integer", "struct(a integer)", "integer[]", "json", "timestamp", "uuid"]
    columns = [Column(f"x{n}", kind) for n, kind in enumerate(kinds)]
    done = run(lines({}, {f"x{n}": None for n in range(len(kinds))}), columns)
    assert done.outcome.results[0].nulls == {}
    assert all(row[f"x{n}"] is None for row in done.rows for n in range(len(kinds)))


def test_misfits_are_counted_in_kept_rows_only() -> None:
    done = run(
        lines({"x": "bad", "keep": True}, {"x": "bad", "keep": False}, {"x": "bad", "time": "never"}),
        [Column("x", "integer"), Column("keep", "boolean")],
        filter="keep",
    )
    assert done.accounts == (3, 1, 1, 1, 0)
    assert done.outcome.results[0].nulls == {"x": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00"),
        ("2024-01-31 10:00:00", "2024-01-31T10:00:00"),
        ("2024-01-31T10:00:00.123456Z", "2024-01-31T10:00:00.123456"),
        ("2024-01-31T10:00:00.123456789Z", "2024-01-31T10:00:00.123456"),
        ("2024-01-31T10:00:00,5+00:00", "2024-01-31T10:00:00.5"),
        ("2024-01-31T10:00:00+02:00", "2024-01-31T08:00:00"),
        ("2024-01-31T10:00:00-0530", "2024-01-31T15:30:00"),
        ("2024-01-31T10:00:00+02", "2024-01-31T08:00:00"),
        ("2024-01-31T10:00:00 +0200", "2024-01-31T08:00:00"),
        ("2024-01-31T10:00Z", "2024-01-31T10:00:00"),
        ("2024-01-31T10:00+01:00", "2024-01-31T09:00:00"),
        ("20240131T100000Z", "2024-01-31T10:00:00"),
        ("20240131T100000+0100", "2024-01-31T09:00:00"),
        ("2024-01-31t10:00:00z", "2024-01-31T10:00:00"),
        ("2024-01-31", "2024-01-31T00:00:00"),
        ("1706695200", "2024-01-31T10:00:00"),
        ("1706695200.25", "2024-01-31T10:00:00.25"),
        (1706695200, "2024-01-31T10:00:00"),
        (1706695200123, "2024-01-31T10:00:00.123"),
        (1706695200123456, "2024-01-31T10:00:00.123456"),
        (1706695200123456789, "2024-01-31T10:00:00.123456"),
        (1706695200.5, "2024-01-31T10:00:00.5"),
        ("20240131", "2024-01-31T00:00:00"),
        (20240131, "2024-01-31T00:00:00"),
        ("20240131T1000", "2024-01-31T10:00:00"),
        ("202401311000", "2024-01-31T10:00:00"),
        (202401311000, "2024-01-31T10:00:00"),
        ("20240131100001", "2024-01-31T10:00:01"),
        (20240131100001, "2024-01-31T10:00:01"),
        ("20240131100001Z", "2024-01-31T10:00:01"),
        ("20240131100001.5+0200", "2024-01-31T08:00:01.5"),
        (315532800, "1980-01-01T00:00:00"),
        (4102444799999999999, "2099-12-31T23:59:59.999999"),
        ("2999-12-31T23:59:59Z", "2999-12-31T23:59:59"),
    ],
)
def test_times_in_their_usual_forms(text: Any, expected: str) -> None:
    done = run(lines({"time": text}))
    assert done.column("tp_timestamp") == [datetime.fromisoformat(expected)]


@pytest.mark.parametrize(
    "number",
    [
        *(0, 1, -1, -1706695200, 12345678, 20240230, 20241301, 315532799, 4102444800, 17066952000, 20240131250000),
        *(99991231235959, 2**63 - 1, 200_000_000_000.5, 20240131.5, 123.25),
    ],
)
def test_a_number_that_is_no_plausible_time_is_none(number: float) -> None:
    for value in (number, str(number)):
        done = run(lines({"time": value, "x": value}), [Column("x", "timestamp")])
        assert done.accounts == (1, 0, 0, 1, 0)
        assert done.rejected[0]["reason"].startswith('"time" is not a time from 1980 to 2099: ')
    done = run(lines({"x": number}), [Column("x", "timestamp"), Column("d", "date", source="x")])
    assert (done.column("x"), done.column("d"), done.outcome.results[0].nulls) == ([None], [None], {"x": 1, "d": 1})


def test_whole_numbers_of_delimited_lines_are_times_as_their_text_is() -> None:
    content = b"time,x\n1706695200,20240131\n1706695200123,0\n20240131,202401311000\n7,1\n"
    done = run(content, [Column("x", "timestamp")], Delimited(header=True))
    assert done.accounts == (4, 3, 0, 1, 0)
    assert done.column("x") == [datetime(2024, 1, 31), None, datetime(2024, 1, 31, 10)]
    assert done.column("tp_timestamp")[2] == datetime(2024, 1, 31)
    zoned = run(content, [Column("x", "timestamp")], Delimited(header=True, timezone="Europe/Vienna"))
    assert zoned.column("x")[2] == datetime(2024, 1, 31, 9)


def test_numbers_are_neither_rounded_nor_endless() -> None:
    columns = [Column("d", "double"), Column("f", "float", source="d"), Column("m", "decimal(10,2)")]
    rows = [
        ("1e400", "1.239"),
        ("-1e400", "1.23000"),
        ("inf", "1e-1"),
        ("-Infinity", "15e-4"),
        ("1.5", "7"),
        ("nan", "x"),
    ]
    done = run(lines(*({"d": d, "m": m} for d, m in rows)), columns)
    assert [str(value) for value in done.column("d")] == ["None", "None", "inf", "-inf", "1.5", "nan"]
    assert [str(value) for value in done.column("f")] == ["None", "None", "inf", "-inf", "1.5", "nan"]
    assert [str(value) for value in done.column("m")] == ["None", "1.23", "0.10", "None", "7.00", "None"]
    assert done.outcome.results[0].nulls == {"d": 2, "f": 2, "m": 3}
    whole = run(lines({"n": "15E-1"}, {"n": "20E-1"}), [Column("n", "integer")])
    assert whole.column("n") == [None, 2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31T10:00:00", "2024-01-31T09:00:00"),
        ("2024-07-31T10:00:00", "2024-07-31T08:00:00"),
        ("2024-07-31", "2024-07-30T22:00:00"),
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00"),
        ("2024-01-31T10:00:00+05:00", "2024-01-31T05:00:00"),
        ("20240131T100000", "2024-01-31T09:00:00"),
        (1706695200, "2024-01-31T10:00:00"),
    ],
)
def test_a_time_without_zone_is_in_the_zone_of_the_format(text: Any, expected: str) -> None:
    done = run(lines({"time": text}), format=Jsonl(timezone="Europe/Berlin"))
    assert done.column("tp_timestamp") == [datetime.fromisoformat(expected)]


def test_a_naive_time_of_an_expression_is_in_the_zone_of_the_format_too() -> None:
    column = Column("tp_timestamp", transform="strptime(t, '%d/%m/%Y %H:%M')")
    other = Column("z", "timestamp", transform="strptime(t || ' +0300', '%d/%m/%Y %H:%M %z')")
    done = run(
        b'{"t": "31/01/2024 10:00"}\n',
        of=Table(name="x", columns=[column, other]),
        format=Jsonl(timezone="Europe/Berlin"),
    )
    assert done.column("tp_timestamp") == [datetime(2024, 1, 31, 9)]
    assert done.column("z") == [datetime(2024, 1, 31, 7)]


def test_rows_without_a_time_are_rejected_with_the_text_that_should_have_been_one() -> None:
    done = run(b'{"time": "noon"}\n{"a": 1}\n{"time": "infinity"}\n{"time": "294000-01-01"}\n')
    assert done.accounts == (4, 0, 0, 4, 0)
    assert [row["reason"] for row in done.rejected] == [
        '"time" is not a time: noon',
        '"time" has no time',
        '"time" is not a time: infinity',
        '"time" is not a time: 294000-01-01',
    ]
    assert [row["ordinal"] for row in done.rejected] == [1, 2, 3, 4]
    assert done.rejected[0]["raw"] == '{"time": "noon"}'


def test_null_if_of_the_table_and_of_a_column() -> None:
    columns = [
        Column("a", "varchar"),
        Column("b", "integer"),
        Column("c", "varchar", null_if="none"),
        Column("d", "varchar", transform="lower(e)"),
        Column("f", "integer", transform="e::INTEGER"),
    ]
    done = run(
        lines({"a": "-", "b": "-", "c": "-", "e": "-"}, {"a": "x", "b": "1", "c": "none", "e": "7"}),
        of=table(*columns, null_if="-"),
    )
    assert done.column("a") == [None, "x"]
    assert done.column("b") == [None, 1]
    assert done.column("c") == ["-", None]
    assert done.column("d") == [None, "7"]
    assert done.column("f") == [None, 7]
    assert done.outcome.results[0].nulls == {}


def test_a_transform_that_fails_is_null_and_counted_and_one_that_gives_null_is_not() -> None:
    columns = [Column("n", "integer", transform="x::INTEGER"), Column("m", "varchar", transform="nullif(x, '5')")]
    done = run(lines({"x": "5"}, {"x": "five"}, {}), columns)
    assert done.column("n") == [5, None, None]
    assert done.column("m") == [None, "five", None]
    assert done.outcome.results[0].nulls == {"n": 1}


def test_a_zone_that_nobody_knows_costs_only_its_own_row() -> None:
    layout = "'%Y-%m-%d %H:%M %Z'"
    times = [{"t": f"2024-01-31 10:00 {zone}"} for zone in ("CET", "CEST", "UTC")]
    done = run(lines(*times, {}), [Column("at", "timestamp", transform=f"strptime(t, {layout})")])
    assert done.column("at") == [datetime(2024, 1, 31, 9), None, datetime(2024, 1, 31, 10), None]
    assert done.outcome.results[0].nulls == {"at": 1}
    rejected = run(lines(*times, {}), [Column("tp_timestamp", transform=f"STRPTIME(t, [{layout}, '%Y'])")])
    assert rejected.accounts == (4, 2, 0, 2, 0)


def test_a_required_column_without_a_value_rejects_the_row() -> None:
    done = run(lines({"x": 1}, {}, {"x": "bad"}), [Column("x", "integer", required=True)])
    assert done.accounts == (3, 1, 0, 2, 0)
    assert {row["reason"] for row in done.rejected} == {'the required column "x" has no value'}


def test_a_filter_keeps_what_is_true_and_counts_the_rest() -> None:
    done = run(
        lines({"x": 1}, {"x": 2}, {}), [Column("x", "integer")], filter="x > 1 and tp_source_type = 'memory' -- yes"
    )
    assert done.accounts == (3, 1, 2, 0, 0)


def test_filters_and_transforms_may_compare_addresses() -> None:
    done = run(
        lines({"ip": "10.1.2.3"}, {"ip": "192.168.0.1"}, {"ip": "nowhere"}),
        [Column("ip", "inet"), Column("network", "varchar", transform="network(ip::inet)::VARCHAR")],
        filter="ip IS NULL OR ip::INET <<= '10.0.0.0/8'",
    )
    assert done.column("network") == ["10.1.2.3", None]
    assert done.accounts == (3, 2, 1, 0, 0)


def test_a_filter_that_fails_on_a_row_rejects_it() -> None:
    done = run(lines({"x": "1"}, {"x": "one"}), [Column("x", "varchar")], filter="x::INTEGER = 1")
    assert done.accounts == (2, 1, 0, 1, 0)
    assert done.rejected[0]["reason"] == "the filter cannot be computed"


def test_rows_of_undated_artifacts_are_cut_to_the_days_asked_for() -> None:
    CONTENT["/a"] = lines({"time": "2024-01-01"}, {"time": "2024-01-02"}, {"time": "2024-01-05"})
    CONTENT["/b"] = lines({"time": "2024-01-05"})
    days = DaySet.of([date(2024, 1, 2), date(2024, 1, 3)])
    readings = (Reading(Artifact("/a"), "/a", days=days), Reading(Artifact("/b"), "/b"))

    done = Run(shared(task(b""), readings=readings))
    assert done.accounts == (4, 2, 0, 0, 2)
    cut, whole = done.outcome.results
    assert cut.left_out == DaySet.of([date(2024, 1, 1), date(2024, 1, 5)])
    assert not whole.left_out


def test_the_index_is_a_column_and_each_index_and_date_has_its_file() -> None:
    rows = [{"host": host, "time": f"2024-01-0{day}"} for host in ("a", "b/c", "", None) for day in (1, 2)]
    done = run(lines(*rows), [Column("host", "varchar")], tp_index="host")
    assert done.accounts[1] == 8
    assert len(done.outcome.files) == 8
    assert {(file.tp_index, file.tp_date) for file in done.outcome.files} == {
        (host, date(2024, 1, day)) for host in ("a", "b/c", "", None) for day in (1, 2)
    }
    assert done.column("tp_index") == done.column("host")


def test_common_columns_come_from_the_table_or_from_the_parts_of_the_path() -> None:
    from dataclasses import replace

    mapped = Table(
        name="things",
        columns=[TIME, Column("tp_source_name", source="bucket")],
        common={"tp_ips": "[a, b]", "tp_source_ip": "a"},
    )
    made = task(lines({"a": "10.0.0.1", "b": "10.0.0.2"}, {"bucket": "mine"}), of=mapped)
    artifact = replace(made.readings[0].artifact, fields={"tp_usernames": "x", "tp_source_name": "theirs"})
    done = Run(shared(made, readings=(replace(made.readings[0], artifact=artifact),)))
    assert done.column("tp_ips") == [["10.0.0.1", "10.0.0.2"], None]
    assert done.column("tp_source_ip") == ["10.0.0.1", None]
    assert done.column("tp_source_name") == ["theirs", "mine"]
    assert done.column("tp_usernames") == [["x"], ["x"]]


def test_the_columns_of_addresses_hold_addresses_alone() -> None:
    from dataclasses import replace

    mapped = Table(name="things", columns=[TIME], common={"tp_ips": "[a, b]", "tp_source_ip": "a", "tp_domains": "[b]"})
    values = [
        "10.0.0.1",
        "localhost:8080",
        "::ffff:1.2.3.4",
        "fe80::1%eth0",
        "1.2.3.4:80",
        "1.1.1.1,::1",
        "",
        "2001:db8::1",
        "::FFFF:c000:2ff",
    ]
    made = task(lines(*({"a": value, **other} for other in ({"b": "x"}, {}) for value in values)), of=mapped)
    fields = {"tp_destination_ip": "somewhere", "tp_source_ip": "192.0.2.1"}
    artifact = replace(made.readings[0].artifact, fields=fields)
    done = Run(shared(made, readings=(replace(made.readings[0], artifact=artifact),)))
    addresses = ["10.0.0.1", None, "1.2.3.4", None, None, None, None, "2001:db8::1", "192.0.2.255"] * 2
    assert done.column("tp_ips") == [address and [address] for address in addresses]
    assert done.column("tp_source_ip") == [address or "192.0.2.1" for address in addresses]
    assert done.column("tp_destination_ip") == [None] * 18
    assert done.outcome.results[0].nulls == {"tp_source_ip": 10}


@pytest.mark.parametrize("given", ["[a, b]", ["a", "b"], "tp_addresses([a, b])", "[b, a]"])
def test_an_ipv4_address_and_its_ipv6_spelling_are_one(given: str | list[str]) -> None:
    mapped = Table(name="things", columns=[TIME], common={"tp_ips": given})
    done = Run(task(lines({"a": "::ffff:10.0.0.7", "b": "10.0.0.7"}, {"a": "::1", "b": "::ffff:0:1"}), of=mapped))
    assert [sorted(ips) for ips in done.column("tp_ips")] == [["10.0.0.7"], ["0.0.0.1", "::1"]]


def test_names_that_need_quotes() -> None:
    odd = ['a"b', "select", "über x", "_raw", "a.b", "$x", "", "'", "tp__artifact"]
    rows = {name: str(number) for number, name in enumerate(odd)}
    quoted = {"a.b": '"a.b"'}  # without quotes it would be a path
    named = {f"c{number}": name for number, name in enumerate(odd) if name}
    columns = [Column(column, "varchar", source=quoted.get(name, name)) for column, name in named.items()]
    done = run(lines(rows), columns)
    assert [done.rows[0][column] for column in named] == [rows[name] for name in named.values()]


def test_a_field_that_is_not_there_is_null_also_in_an_expression() -> None:
    done = run(
        b"time,a\n2024-01-01,1\n",
        [Column("b", "integer"), Column("c", "varchar", transform="coalesce(b, missing, a)")],
        Delimited(header=True),
    )
    assert done.column("b") == [None]
    assert done.column("c") == ["1"]


@pytest.mark.soak
def test_two_thousand_columns() -> None:
    columns = [Column(f"c{n}", "integer") for n in range(2000)]
    done = run(lines({f"c{n}": n if n % 2 else "x" for n in range(2000)}), columns)
    assert done.rows[0]["c1999"] == 1999
    assert done.outcome.results[0].nulls == {f"c{n}": 1 for n in range(0, 2000, 2)}


def test_a_bare_name_among_the_common_columns_is_a_field_in_any_case() -> None:
    mapped = Table(
        name="things",
        columns=[Column("at", "timestamp", source="Time"), Column("user", "varchar")],
        common={"tp_timestamp": "time", "tp_source_ip": '"from"', "tp_ips": "NULL"},
    )
    done = run(b'{"Time": "2024-01-31", "from": "10.0.0.1"}\n', of=mapped)
    assert done.accounts == (1, 1, 0, 0, 0)
    assert (done.rows[0]["tp_source_ip"], done.rows[0]["tp_ips"]) == ("10.0.0.1", None)


def test_a_part_that_fails_in_several_expressions_costs_only_their_values() -> None:
    double = Column("double", "integer", transform="a::INTEGER + a::INTEGER")
    next_ = Column("next", "integer", transform="a::INTEGER + 1")
    done = run(lines({"a": "1"}, {"a": "x"}, {"a": "2"}), [double, next_])
    assert done.column("double") == [2, None, 4]
    assert done.column("next") == [2, None, 3]
    a = Column("a", "varchar")
    filtered = run(lines({"a": "1"}, {"a": "x"}, {"a": "2"}), [a], filter="a::INTEGER * a::INTEGER > 1")
    assert filtered.accounts == (3, 1, 1, 1, 0)
