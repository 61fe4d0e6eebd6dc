"""Values of DuckDB as JSON, as people and as programs read them."""

from __future__ import annotations

import json

from tailpipe.query.json_values import json_of, parsed_json, plain
from tailpipe.sql.duck import duckdb

VALUES = {
    "'2024-01-01 10:00:00.5'::TIMESTAMP": ("2024-01-01T10:00:00.5Z", "2024-01-01T10:00:00.500000Z"),
    "'infinity'::TIMESTAMP": ("infinity", "9999-12-31T23:59:59.999999Z"),
    "'a\\xFF'::BLOB": ("a\\xFF", "61ff"),
    "MAP {'\\xFF'::BLOB: DATE '2024-01-01'}": ({"\\xFF": "2024-01-01"}, {"ff": "2024-01-01"}),
    "0.00000001::DECIMAL(18, 8)": ("0.00000001", "0.00000001"),
    "9007199254740993::BIGINT": ("9007199254740993", "9007199254740993"),
    "{'a': [1.5::DOUBLE, 'nan'::DOUBLE, NULL], 'b': TRUE}": ({"a": [1.5, "nan", None], "b": True},) * 2,
}


def test_values_are_exact_and_of_two_spellings() -> None:
    with duckdb.connect() as connection:
        row = connection.execute(f"SELECT {', '.join(VALUES)}").fetchone()
    assert row is not None
    assert [(json_of(value), plain(value)) for value in row] == list(VALUES.values())


def test_half_of_a_surrogate_is_replaced_because_no_reader_takes_it() -> None:
    value = parsed_json('{"\\ud800": "\\udfff"}', "JSON")
    assert json_of(value) == plain(value) == {"?": "?"}
    json.dumps(plain(value), ensure_ascii=False).encode()


def test_text_that_is_no_json_stays_text() -> None:
    for text in ("{", "[" * 100_000):
        assert parsed_json(text, "JSON") == text
    assert parsed_json("1", "VARCHAR") == "1"
    assert json_of("[1]", "JSON") == [1]
