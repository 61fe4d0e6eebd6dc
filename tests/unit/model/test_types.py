"""Column types: every name is understood, and means the same to DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.model.types import (
    SCALARS,
    ColumnType,
    DecimalType,
    ListType,
    ScalarType,
    StructType,
    parse_type,
    stored_type,
)

NAMES = [
    *("boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"),
    *("float", "double", "varchar", "blob", "date", "timestamp", "time", "interval", "uuid", "json", "inet"),
]
ALIASES = {"int": "integer", "datetime": "timestamp", "string": "varchar", "cidr": "inet"}
NESTED = [
    "integer[]",
    "json[][]",
    "decimal(18,3)",
    "decimal(38,38)[]",
    "struct(a integer, b varchar[])",
    'struct("a b" uuid, "say ""hi""" interval)[]',
    "struct(outer struct(inner struct(leaf timestamp)[])[], select inet)",
]


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def scalar(name: str) -> ScalarType:
    return next(scalar for scalar in SCALARS if scalar.name == name)


def test_the_types_are_those_that_were_promised() -> None:
    assert [scalar.name for scalar in SCALARS] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_name_means_its_type_in_any_case(name: str) -> None:
    assert parse_type(name) is scalar(name)
    assert parse_type(f"  {name.upper()}\n") is scalar(name)
    assert str(parse_type(name)) == name


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_every_promised_alias_means_its_type(alias: str, name: str) -> None:
    assert parse_type(alias) is scalar(name)
    assert parse_type(f"{alias}[]").name == f"{name}[]"


def test_no_name_or_alias_means_two_types() -> None:
    spelt = [name for scalar in SCALARS for name in (scalar.name, *scalar.aliases)]
    assert len(spelt) == len(set(spelt))
    for one in SCALARS:
        for alias in one.aliases:
            assert parse_type(alias) is one


@pytest.mark.parametrize("kind", [kind for kind in SCALARS if kind.name != "inet"], ids=str)
def test_duckdb_knows_the_type(database: duckdb.DuckDBPyConnection, kind: ScalarType) -> None:
    assert database.execute(f"select typeof(null::{kind.duckdb})").fetchone() == (kind.duckdb,)


def test_inet_is_the_type_of_the_extension() -> None:
    assert scalar("inet").duckdb == "INET"


@pytest.mark.parametrize("kind", SCALARS, ids=str)
def test_duckdb_knows_the_type_in_which_it_is_stored(database: duckdb.DuckDBPyConnection, kind: ScalarType) -> None:
    assert database.execute(f"select typeof(null::{kind.stored})").fetchone() == (kind.stored,)


@pytest.mark.parametrize("name", ["uuid", "inet", "json", "interval"])
def test_types_that_not_every_reader_knows_are_stored_as_text(name: str) -> None:
    assert scalar(name).stored == "VARCHAR"
    assert parse_type(f"{name}[]").stored == "VARCHAR[]"
    assert parse_type(f"struct(x {name})").stored == 'STRUCT("x" VARCHAR)'


@pytest.mark.parametrize("text", NESTED)
def test_a_nested_type_means_the_same_to_duckdb(database: duckdb.DuckDBPyConnection, text: str) -> None:
    kind = parse_type(text)
    assert kind.name == text
    assert str(kind) == text
    database.execute(f"select null::{kind.stored}")
    if "inet" not in text:
        database.execute(f"select null::{kind.duckdb}")


def test_a_value_goes_through_the_stored_type_and_back(database: duckdb.DuckDBPyConnection) -> None:
    kind = parse_type("struct(id uuid, span interval, tags varchar[])")
    value = (
        "{'id': '4ac7a9e9-607c-4c8a-84f3-843f0191e3fd'::UUID, 'span': INTERVAL '2 days 03:00:00', 'tags': ['a', NULL]}"
    )
    query = f"select ({value})::{kind.duckdb} = ({value})::{kind.stored}::{kind.duckdb}"
    assert database.execute(query).fetchone() == (True,)


@pytest.mark.parametrize(
    ("text", "precision", "scale"),
    [
        ("decimal", 18, 3),
        ("numeric", 18, 3),
        ("decimal(5)", 5, 0),
        ("DECIMAL( 9 , 2 )", 9, 2),
        ("numeric(38,38)", 38, 38),
        ("decimal(1,0)", 1, 0),
    ],
)
def test_decimals_are_read_as_duckdb_reads_them(
    database: duckdb.DuckDBPyConnection, text: str, precision: int, scale: int
) -> None:
    kind = parse_type(text)
    assert kind == DecimalType(precision, scale)
    assert database.execute(f"select typeof(null::{text})").fetchone() == (kind.duckdb,)


def test_blanks_and_lines_may_stand_between_the_parts_of_a_type() -> None:
    assert parse_type(" struct (\n  a  int [ ] ,\n  b decimal ( 4 , 1 )\n) [] ") == ListType(
        StructType((("a", ListType(scalar("integer"))), ("b", DecimalType(4, 1))))
    )


def test_a_field_may_be_named_like_a_type_or_a_keyword() -> None:
    kind = parse_type('struct(struct int, decimal text, "[]" int, "," int)')
    assert isinstance(kind, StructType)
    assert [name for name, _ in kind.fields] == ["struct", "decimal", "[]", ","]
    assert parse_type(kind.name) == kind


def types() -> st.SearchStrategy[ColumnType]:
    decimals = st.integers(1, 38).flatmap(lambda p: st.builds(DecimalType, st.just(p), st.integers(0, p)))
    names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8)

    def grow(inner: st.SearchStrategy[ColumnType]) -> st.SearchStrategy[ColumnType]:
        fields = st.lists(st.tuples(names, inner), min_size=1, max_size=4, unique_by=lambda field: field[0].lower())
        return st.builds(ListType, inner) | st.builds(StructType, fields.map(tuple))

    return st.recursive(st.sampled_from(SCALARS) | decimals, grow, max_leaves=8)


@given(types())
def test_a_printed_type_is_read_as_the_same_type(kind: ColumnType) -> None:
    assert parse_type(kind.name) == kind
    assert hash(parse_type(kind.name)) == hash(kind)


@given(st.text() | st.text('structdecimalint()[]," 0123', max_size=30))
def test_random_text_is_a_type_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        kind = parse_type(text)
        assert parse_type(kind.name) == kind


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it ends too early"),
        ("   ", "it ends too early"),
        ("int int", 'unexpected "int"'),
        ("int)", 'unexpected ")"'),
        ("int[3]", '"[3]" is not part of a type'),
        ("int;", '";" is not part of a type'),
        ("struct", 'it ends where "(" is expected'),
        ("struct int", '"(" is expected before "int"'),
        ("struct()", '")" cannot name a field'),
        ("struct(a int", 'it ends where ")" is expected'),
        ("struct(a int b int)", '")" is expected before "b"'),
        ("struct(a int,)", '")" cannot name a field'),
        ("struct(1a int)", '"1a" cannot name a field'),
        ("struct(a int, a text)", 'the field "a" is duplicated'),
        ("struct(a int, A text)", 'the field "A" is duplicated'),
        ('struct("" int)', "a field's name cannot be empty or hold a NUL"),
        ('struct("a\0" int)', "a field's name cannot be empty or hold a NUL"),
        ("decimal(0)", "a decimal has 1 to 38 digits, and no more behind the point than in all"),
        ("decimal(39,1)", "a decimal has 1 to 38 digits, and no more behind the point than in all"),
        ("decimal(4,5)", "a decimal has 1 to 38 digits, and no more behind the point than in all"),
        ("decimal(x)", '"x" is not a number of digits'),
        ("decimal(4444,1)", '"4444" is not a number of digits'),
        ("decimal(٣)", '"٣" is not a number of digits'),
        ("decimal(4", 'it ends where ")" is expected'),
        ("struct(a " * 40 + "int" + ")" * 40, "it is nested deeper than 32 levels"),
        ("int" + "[]" * 33, "it is nested deeper than 32 levels"),
        ("struct(a " * 20 + "int" + "[])" * 20, "it is nested deeper than 32 levels"),
    ],
)
def test_what_is_no_type_is_refused_with_the_reason_and_the_types(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_type(text)
    assert refused.value.message == f'"{text[:80]}" is not a type: {why}'
    for name in NAMES:
        assert name in refused.value.hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("strng", 'there is no type "strng"', 'did you mean "string"?'),
        ("Strng", 'there is no type "strng"', 'did you mean "string"?'),
        ("struct(a strng)", 'there is no type "strng" in "struct(a strng)"', 'did you mean "string"?'),
        ("qqqqqqqq", 'there is no type "qqqqqqqq"', "the types are: boolean, "),
        ("[]", 'there is no type "[]"', "the types are: boolean, "),
        ("struct(a)", 'there is no type ")" in "struct(a)"', "the types are: boolean, "),
    ],
)
def test_a_type_that_is_not_there_is_told_with_the_one_that_was_meant(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_type(text)
    assert refused.value.message == message
    assert refused.value.hint.startswith(hint)


def test_a_very_long_list_of_brackets_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="nested deeper"):
        parse_type("int" + "[]" * 100_000)


def test_what_duckdb_would_refuse_is_refused_here(database: duckdb.DuckDBPyConnection) -> None:
    for text in ('STRUCT("a" INT, "A" INT)', 'STRUCT("" INT)', "DECIMAL(39,1)", "DECIMAL(4,5)"):
        with pytest.raises(duckdb.Error):
            database.execute(f"select null::{text}")
        with pytest.raises(UsageError):
            parse_type(text)


def test_the_deepest_type_is_one_that_duckdb_takes(database: duckdb.DuckDBPyConnection) -> None:
    kind = parse_type("int" + "[]" * 32)
    database.execute(f"select null::{kind.stored}")


def test_what_only_duckdb_knows_is_stored_as_text_and_names_of_fields_stay() -> None:
    kind = 'STRUCT("JSON" UUID, "a ""INET"", b" INET[], UUID INTEGER, c MAP(INTERVAL, JSON))'
    stored = 'STRUCT("JSON" VARCHAR, "a ""INET"", b" VARCHAR[], UUID INTEGER, c MAP(VARCHAR, VARCHAR))'
    assert stored_type(kind) == stored
    assert stored_type("JSON", "INET") == "JSON"
