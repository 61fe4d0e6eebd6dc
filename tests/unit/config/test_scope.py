from __future__ import annotations

import pytest

from tailpipe.plugins.aws.connection import Aws
from tests.unit.config.world import build, messages, problems


def region(expression: str, *others: str) -> str | None:
    """The region of a connection whose argument is the expression."""
    config = build(f'connection "aws" "this" {{\n  region = {expression}\n}}\n', *others)
    connection = config.connections["aws.this"]
    assert isinstance(connection, Aws)
    return connection.region


def test_a_reference_gives_the_argument_of_another_block() -> None:
    assert region("connection.aws.that.region", 'connection "aws" "that" { region = "eu-west-1" }') == "eu-west-1"


def test_references_go_over_files_in_any_order_and_through_each_other() -> None:
    first = 'connection "aws" "a" { region = upper(connection.aws.b.region) }'
    second = 'connection "aws" "b" { region = "${workspace.w.location}-1" }\nworkspace "w" { location = "eu" }'
    assert region("connection.aws.a.region", first, second) == "EU-1"
    assert region("connection.aws.a.region", second, first) == "EU-1"


def test_an_argument_that_is_not_said_gives_its_default() -> None:
    assert region('format("%d", connection.aws.that.max_retries)', 'connection "aws" "that" {}') == "9"
    assert region("connection.aws.that.profile", 'connection "aws" "that" {}') is None


def test_defaults_and_presets_exist_without_a_block() -> None:
    assert region('format("%d", connection.aws.default.max_retries)') == "9"
    assert region("format.acme_lines.events.separator") == "|"
    assert region('join(",", format.delimited.csv.null_if)') == ""


def test_a_part_of_a_map_is_reached_by_points_and_by_brackets() -> None:
    other = 'format "jsonl" "mine" { field_map = { a = "b", "c-d" = "e-f" } }'
    assert region("format.jsonl.mine.field_map.a", other) == "b"
    assert region('format.jsonl.mine.field_map["c-d"]', other) == "e-f"


def test_a_name_with_a_dash_is_one_name() -> None:
    assert region("connection.aws.eu-west-1.region", 'connection "aws" "eu-west-1" { region = "x" }') == "x"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nowhere", 'unknown name "nowhere"'),
        ("conection.aws.that.region", 'unknown name "conection"'),
        ("connection", '"connection" is an incomplete name'),
        ("connection.aws", '"connection.aws" is an incomplete name'),
        ("partition.web", '"partition.web" is an incomplete name'),
        ("connection.aws.other.region", "there is no connection.aws.other"),
        ("workspace.other.location", "there is no workspace.other"),
        ("connection.aws.that.regon", 'connection.aws.that has no argument "regon"'),
        ("connection.aws.that.name", 'connection.aws.that has no argument "name"'),
        ("connection.aws.that.region.x", 'connection.aws.that.region has no part "x"'),
        ("connection.aws.that.secret_key", '"secret_key" of connection.aws.that is a secret, which cannot be referred'),
        ("connection.acme.default.tenants", '"tenants" of connection.acme.default is a secret, which cannot be'),
        ("connection.aws.that", "expected text, got a reference"),
        ('"${connection.aws.that}-1"', "a reference cannot be part of a text"),
        ("connection.aws.that[0]", "a reference has no parts"),
        ("connection.aws.this.region", "the value depends on itself: connection.aws.this.region → connection.aws.this"),
    ],
)
def test_a_reference_that_leads_nowhere_is_told(expression: str, message: str) -> None:
    told = messages(
        f'connection "aws" "this" {{ region = {expression} }}',
        'connection "aws" "that" { region = "x" access_key = "AKIA" secret_key = "hunter2" }',
    )
    assert len(told) == 1
    assert told[0].startswith(message)


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("connection.acme.prodution", 'did you mean "connection.acme.production"?'),
        ("connection.acme.archive", 'add it to the config: connection "acme" "archive" { … }'),
        ("connection.acm.production", 'did you mean "connection.acme.production"?'),
        ("workspace.prodution", 'add it to the config: workspace "prodution" { … }'),
        ("partition", "write partition.TABLE.NAME"),
        ("connection", "write connection.TYPE.NAME"),
        ("workspace", "write workspace.NAME"),
    ],
)
def test_the_hint_names_what_may_be_meant(reference: str, hint: str) -> None:
    found = problems(
        f'workspace "default" {{ location = {reference} }}',
        'connection "acme" "production" {}\nconnection "acme" "test" {}\nworkspace "w" {}',
    )
    assert [problem.hint for problem in found] == [hint]


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_a_circle_is_told_in_each_of_its_blocks_with_the_whole_way(count: int) -> None:
    blocks = [
        f'connection "aws" "c{n}" {{ region = "x${{connection.aws.c{(n + 1) % count}.region}}" }}' for n in range(count)
    ]
    told = messages("\n".join(blocks))
    assert len(told) == count
    for message in told:
        assert message.startswith("the value depends on itself: ")
        assert message.count("→") == count


def test_a_long_way_that_is_no_circle_has_a_limit() -> None:
    blocks = [f'connection "aws" "c{n}" {{ region = connection.aws.c{n + 1}.region }}' for n in range(100)]
    told = messages("\n".join(blocks), 'connection "aws" "c100" { region = "x" }')
    assert told
    assert set(told) == {"more than 30 references in a row"}


def test_a_value_that_doubles_at_each_step_is_evaluated_once_at_each() -> None:
    twice = "${connection.aws.NEXT.region}${connection.aws.NEXT.region}"
    blocks = [f'connection "aws" "c{n}" {{ region = "{twice.replace("NEXT", f"c{n + 1}")}" }}' for n in range(29)]
    assert region("connection.aws.c0.region", "\n".join(blocks), 'connection "aws" "c29" { region = "" }') == ""


def test_deep_nesting_in_every_step_of_a_long_way_is_a_problem_and_not_a_crash() -> None:
    opening, closing = "[" * 55, "]" * 55
    blocks = [
        f'connection "aws" "c{n}" {{ region = {opening}connection.aws.c{n + 1}.region{closing} }}' for n in range(30)
    ]
    told = messages("\n".join(blocks), 'connection "aws" "c30" { region = "x" }')
    assert any("nested too deep" in message for message in told)


def test_blocks_that_need_each_other_whole_are_a_circle_too() -> None:
    told = messages(
        'connection "acme" "a" { parent = connection.acme.b }\nconnection "acme" "b" { parent = connection.acme.a }'
    )
    assert told == ["the block depends on itself: connection.acme.a → connection.acme.b → connection.acme.a"]
    assert messages('connection "acme" "a" { parent = connection.acme.a }') == [
        "the block depends on itself: connection.acme.a → connection.acme.a"
    ]


def test_the_problem_of_a_value_is_told_where_it_stands_and_where_it_is_needed() -> None:
    found = problems(
        'connection "aws" "a" { region = env("NOT_SET") }\nworkspace "w" { location = connection.aws.a.region }'
    )
    assert [problem.place.line for problem in found] == [1, 2]
    assert found[1].message == (
        'connection.aws.a.region has no value: env: the environment variable "NOT_SET" is not set'
    )
