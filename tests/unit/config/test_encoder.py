from __future__ import annotations

import json

from tailpipe.config.encoder import config_data, config_text, plain_data
from tailpipe.model.connection import Connection
from tailpipe.model.option import Secret
from tailpipe.model.redaction import REDACTOR
from tailpipe.plugins.core.sources import File
from tests.unit.config.world import REGISTRY, Acme, build

SECRETS = """
connection "acme" "c" {
  url       = "https://acme.example/hidden"
  token     = "hunter2"
  door_code = "hunter2"
  tenants   = { a = "hunter2" }
}

partition "acme_event_log" "p" {
  source "acme_api" {
    streams    = ["s"]
    connection = connection.acme.c
    password   = "hunter2"
  }
}
"""


def test_no_secret_is_in_any_output_and_each_is_dots() -> None:
    config = build(SECRETS)
    for shown in (config_text(config), json.dumps(config_data(config), ensure_ascii=False), repr(config)):
        assert "hunter2" not in shown
        assert shown.count("•••") >= 4


HIDDEN = """
workspace "default" { spark { conf = { "spark.authenticate.secret" = "hunter2", "spark.authenticate" = "true" } } }
connection "aws" "c" { endpoint_url = "https://me:hunter2@host.example:9000" }
partition "acme_raw_log" "x" {
  source "command" {
    format  = format.jsonl.default
    command = ["curl", "-H", "Authorization: Bearer hunter2", "https://me:hunter2@host.example"]
    env     = { LOGIN = "hunter2" }
  }
}
"""


def test_secrets_by_shape_or_key_and_variables_of_a_command_are_dots() -> None:
    config = build(HIDDEN)
    for shown in (config_text(config), json.dumps(config_data(config), ensure_ascii=False)):
        assert "hunter2" not in shown
        assert "https://me:•••@host.example:9000" in shown
        assert "Authorization: •••" in shown
        assert shown.count("•••") == 5
        assert "true" in shown
    assert config.secrets == ("hunter2",)


ARGUMENTS = """
connection "aws" "c" { endpoint_url = "https://host.example/?token=hunter2&x=1" }
partition "acme_raw_log" "x" {
  source "command" {
    format  = format.jsonl.default
    command = ["fetch", "--password", "hunter2", "--api-key=hunter2", "--token-file", "/run/token", "--verbose", "a"]
  }
}
partition "acme_raw_log" "y" {
  source "command" {
    format  = format.jsonl.default
    command = "fetch --client-secret hunter2 --secret -v https://host.example/learnt-value-of-a-token"
  }
}
"""


def test_secrets_in_the_arguments_of_a_program_and_in_addresses_are_dots() -> None:
    REDACTOR.learn(["learnt-value-of-a-token"])
    config = build(ARGUMENTS)
    for shown in (config_text(config), json.dumps(config_data(config), ensure_ascii=False)):
        assert "hunter2" not in shown
        assert "learnt" not in shown
        assert "https://host.example/?token=•••&x=1" in shown
        assert "--api-key=•••" in shown
        assert "/run/token" in shown
        assert '"-v"' in shown
        assert shown.count("•••") == 5


def test_text_holds_only_what_is_not_at_its_default() -> None:
    text = 'connection "aws" "c" {\n  region = "x"\n}\n'
    said = build('connection "aws" "c" {\n  region = "x"\n  max_retries = 9\n  profile = null\n}\n')
    assert config_text(said) == text


def test_data_holds_every_option() -> None:
    (connection,) = config_data(build('connection "acme" "c" {}'))["connections"]
    assert connection == {
        "type": "acme",
        "name": "c",
        "url": "https://acme.example",
        "token": None,
        "door_code": None,
        "tenants": {},
        "parent": None,
    }


def test_data_of_an_empty_config_has_every_kind() -> None:
    assert config_data(build("")) == {
        "workspaces": [],
        "connections": [],
        "stores": [],
        "formats": [],
        "tables": [],
        "partitions": [],
        "schemas": [],
        "datasets": [],
        "queries": [],
        "query_directories": [],
        "notifiers": [],
        "detections": [],
        "detection_sets": [],
        "sigma": [],
        "dashboards": [],
    }
    assert config_text(build("")) == ""


def test_data_is_plain_enough_for_json() -> None:
    data = config_data(build(SECRETS))
    assert json.loads(json.dumps(data)) == data


def test_connections_and_formats_are_shown_by_their_address_wherever_they_stand() -> None:
    config = build(
        'partition "acme_event_log" "p" { source "acme_api" { streams = ["s"] format = format.jsonl.default'
        " backups = [connection.aws.default] } }"
    )
    (source,) = config_data(config)["partitions"][0]["sources"]
    assert source["format"] == "format.jsonl.default"
    assert source["connection"] == "connection.acme.default"
    assert source["backups"] == ["connection.aws.default"]
    assert "backups = [connection.aws.default]" in config_text(config)
    assert build(config_text(config)).partitions == config.partitions


def test_the_default_connection_is_left_out_only_where_it_is_filled_in_again() -> None:
    text = 'connection "acme" "c" {\n  parent = connection.acme.default\n}\n'
    config = build(text)
    assert config_text(config) == text
    assert build(config_text(config)).connections == config.connections
    needed = build(
        'partition "acme_event_log" "p" { source "acme_api" { streams = ["s"] connection = connection.acme.default } }'
    )
    assert "connection =" not in config_text(needed)


def test_a_noun_of_a_plugin_is_shown_without_config_too() -> None:
    assert plain_data(REGISTRY.tables["acme_event_log"])["columns"][0]["name"] == "actor"
    assert plain_data(Acme(token=Secret("hunter2")))["token"] == "•••"
    assert plain_data(File(paths=("a",)))["type"] == "file"
    assert isinstance(Acme(), Connection)


def test_names_of_sources_survive_being_shown() -> None:
    text = """
    partition "acme_event_log" "p" {
      source "file" { paths = ["a"] }
      source "file" "file" { paths = ["b"] }
      source "file" "other" { paths = ["c"] }
      source "file" { paths = ["d"] }
    }
    """
    config = build(text)
    assert [source.name for source in config.partitions["acme_event_log.p"].sources] == [
        "file_2",
        "file",
        "other",
        "file_3",
    ]
    assert build(config_text(config)).partitions == config.partitions
