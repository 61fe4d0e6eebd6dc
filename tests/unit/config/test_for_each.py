from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.config.packs import load_file
from tailpipe.errors import ConfigError
from tests.unit.config.world import build, messages, problems

MEMBERS = 'connection "aws" "member" {\n  for_each = ["prod", "dev"]\n  profile  = each.value\n}\n'


def test_a_block_is_made_for_each_item_in_the_order_of_the_text() -> None:
    config = build('schema "z" {}\nschema "s" { for_each = ["b", "a"] }\nschema "y" {}\n')
    assert list(config.schemas) == ["z", "s_b", "s_a", "y"]


def test_blocks_are_known_by_key_and_by_name_before_and_after_them() -> None:
    schema = 'schema "s" {{ description = "{}" }}\n'
    for written in ("${connection.aws.member.dev.profile}", '${connection.aws.member[lower("DEV")].profile}'):
        assert build(schema.format(written), MEMBERS).schemas["s"].description == "dev"
    assert build(MEMBERS, schema.format("${connection.aws.member_dev.profile}")).schemas["s"].description == "dev"


def test_a_block_without_items_may_be_referred_to() -> None:
    config = build(
        'connection "aws" "m" { for_each = {} }\nschema "s" { for_each = connection.aws.m }\n',
    )
    assert not config.connections
    assert not config.schemas


def test_an_unset_variable_of_one_block_waits_until_it_is_used() -> None:
    config = build(
        'connection "aws" "m" {\n  for_each = { a = "REGION", b = "NOWHERE" }\n  region = env(each.value)\n}\n'
    )
    assert getattr(config.connections["aws.m_a"], "region", None) == "eu-west-1"
    (missing,) = config.unresolved
    assert [note.message for note in missing.notes] == ['in the block for each.key = "b"']


def test_an_unset_variable_in_for_each_is_a_problem() -> None:
    assert messages('schema "s" { for_each = [env("NOWHERE")] }') == [
        'env: the environment variable "NOWHERE" is not set'
    ]


def test_names_in_sql_have_no_hyphen() -> None:
    assert list(build('schema "s" { for_each = ["eu-west-1"] }').schemas) == ["s_eu_west_1"]
    assert list(build('connection "aws" "s" { for_each = ["eu-west-1"] }').connections) == ["aws.s_eu-west-1"]


def test_hostile_keys_make_harmless_names_or_problems() -> None:
    config = build('connection "aws" "s" { for_each = ["../../etc/passwd", "${"\\u0000"}", "é; drop"] }')
    assert list(config.connections) == ["aws.s_______etc_passwd", "aws.s__", "aws.s____drop"]
    (long,) = problems(f'connection "aws" "s" {{ for_each = ["{"x" * 200}"] }}')
    assert "is too long for a name" in long.message


def test_the_number_of_blocks_is_bounded() -> None:
    items = ", ".join(f'"{number}"' for number in range(10_001))
    assert messages(f'schema "s" {{ for_each = [{items}] }}') == ["for_each makes more than 10,000 blocks"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("null", "expected a list or a map, got null"),
        ("[null]", "an item of for_each must be text, not null"),
        ('[""]', "an item of for_each must be text, not empty text"),
        ('{ "" = 1 }', "a key cannot be empty"),
        ("[true]", "an item of for_each must be text, not a boolean"),
        ("[connection.aws.nobody]", "there is no connection.aws.nobody"),
        ("each.value", '"each" is known in blocks with for_each'),
    ],
)
def test_what_is_no_list_of_names_is_refused(value: str, message: str) -> None:
    assert messages(f'connection "aws" "s" {{ for_each = {value} }}') == [message]


def test_a_pack_has_no_for_each(tmp_path: Path) -> None:
    file = tmp_path / "tables" / "x.tpc"
    file.parent.mkdir()
    file.write_text('table "x" {\n  for_each = ["a"]\n}\n')
    with pytest.raises(ConfigError) as caught:
        load_file("table", "x", str(file), None)
    assert [one.message for one in caught.value.diagnostics] == ["a pack has no for_each"]


def test_four_hundred_accounts_in_four_regions_are_a_few_lines() -> None:
    accounts = ", ".join(f'"{number:012}"' for number in range(400))
    config = build(
        f'connection "aws" "m" {{\n  for_each = [{accounts}]\n'
        '  role_arn = "arn:aws:iam::${each.value}:role/tailpipe"\n}\n'
        'partition "acme_event_log" "org" {\n  source "aws_s3_bucket" {\n    for_each = connection.aws.m\n'
        '    bucket = "logs-${each.key}"\n    connection = each.value\n  }\n}\n'
    )
    sources = config.partitions["acme_event_log.org"].sources
    assert len(sources) == 400
    assert sources[-1].name == "000000000399"
