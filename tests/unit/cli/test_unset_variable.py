"""Commands on a machine that lacks the collector's variables: reading works, collecting says what is missing."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.cli.app import app
from tailpipe.errors import ConfigError
from tests.unit.cli.test_managing import DAYS, commit

CONFIG = """
connection "aws" "prod" {
  access_key = "AKIAEXAMPLE"
  secret_key = env("NO_SECRET")
  region     = "${env("NO_REGION")}-1"
}

connection "aws" "copy" {
  region = connection.aws.prod.region
}

table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}

partition "app" "bucket" {
  source "aws_s3_bucket" {
    connection = connection.aws.prod
    bucket     = "logs"
  }
}

partition "app" "prod" {
  source "file" { paths = ["LOGS"] }
  source "file" "more" {
    paths       = ["LOGS/${env("NO_HOST")}"]
    file_layout = trimspace(file("layout.txt"))
  }
}

partition "app" "plain" {
  source "file" { paths = ["LOGS"] }
}

schema "recent" { tables = ["app"] }
"""
MISSING = ("NO_SECRET", "NO_REGION", "NO_HOST", "layout.txt")
READING = (
    "query 'SELECT count(*) AS n FROM app'",
    "query 'SELECT count(*) AS n FROM recent.app'",
    "status",
    "table list",
    "table show app",
    "partition list",
    "partition show app.bucket",
    "partition show app.prod",
    "schema list",
    "schema show recent",
    "connection list",
    "connection show aws.prod",
    "connection show aws.copy --output json",
    "source list",
    "format list",
    "config show",
    "config show --output json",
    "compact app.prod --dry-run",
    "expire",
    "doctor",
    "connect",
    "rejected show app.prod",
    "partition delete app.prod --from 2024-01-04 --to 2024-01-04 --force",
)


@pytest.fixture
def install(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "config" / "main.tpc").write_text(CONFIG.replace("LOGS", str(tmp_path / "logs")))
    home = tmp_path / "data" / "default"
    home.mkdir(parents=True)
    for day in DAYS:
        commit(home, "app.prod", day, [f"{day}-{n}" for n in range(3)])
    return tmp_path


def called(install: Path, command: str, **env: str) -> Result:
    variables: dict[str, str | None] = dict.fromkeys(MISSING)
    variables |= {"TAILPIPE_INSTALL_DIR": str(install), "HOME": str(install), **env}
    return CliRunner().invoke(app, shlex.split(command), env=variables)


@pytest.mark.slow
def test_what_only_reads_needs_no_variable_of_a_connection_or_a_source(install: Path) -> None:
    for command in READING:
        done = called(install, command)
        assert done.exception is None, (command, done.output, done.exception)


def test_a_value_that_is_not_known_here_is_shown_as_its_call(install: Path) -> None:
    shown = called(install, "config show").stdout
    assert 'secret_key = env("NO_SECRET")' in shown
    assert 'region     = env("NO_REGION")' in shown
    assert 'file_layout = file("layout.txt")' in shown


def lacking(install: Path, command: str) -> list[str]:
    """The messages of the problems that keep a command from its work."""
    failure = called(install, command).exception
    assert isinstance(failure, ConfigError), failure
    return [one.message for one in failure.diagnostics]


SECRET = 'env: the environment variable "NO_SECRET" is not set'
REGION = 'env: the environment variable "NO_REGION" is not set'
HOST = 'env: the environment variable "NO_HOST" is not set'
LAYOUT = 'file: cannot read "layout.txt": No such file or directory'


def test_a_collection_names_what_its_partitions_lack_and_nothing_else(install: Path) -> None:
    assert lacking(install, "collect app.bucket") == [SECRET, REGION]
    assert lacking(install, "collect app.bucket --dry-run") == [SECRET, REGION]
    assert lacking(install, "collect app.prod") == [HOST, LAYOUT]
    assert lacking(install, "collect app.prod more") == [HOST, LAYOUT]
    assert lacking(install, "collect") == [SECRET, REGION, HOST, LAYOUT]


def test_a_partition_or_a_source_that_needs_none_of_it_is_collected(install: Path) -> None:
    assert called(install, "collect app.plain --dry-run").exception is None
    assert called(install, "collect app.prod file --dry-run").exception is None


def test_a_check_tells_all_of_it(install: Path) -> None:
    copied = f"connection.aws.prod.region has no value: {REGION}"
    assert lacking(install, "config check") == [SECRET, REGION, copied, HOST, LAYOUT]


def test_with_other_problems_all_are_told_together(install: Path) -> None:
    (install / "config" / "more.tpc").write_text("schema {}\n")
    assert SECRET in lacking(install, "status")


def test_the_diagnostic_of_a_collection_is_that_of_a_check(install: Path) -> None:
    failure = called(install, "collect app.bucket").exception
    assert isinstance(failure, ConfigError)
    place = failure.diagnostics[0].place
    assert (place.line, place.column, place.length) == (4, 16, 16)
    assert place.text == '  secret_key = env("NO_SECRET")'
    assert failure.diagnostics[0].hint == 'set it, or give a value for that case: env("NO_SECRET", "…")'


def test_what_no_connection_or_source_says_is_needed_by_all(install: Path) -> None:
    (install / "config" / "more.tpc").write_text('schema "old" { where = env("NO_CONDITION") }\n')
    assert 'env: the environment variable "NO_CONDITION" is not set' in lacking(install, "status")


def test_with_the_variables_everything_is_resolved(install: Path) -> None:
    (install / "config" / "layout.txt").write_text("%{DATA}\n")
    done = called(install, "config check", NO_SECRET="x", NO_REGION="eu-west", NO_HOST="web")
    assert done.exception is None, done.exception
    shown = called(install, "config show", NO_SECRET="x", NO_REGION="eu-west", NO_HOST="web").stdout
    assert 'region     = "eu-west-1"' in shown
