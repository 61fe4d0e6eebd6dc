from __future__ import annotations

from tailpipe.config.config import Config
from tailpipe.config.encoder import config_text
from tailpipe.config.settings import SparkSettings
from tailpipe.model.option import Secret
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.core.sources import File
from tests.unit.config.world import Acme, AcmeApi, build, messages, problems


def only_source(config: Config) -> AcmeApi:
    (partition,) = config.partitions.values()
    (source,) = partition.sources
    assert isinstance(source, AcmeApi)
    return source


def api(body: str, *others: str) -> AcmeApi:
    text = f'partition "acme_event_log" "prod" {{\n  source "acme_api" {{\n    streams = ["s"]\n{body}\n  }}\n}}\n'
    return only_source(build(text, *others))


def test_every_type_of_option_is_decoded() -> None:
    source = api(
        """
        page_size = 50
        ratio     = 0.25
        is_live   = true
        level     = "high"
        labels    = { a = "b" }
        limits    = { login = 5 }
        either    = ["x"]
        password  = "hunter2"
        """
    )
    assert source.streams == ("s",)
    assert (source.page_size, source.ratio, source.is_live, source.level) == (50, 0.25, True, "high")
    assert (source.labels, source.limits, source.either) == ({"a": "b"}, {"login": 5}, ("x",))
    assert source.password == Secret("hunter2")


def test_what_is_not_said_has_its_default() -> None:
    source = api("")
    assert (source.page_size, source.ratio, source.is_live, source.level) == (100, 1.0, False, "low")
    assert (source.labels, source.either, source.password, source.format) == ({}, None, None, None)


def test_null_is_as_if_it_were_not_said() -> None:
    assert api("page_size = null\nlabels = null") == api("")


def test_a_connection_that_is_not_named_is_the_default_one() -> None:
    assert api("").connection == Acme()
    own = 'connection "acme" "default" { url = "https://other.example" }'
    assert api("", own).connection.url == "https://other.example"


def test_a_connection_and_a_format_are_referred_to() -> None:
    others = 'connection "acme" "prod" { url = "u" }\nformat "acme_lines" "mine" { separator = ";" }'
    source = api("connection = connection.acme.prod\nformat = format.acme_lines.mine", others)
    assert source.connection == Acme(name="prod", url="u")
    assert source.format is not None
    assert source.format.address == "format.acme_lines.mine"


def test_references_stand_in_lists_too() -> None:
    source = api("backups = [connection.acme.default, connection.aws.default]")
    assert source.backups == (Acme(), Aws())


def test_maps_of_secrets_are_secrets() -> None:
    connection = build('connection "acme" "prod" { tenants = { a = "hunter2" } }').connections["acme.prod"]
    assert isinstance(connection, Acme)
    assert connection.tenants == {"a": Secret("hunter2")}
    assert "hunter2" not in repr(connection)


def test_nested_blocks_are_one_or_many() -> None:
    config = build('workspace "w" { spark { master = "yarn" conf = { a = "1" } } }')
    assert config.workspaces["w"].spark == SparkSettings(master="yarn", conf={"a": "1"})
    table = build('table "t" { column "tp_timestamp" {} column "b" { type = "int" required = true } }').tables["t"]
    assert [column.name for column in table.columns] == ["tp_timestamp", "b"]
    assert table.columns[1].type == "integer"
    assert table.columns[1].required


def test_a_word_of_python_may_name_an_option() -> None:
    schema = build('schema "s" { from = "2024-01-01" to = "2024-02-01" }').schemas["s"]
    assert (schema.from_, schema.to) == ("2024-01-01", "2024-02-01")


def test_the_default_in_config_may_differ_from_the_one_in_python() -> None:
    config = build(
        'table "t" { column "tp_timestamp" {} }\ntable "u" {\n map_fields = []\n column "tp_timestamp" {}\n}'
    )
    assert config.tables["t"].map_fields == ("*",)
    assert config.tables["u"].map_fields == ()


def test_all_problems_of_a_block_are_told_together() -> None:
    told = messages(
        'connection "aws" "my prod" "more" {\n  regoin = "x"\n  max_retries = "y"\n  profile = 1\n  profile = 2\n}'
    )
    assert told == [
        '"my prod" is not a name',
        '"more" is an unexpected label of "connection"',
        'unknown argument "regoin" in connection "aws.my prod.more"',
        "expected an integer, got text",
        "expected text, got a number",
        'the argument "profile" is duplicated',
    ]


def test_a_misspelt_argument_is_not_told_as_missing_too() -> None:
    assert messages('format "regex" "r" { layuot = "x" }') == ['unknown argument "layuot" in format "regex.r"']
    assert messages('partition "acme_event_log" "p" { sorce "file" {} }') == [
        'unknown block "sorce" in partition "acme_event_log.p"'
    ]


def test_a_block_with_a_syntax_mistake_is_not_told_as_incomplete_too() -> None:
    assert messages('format "regex" "r" {\n  layout = "\\d"\n}') == ['"\\d" is not an escape']
    assert messages('partition "acme_event_log" "p" {\n  source "file" {\n    paths = [\n  }\n}') == [
        'expected a value, got "}"'
    ]


def test_a_reference_to_a_broken_block_is_no_further_problem() -> None:
    broken = 'connection "acme" "c" { ulr = "x" }\n'
    source = 'source "acme_api" { streams = ["s"] connection = connection.acme.c }'
    assert messages(broken, f'partition "acme_event_log" "p" {{ {source} }}') == [
        'unknown argument "ulr" in connection "acme.c"'
    ]


def test_what_a_check_of_a_plugin_raises_is_told_at_the_value() -> None:
    body = 'partition "acme_event_log" "p" {{ source "acme_api" {{ streams = ["s"] {} }} }}'
    (problem,) = problems(body.format("page_size = 5000"))
    assert (problem.message, problem.hint) == ("a page of 5000 is too large", "use at most 1000")
    assert problem.place.text[problem.place.column - 1 :][: problem.place.length] == "5000"
    (problem,) = problems(body.format('mood = "broken"'))
    assert problem.message == "cannot be checked: KeyError: 'mood'"


def test_a_pattern_that_python_cannot_take_is_a_problem_and_not_a_crash() -> None:
    for pattern in ("(" * 5000, "(?P<a>a{9999})"):
        assert len(messages(f'format "regex" "r" {{ layout = "{pattern}" }}')) == 1


def test_an_unquoted_secret_is_never_shown() -> None:
    for secret in ("hunter2", "8hunter2", "hunter2/abc+def", "hunter2.abc"):
        for problem in problems(f'connection "acme" "c" {{\n  token = {secret}\n}}'):
            assert "hunter2" not in problem.place.text
            assert "hunter2" not in problem.message + problem.hint


def test_sources_of_one_partition_have_their_own_types_formats_and_names() -> None:
    config = build(
        """
        partition "acme_event_log" "p" {
          source "file" "app" {
            paths  = ["/var/log/app"]
            format = format.jsonl.default
          }
          source "file" {
            paths = ["/var/log/web"]
          }
          source "file" {
            paths = ["/var/log/db"]
          }
          source "acme_api" {
            streams = ["s"]
          }
        }
        """
    )
    sources = config.partitions["acme_event_log.p"].sources
    assert [source.name for source in sources] == ["app", "file", "file_2", "acme_api"]
    assert isinstance(sources[0], File)
    assert sources[0].format is not None
    assert sources[1].format is None


def test_a_name_that_was_given_is_never_given_again() -> None:
    config = build(
        'partition "acme_event_log" "p" { source "file" { paths = ["a"] } source "file" "file" { paths = ["b"] } }'
    )
    assert [source.name for source in config.partitions["acme_event_log.p"].sources] == ["file_2", "file"]


def test_every_block_and_argument_has_its_place() -> None:
    config = build('workspace "w" {\n  spark {\n    master = "yarn"\n  }\n}\n')
    assert str(config.place("workspace.w")) == "main.tpc:1:1"
    assert str(config.place("workspace.w.spark.master")) == "main.tpc:3:14"
    assert config.place("workspace.other") is None


HTTP = """
connection "http" "api" {
  base_url = "https://api.example"
  auth "basic" {
    username = "me"
    password = env("DB_PASSWORD")
  }
}
partition "acme_event_log" "x" {
  source "http" {
    connection = connection.http.api
    path       = "/events"
    method     = "POST"
    body       = { since = "{from}", deep = { list = [1, true, "x", null] } }
    pagination "cursor" {
      path = "next"
      body = "cursor"
    }
  }
}
"""


def test_a_block_of_several_kinds_is_the_one_that_its_label_names() -> None:
    config = build(HTTP)
    auth = config.connections["http.api"].auth  # type: ignore[attr-defined]
    assert (auth.type, auth.username, auth.password) == ("basic", "me", Secret("hunter2"))
    [source] = config.partitions["acme_event_log.x"].sources
    assert (source.pagination.type, source.pagination.body) == ("cursor", "cursor")  # type: ignore[attr-defined]


def test_any_value_is_taken_as_it_is() -> None:
    [source] = build(HTTP).partitions["acme_event_log.x"].sources
    assert source.body == {"since": "{from}", "deep": {"list": (1, True, "x", None)}}  # type: ignore[attr-defined]


def test_a_block_of_several_kinds_is_printed_as_it_was_written() -> None:
    config = build(HTTP)
    text = config_text(config)
    assert 'auth "basic"' in text
    assert "hunter2" not in text
    assert build(text.replace("•••", "hunter2")).partitions == config.partitions
