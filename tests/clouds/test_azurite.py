"""Our small server against a real one: the same requests have the same answers."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tailpipe.plugin import ChangedError, Secret, TailpipeError, Window
from tailpipe.plugins.azure.connection import Azure
from tailpipe.plugins.azure.container import Container
from tailpipe.plugins.azure.storage import BlobStorage
from tailpipe.storage.object_stores import open_objects
from tests.clouds import server
from tests.clouds.server import Cloud
from tests.objects import azurite
from tests.objects.conftest import azure_url
from tests.unit.collect.support import World

__all__ = ["azure_url"]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("azure")]

ALL = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC))
NAMES = [
    "resourceId=/SUBSCRIPTIONS/y=2024/m=03/PT1H.json",
    "10:00:00+(x)~!'*,;@$.json",
    "a/b/c",
    "a/x y",
    "q?x=1&y#z%41",
    "ü/☃",
    "<x>&amp;",
    "e\u0301",
    "plain",
    "a//b",
    "a/b.json",
    "a-b/c",
]
_NUMBERS = itertools.count(1)
TODAY = date(2024, 3, 10)


class Real:
    """A container of Azurite."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"clouds-{next(_NUMBERS)}"
        azurite.make_container(url, self.name)

    def put(self, name: str, data: bytes) -> None:
        kind = {"x-ms-blob-type": "BlockBlob"}
        azurite.send(self.url, "PUT", f"/{self.name}/{quote(name, safe='/')}", None, kind, data)

    def create(self, name: str) -> None:
        azurite.send(self.url, "PUT", f"/{self.name}/{quote(name)}", None, {"x-ms-blob-type": "AppendBlob"})

    def append(self, name: str, data: bytes) -> None:
        azurite.send(self.url, "PUT", f"/{self.name}/{quote(name)}", {"comp": "appendblock"}, None, data)

    def connection(self, **options: Any) -> Azure:
        made = Azure(name="c", endpoint_url=self.url, account_key=Secret(azurite.ACCOUNT_KEY), max_retries=2)
        return replace(made, **options)

    def source(self, **options: Any) -> BlobStorage:
        connection = self.connection(**options)
        return BlobStorage(container=self.name, account_name=azurite.ACCOUNT, connection=connection)


@pytest.fixture
def real(azure_url: str) -> Real:
    return Real(azure_url)


@pytest.mark.parametrize("way", ["key", "sas"])
@pytest.mark.parametrize("most", ["3", "5000"])
def test_names_sizes_and_bytes_are_the_same_page_by_page(
    real: Real, cloud: Cloud, way: str, most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Container.list_query
    monkeypatch.setattr(Container, "list_query", lambda *given, **named: {**query(*given, **named), "maxresults": most})
    for name in NAMES:
        real.put(name, f"bytes of {name}".encode())
        cloud.put("logs", name, f"bytes of {name}")
    options: dict[str, Any] = (
        {"account_key": None, "sas_token": Secret(azurite.signed_access())} if way == "sas" else {}
    )
    theirs = real.source(**options)
    ours_login = Azure(
        endpoint_url=f"{cloud.url}/{server.ACCOUNT}", account_key=Secret(server.ACCOUNT_KEY), max_retries=0
    )
    ours = BlobStorage(container="logs", account_name=server.ACCOUNT, connection=ours_login)
    answers = [
        sorted((one.path, one.size, one.unavailable, source.open(one).read()) for one in source.artifacts(ALL))
        for source in (theirs, ours)
    ]
    assert answers[0] == answers[1]
    assert [name for name, *_ in answers[0]] == sorted(NAMES)


def test_folders_are_the_same(real: Real, cloud: Cloud) -> None:
    for name in NAMES:
        real.put(name, b"x")
        cloud.put("logs", name, "x")
    login = Azure(endpoint_url=f"{cloud.url}/{server.ACCOUNT}", account_key=Secret(server.ACCOUNT_KEY))
    pages = [
        Container(real.connection(), azurite.ACCOUNT, real.name).page("a", is_deep=False),
        Container(login, server.ACCOUNT, "logs").page("a", is_deep=False),
    ]
    assert sorted(pages[0].folders) == sorted(pages[1].folders) == ["a-b/", "a/"]
    assert pages[0].keys == pages[1].keys == ()


def test_a_wrong_key_and_a_missing_container_are_told_apart(real: Real) -> None:
    with pytest.raises(TailpipeError, match=r"credentials were rejected|permission denied"):
        list(real.source(account_key=Secret("d3Jvbmc=")).artifacts(ALL))
    gone = replace(real.source(), container="nowhere")
    with pytest.raises(TailpipeError, match="the container does not exist"):
        list(gone.artifacts(ALL))


def test_a_growing_append_blob_is_exact_at_each_run(real: Real, tmp_path: Path) -> None:
    name, source = f"one/{TODAY:%Y/%m/%d}/PT1H.json", real.source()
    real.create(name)
    for number in range(2):
        real.append(name, row(number))
    [listed] = source.artifacts(ALL)
    real.append(name, row(2))
    assert source.open(listed).read() == row(0) + row(1), "what it had when it was listed"
    world = World(tmp_path, config(real), now=datetime(2024, 3, 10, 12, tzinfo=UTC))
    for count in range(3, 6):
        done = world.collect()
        assert done.is_done, done
        assert sorted(world.rows(), key=int) == [str(number) for number in range(count)]
        real.append(name, row(count))
    real.put(name, row(99))
    with pytest.raises(ChangedError, match="was replaced"):
        source.open(listed).read()
    assert world.collect().is_done
    assert world.rows() == ["99"]
    assert not world.has_twins()


def row(number: int) -> bytes:
    return json.dumps({"time": f"{TODAY}T10:00:00Z", "message": str(number)}).encode() + b"\n"


def config(real: Real) -> str:
    return f"""
connection "azure" "c" {{
  endpoint_url = "{real.url}"
  account_key  = "{azurite.ACCOUNT_KEY}"
}}
table "app" {{
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" {{ source = "time" }}
  column "message" {{ type = "varchar" }}
}}
partition "app" "x" {{
  source "azure_blob_storage" {{
    container    = "{real.name}"
    account_name = "{azurite.ACCOUNT}"
    connection   = connection.azure.c
    file_layout  = `%{{WORD:account}}/%{{YEAR:year}}/%{{MONTHNUM:month}}/%{{MONTHDAY:day}}/%{{DATA}}`
  }}
}}
"""


def test_a_store_takes_the_connection_too(real: Real) -> None:
    objects = open_objects(f"az://{real.name}/root", real.connection(account_name=azurite.ACCOUNT))
    objects.put("a/b", b"text")
    assert bytes(objects.get("a/b")) == b"text"
