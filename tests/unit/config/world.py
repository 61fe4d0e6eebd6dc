"""The world in which config is tested: fixed plugins, a fixed time, a fixed environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal

from tailpipe.config.builder import build_config
from tailpipe.config.config import Config
from tailpipe.config.functions import Surroundings
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError, Diagnostic
from tailpipe.plugin import (
    Artifact,
    Column,
    Connection,
    Declared,
    Format,
    Plugin,
    Registry,
    Secret,
    Source,
    Table,
    UsageError,
    Window,
    nested,
    option,
)
from tailpipe.plugins.aws import plugin as aws
from tailpipe.plugins.core import plugin as core
from tailpipe.plugins.http import plugin as http

NOW = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)
ENV = {"BUCKET": "my-logs", "EMPTY": "", "DB_PASSWORD": "hunter2", "REGION": "eu-west-1"}
AROUND = Surroundings(now=NOW, env=ENV, home="/home/me")


class Acme(Connection):
    """An account of the Acme service."""

    type = "acme"
    url: str = option("Address of the service.", default="https://acme.example")
    token: Secret | None = option("Token to log in with.", default=None)
    door_code: Secret | None = option("A secret whose name does not tell.", default=None)
    tenants: Mapping[str, Secret] = option("A token for each tenant.", default={})
    parent: Connection | None = option("Connection to go through.", default=None)


def _check_page_size(value: int) -> None:
    if value > 1000:
        raise UsageError(f"a page of {value} is too large", hint="use at most 1000")


def _check_mood(mood: str) -> None:
    if mood == "broken":
        raise KeyError("mood")


class AcmeApi(Source):
    """Events of the Acme service, by its API."""

    type = "acme_api"
    connection: Acme = option("Account to read from.")
    streams: Sequence[str] = option("Streams to read.")
    page_size: int = option("How many events are asked for at once.", default=100, check=_check_page_size)
    ratio: float = option("Share of the events that is kept.", default=1.0)
    is_live: bool = option("Whether events of today are read too.", default=False)
    level: Literal["low", "high"] = option("Which events are read.", default="low")
    labels: Mapping[str, str] = option("Labels that each event gets.", default={})
    limits: Mapping[str, int] = option("Most events of each kind.", default={})
    either: int | Sequence[str] | None = option("A number, or names.", default=None)
    backups: Sequence[Connection] = option("Accounts to try if the first does not answer.", default=())
    password: Secret | None = option("Password of the export.", default=None)
    mood: str | None = option("What a careless author checks.", default=None, check=_check_mood)

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        yield Artifact(uri=f"acme://{self.streams[0]}", kind="range")

    def open(self, artifact: Artifact) -> BinaryIO:
        return BytesIO(artifact.uri.encode())


class Joined(Declared):
    """How lines are joined."""

    start: str = option("How the first line begins.")
    at_most: int = option("How many lines are joined.", default=10)


class AcmeLines(Format):
    """Lines of the Acme service, which no one else writes."""

    type = "acme_lines"
    separator: str = option("What stands between the values.")
    header: bool | None = option("Whether there is a header.", default=None)
    nulls: Sequence[str] = option("Texts that mean null.", default=("-",))
    renamed: Mapping[str, str] = option("New names for fields.", default={})
    joined: Joined | None = nested("How lines are joined.", block="joined", default=None)


class AcmeEventLog(Table):
    """One row for each event of the Acme service."""

    name = "acme_event_log"
    format = AcmeLines(name="events", separator="|")
    columns = [Column("actor", "varchar", "Who did it."), Column("size", "bigint", "How much.")]
    common = {"tp_timestamp": "at"}


class AcmeRawLog(Table):
    """One row for each line, in whatever format the source has."""

    name = "acme_raw_log"
    columns = [Column("line", "varchar", "The line.")]
    common = {"tp_timestamp": "at"}


acme = Plugin(
    name="acme",
    description="Logs of the Acme service.",
    tables=[AcmeEventLog, AcmeRawLog],
    sources=[AcmeApi],
    formats=[AcmeLines],
    presets=[AcmeLines(name="events", separator="|")],
    connections=[Acme],
)

REGISTRY = Registry([core, aws, acme, http])


def build(*texts: str, directory: Path | None = None) -> Config:
    """The config of the texts, as files `main.tpc`, `more2.tpc` and so on."""
    names = ["main.tpc", *(f"more{number}.tpc" for number in range(2, len(texts) + 1))]
    files = [ConfigText(name, text, directory) for name, text in zip(names, texts, strict=False)]
    return build_config(files, REGISTRY, AROUND)


def problems(*texts: str, directory: Path | None = None) -> Sequence[Diagnostic]:
    """What is wrong with the texts."""
    try:
        build(*texts, directory=directory)
    except ConfigError as error:
        return error.diagnostics
    return ()


def messages(*texts: str, directory: Path | None = None) -> list[str]:
    """The messages of what is wrong with the texts."""
    return [problem.message for problem in problems(*texts, directory=directory)]
