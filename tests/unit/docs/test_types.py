"""The page about types, times, selectors and common columns says what is so."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import duckdb

from tailpipe.model.selector import select
from tailpipe.model.table import COMMON_COLUMNS, OPTIONAL_COLUMNS, STAMPED_COLUMNS
from tailpipe.model.types import SCALARS, parse_type
from tailpipe.model.window import parse_moment
from tailpipe.plugin import Registry
from tests.unit.docs.pages import built_in, codes, problems_of, read, rows, section


def test_every_column_type_is_described_with_its_other_names() -> None:
    told = rows(section(read("docs/reference/types.md"), "Column types"))
    for cells in told:
        kind = parse_type(codes(cells[0])[0])
        schema = duckdb.sql(f"select null::{kind.stored} as x").to_arrow_table().schema
        arrow = re.sub(r"list<\w+: ", "list<item: ", str(schema.field("x").type))
        assert [kind.name, kind.duckdb, arrow, kind.stored] == [codes(cells[i])[0] for i in (0, 2, 3, 4)]
        assert all(parse_type(alias) == kind for alias in codes(cells[1])), cells[1]
    described = {codes(cells[0])[0]: codes(cells[1]) for cells in told}
    for scalar in SCALARS:
        assert described[scalar.name] == list(scalar.aliases)


def test_every_form_of_a_time_is_read_as_is_said() -> None:
    now = datetime(2024, 3, 31, 10, tzinfo=UTC)
    told = rows(section(read("docs/reference/types.md"), "Times and windows"))
    assert len(told) > 10
    for form, start, end in ([codes(cell)[0] for cell in cells] for cells in told):
        assert parse_moment(form, now=now) == datetime.fromisoformat(start), form
        assert parse_moment(form, now=now, is_end=True) == datetime.fromisoformat(end), form


def test_every_selector_means_what_is_said() -> None:
    described = section(read("docs/reference/types.md"), "Selectors")
    names = [code for code in codes(described.partition("|")[0]) if re.fullmatch(r"\w+\.\w+", code)]
    for selector, meant in rows(described):
        assert select(codes(selector), names) == codes(meant)


def test_every_common_column_is_described_with_its_type_and_who_fills_it() -> None:
    told = rows(section(read("docs/reference/types.md"), "Common columns"))
    described = {codes(cells[0])[0]: (codes(cells[1])[0], cells[2]) for cells in told}
    declared = {column.name: column.type for column in (*COMMON_COLUMNS, *OPTIONAL_COLUMNS)}
    assert {name: kind for name, (kind, _) in described.items()} == declared
    for name, (_, filled_by) in described.items():
        time = "" if name == "tp_timestamp" else 'column "tp_timestamp" {}'
        problems = problems_of(f'table "t" {{\n {time}\n column "{name}" {{}}\n}}', Registry(built_in()))
        is_stamped = name in STAMPED_COLUMNS or "cannot map" in problems
        assert (filled_by == "tailpipe") == is_stamped, name
