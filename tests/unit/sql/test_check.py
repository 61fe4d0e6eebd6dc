"""Mistakes in SQL texts are found before anything runs, and told with their place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tailpipe.model.partition import Partition
from tailpipe.model.table import Column, Table
from tailpipe.sql.check import SqlProblem, check_partition, check_table
from tests.unit.kernel.support import Memory, table

COLUMNS = [Column("status", "integer"), Column("path", "varchar"), Column("tags", "varchar[]")]


def check(sql: str | None = None, *, tp_index: str | None = None, of: Table | None = None) -> tuple[SqlProblem, ...]:
    partition = Partition(table="things", name="p", filter=sql, tp_index=tp_index, sources=[Memory()])
    return check_partition(partition, of or table(*COLUMNS))


@pytest.mark.parametrize(
    "sql",
    [
        "status >= 400",
        "STATUS = 200 and \"path\" like '%x'",
        "tp_source_ip is not null or tp_date > date '2024-01-01'",
        "list_contains(tags, 'a') -- a comment",
        "tp_source_ip::inet <<= '10.0.0.0/8'",
        "len(list_filter(tags, lambda t: t <> path)) > 0",
        "regexp_matches(path, '^/a') and status in (1, 2) and path not in ('x')",
        "CASE WHEN status > 1 THEN true ELSE path IS NULL END",
    ],
)
def test_sound_filters(sql: str) -> None:
    assert check(sql) == ()


@pytest.mark.parametrize(
    ("sql", "message", "hint", "marked"),
    [
        ("stauts >= 400", 'there is no column "stauts"', 'did you mean "status"?', "stauts"),
        ("status = 1 and pth = ''", 'there is no column "pth"', 'did you mean "path"?', "pth"),
        ("status >= and 4", None, "", None),
        ("(status = 1", "the SQL ends too early", None, None),
        ("status = 1; drop table x", None, "", None),
        ("", "the expression is empty", "", None),
        ("exists (select 1)", "a subquery is not allowed here", "", None),
        ("status in (select 1)", "a subquery is not allowed here", "", None),
        ("max(status) > 1", "an aggregate is not allowed here", "", "max"),
        ("row_number() over () = 1", None, "", None),
        ("regexp_mtches(path, 'x')", None, 'did you mean "regexp_matches"?', "regexp_mtches"),
        ("path + 1 = 2", None, None, None),
        ("tags", "it gives varchar[], not true or false", None, None),
        ("status", "it gives integer, not true or false", None, None),
    ],
)
def test_mistakes_in_a_filter(sql: str, message: str | None, hint: str | None, marked: str | None) -> None:
    (problem,) = check(sql)
    assert problem.address == "filter"
    assert message is None or problem.message == message
    assert hint is None or problem.hint == hint
    assert "\n" not in problem.message
    assert problem.message
    if marked is not None:
        assert problem.position is not None
        assert sql[problem.position : problem.position + problem.length] == marked


def test_a_syntax_error_is_marked_where_it_is() -> None:
    sql = "path = 'é'\n  and status = = 'x'"
    (problem,) = check(sql)
    assert (problem.message, problem.position) == ('the SQL cannot be read at "="', sql.index("= 'x'"))


def test_an_unknown_column_may_be_a_field_that_no_sample_has_seen_yet() -> None:
    open_table = table(*COLUMNS, map_fields=["*"])
    assert check("stauts > 1", of=open_table) == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [("pth", 'there is no column "pth"'), ("tags", '"tags" is varchar[]'), ("tp_id", '"tp_id" cannot be the index')],
)
def test_mistakes_in_the_index(name: str, message: str) -> None:
    (problem,) = check(tp_index=name)
    assert (problem.address, problem.message) == ("tp_index", message)
    assert check(tp_index="Path") == check(tp_index="tp_source_name") == ()


def test_mistakes_in_transforms() -> None:
    broken = Table(
        name="things",
        columns=[
            Column("a", "varchar", transform="upper(x"),
            Column("b", "varchar", transform="uper(x)"),
            Column("c", "varchar", transform="upper(x) + y * 2"),
            Column("d", "varchar", transform="random()"),
            Column("e", "varchar", transform="upper(x) || y"),
            Column("s", "struct(k varchar)"),
            Column("f", "varchar", transform="s.k"),
        ],
        common={"tp_timestamp": "strptime(t, '%Y')", "tp_ips": "[a"},
    )
    found = {problem.address for problem in check_table(broken)}
    assert found == {
        "column.a.transform",
        "column.b.transform",
        "column.c.transform",
        "column.d.transform",
        "common.tp_ips",
    }


def test_fields_are_numbers_where_a_transform_needs_them_except_in_shipped_tables() -> None:
    table = Table(name="things", columns=[Column("c", transform="x + y * 2")], common={"tp_timestamp": "now()"})
    assert check_table(table) == ()
    (problem,) = check_table(replace(table, is_shipped=True))
    assert problem.hint == "fields are text until they are cast, such as x::BIGINT"
