from __future__ import annotations

import pytest

from tailpipe.config.builder import build_config
from tailpipe.config.suspicions import ignored_columns
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError, Diagnostic, Place
from tailpipe.plugin import Registry
from tests.unit.config.world import AROUND, REGISTRY, build, messages, problems

TABLE = 'table "web_log" {\n  format = format.jsonl.default\n  column "tp_timestamp" { source = "time" }\n}\n'


def test_no_text_is_an_empty_config() -> None:
    assert build().is_empty
    assert build("", "# nothing\n").is_empty


def test_blocks_of_all_files_are_gathered_by_kind_in_their_order() -> None:
    config = build('schema "b" {}\nworkspace "w" {}\n' + TABLE, 'schema "a" {}\nconnection "aws" "c" {}\n')
    assert list(config.schemas) == ["b", "a"]
    assert list(config.connections) == ["aws.c"]
    assert list(config.tables) == ["web_log"]
    assert config.files == ("main.tpc", "more2.tpc")


def test_a_partition_may_name_a_table_of_the_config_or_of_a_plugin() -> None:
    source = 'source "file" { paths = ["/var/log"] }'
    config = build(f'partition "web_log" "p" {{ {source} }}\npartition "acme_event_log" "p" {{ {source} }}', TABLE)
    assert list(config.partitions) == ["web_log.p", "acme_event_log.p"]


def test_the_same_name_may_stand_under_different_types_and_kinds() -> None:
    config = build('connection "aws" "x" {}\nconnection "acme" "x" {}\nschema "x" {}\nworkspace "x" {}\n')
    assert list(config.connections) == ["aws.x", "acme.x"]


def test_problems_come_in_the_order_of_files_lines_and_columns() -> None:
    found = problems('schema "s" {\n  b = 1 a = 2\n}\nworkspace "w" { c = 1 }\n', 'workspace "v" { d = 1 }\n')
    assert [str(problem.place) for problem in found] == [
        "main.tpc:2:3",
        "main.tpc:2:9",
        "main.tpc:4:17",
        "more2.tpc:1:17",
    ]


def test_problems_from_before_are_told_with_the_others() -> None:
    before = Diagnostic("cannot read the file", Place("a.tpc", 0, 0))
    with pytest.raises(ConfigError) as caught:
        build_config([ConfigText("b.tpc", "x = 1")], REGISTRY, AROUND, [before])
    assert [problem.message for problem in caught.value.diagnostics] == [
        "cannot read the file",
        '"x" must be inside a block',
    ]
    assert str(caught.value) == "2 problems in the config"


def test_a_duplicate_shows_both_places_though_in_different_files() -> None:
    (problem,) = problems('schema "s" {}\n', '\nschema "s" {}\n')
    assert str(problem.place) == "more2.tpc:2:1"
    assert [str(note.place) for note in problem.notes] == ["main.tpc:1:1"]


def test_duplicates_inside_a_block_show_both_places_too() -> None:
    text = (
        'workspace "w" {\n  location = "a"\n  location = "b"\n  spark {}\n  spark {}\n}\n'
        'table "t" {\n  column "tp_timestamp" {}\n  column "x" {}\n  column "X" {}\n}\n'
        'partition "acme_event_log" "p" {\n'
        '  source "file" "a" { paths = ["a"] }\n  source "file" "a" { paths = ["b"] }\n}\n'
    )
    found = problems(text)
    assert [(problem.place.line, problem.notes[0].place.line) for problem in found] == [
        (3, 2),
        (5, 4),
        (10, 9),
        (14, 13),
    ]


def test_an_unknown_table_is_told_beside_other_problems_of_the_partition() -> None:
    assert messages('partition "acme_event_lgo" "p" { source "file" {} }') == [
        'unknown table "acme_event_lgo"',
        'source "file" has no argument "paths"',
    ]


def test_a_partition_of_a_broken_table_is_no_further_problem() -> None:
    source = 'source "file" { paths = ["/var/log"] }'
    assert messages(f'partition "web_log" "p" {{ {source} }}', TABLE.replace("format =", "formt =")) == [
        'unknown argument "formt" in table "web_log"'
    ]


def test_a_source_needs_a_format_from_itself_or_from_its_table() -> None:
    source = 'source "file" {{ paths = ["/var/log"] {} }}'
    raw = 'partition "acme_raw_log" "p" {{ {} }}'
    assert messages(raw.format(source.format(""))) == ['neither the source nor table "acme_raw_log" has a format']
    assert not messages(raw.format(source.format("format = format.jsonl.default")))


def test_a_column_with_null_as_its_source_has_no_source() -> None:
    assert not messages('table "t" {\n  column "tp_timestamp" {\n    source = null\n    transform = "now()"\n  }\n}')


@pytest.mark.slow
def test_ten_thousand_blocks_are_decoded() -> None:
    text = "\n".join(
        f'partition "acme_event_log" "p{number}" {{\n  source "file" {{ paths = ["/var/log/{number}"] }}\n}}'
        for number in range(10_000)
    )
    assert len(build(text).partitions) == 10_000


def test_a_line_of_a_megabyte_with_a_mistake_is_told_shortly() -> None:
    (problem,) = problems(f'schema "s" {{ where = "{"x" * 1_000_000}" wher = 1 }}')
    assert problem.hint == 'did you mean "where"?'
    assert problem.place.column == 1_000_025


@pytest.mark.parametrize("where", ["table", "source"])
def test_a_format_that_could_not_be_made_is_one_problem_not_two(where: str) -> None:
    named = "format = format.regex.mine"
    table = TABLE.replace("format = format.jsonl.default", named if where == "table" else "")
    source = f'source "file" {{ paths = ["/a"]\n{named if where == "source" else ""}\n}}'
    text = f'{table}partition "web_log" "p" {{\n{source}\n}}\nformat "regex" "mine" {{ layout = "(?P<a" }}\n'
    assert [one.startswith("not a regular expression") for one in messages(text)] == [True]


def test_the_only_time_of_a_table_is_its_tp_timestamp() -> None:
    table = build('table "t" {\n  column "seen" {\n    type = "datetime"\n    source = "ts"\n  }\n}').tables["t"]
    time = table.column("tp_timestamp")
    assert time is not None
    assert time.source == "ts"
    two = 'table "t" {\n  column "a" { type = "datetime" }\n  column "b" { type = "timestamp" }\n}'
    assert messages(two) == ['table "t" does not map tp_timestamp']


def test_columns_that_tailpipe_fills_in_itself_are_left_out_with_a_warning() -> None:
    config = build(TABLE.replace("}\n}", '}\n  column "tp_date" { source = "day" }\n}'))
    assert config.tables["web_log"].column("tp_date") is None
    (found,) = ignored_columns(config)
    assert (found.message, found.place.line) == ('column "tp_date" of table "web_log" has no effect', 4)


@pytest.mark.parametrize("quote", ['"', "`"])
def test_a_flow_log_layout_may_be_copied_from_aws(quote: str) -> None:
    layout = f"{quote}${{version}} ${{vpc-id}} ${{srcaddr}}{quote}"
    text = ConfigText("main.tpc", f'format "aws_vpc_flow_log" "f" {{ layout = {layout} }}')
    format_ = build_config([text], Registry.installed(), AROUND).formats["aws_vpc_flow_log.f"]
    assert list(format_.read_as().fields) == ["version", "vpc_id", "srcaddr"]  # type: ignore[attr-defined]


def test_a_command_may_be_one_text() -> None:
    source = """source "command" { command = "prog --since '1 day ago' -o json" }"""
    text = ConfigText("main.tpc", f'{TABLE}partition "web_log" "p" {{ {source} }}')
    (found,) = build_config([text], Registry.installed(), AROUND).partitions["web_log.p"].sources
    assert found.command == ("prog", "--since", "1 day ago", "-o", "json")  # type: ignore[attr-defined]
    shell = text.text.replace('json" }', 'json | head"\n  shell = true }')
    (found,) = build_config([ConfigText("m", shell)], Registry.installed(), AROUND).partitions["web_log.p"].sources
    assert found.command == ("prog --since '1 day ago' -o json | head",)  # type: ignore[attr-defined]
