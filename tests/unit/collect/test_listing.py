"""A source that cannot be listed: its partition fails and is named, and the others are collected."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from tailpipe.cli.report import print_report
from tailpipe.collect.scan import tasks_to_scan
from tailpipe.errors import TailpipeError
from tailpipe.model.request import Collect
from tailpipe.plugin import Artifact, Plugin, Registry, Secret, Source, Window, option
from tests.unit.collect.support import CONFIG, NOW, World

TODAY = NOW.date()
PARTITION = """
partition "app" "y" {
  source "zips_archive" {
    path     = "LOGS/day.zip"
    password = "hush"
    SETTING
  }
}
"""


class Archive(Source):
    """Lists the members of an archive."""

    type = "zips_archive"
    path: str = option("Path of the archive.")
    password: Secret = option("Password of the archive.")
    mistake: str = option("What goes wrong.", default="")

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        if self.mistake == "password":
            raise RuntimeError(f"bad password\n{self.password.reveal()}")
        if self.mistake:
            yield Artifact(self.path, problem=f"day.zip: {self.mistake}")
            return
        with zipfile.ZipFile(self.path) as archive:
            yield from (Artifact(name) for name in archive.namelist())

    def open(self, artifact: Artifact) -> BinaryIO:
        return io.BytesIO()


def world_of(root: Path, setting: str = "") -> World:
    registry = Registry([*Registry.installed().plugins.values(), Plugin("zips", "Archives.", sources=[Archive])])
    world = World(root, text=PARTITION.replace("SETTING", setting) + CONFIG, registry=registry)
    (world.logs / "day.zip").write_text("no archive")
    world.write(f"{TODAY}.jsonl", "a")
    return world


def test_an_exception_of_a_plugin_fails_its_partition_and_not_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = world_of(tmp_path)
    report = world.report()
    failed, done = sorted(report.partitions, key=lambda one: one.is_done)
    assert failed.error == 'cannot list source "zips_archive": BadZipFile: File is not a zip file'
    assert (done.partition, done.is_done, world.rows()) == ("app.x", True, ["a"])
    print_report(report, "pretty")
    assert f"app.y: failed: {failed.error}" in capsys.readouterr().out.splitlines()


def test_the_exception_of_a_plugin_is_one_line_without_secrets(tmp_path: Path) -> None:
    errors = {one.error for one in world_of(tmp_path, 'mistake = "password"').report().partitions}
    assert errors == {"", 'cannot list source "zips_archive": RuntimeError: bad password •••'}


@pytest.mark.parametrize(
    ("problem", "hint"),
    [
        ("is not a zip file", "a scan cannot skip files"),
        ("Permission denied", "change its permissions; a scan cannot skip files"),
    ],
)
def test_permissions_are_the_advice_only_if_they_are_the_problem(tmp_path: Path, problem: str, hint: str) -> None:
    world = world_of(tmp_path, f'mistake = "{problem}"')
    partition, table = world.config.partitions["app.y"], world.config.tables["app"]
    with world.catalog() as catalog, pytest.raises(TailpipeError) as raised:
        tasks_to_scan(partition, table, catalog, world.engine, Collect(NOW))
    assert raised.value.with_hint == f"day.zip: {problem} ({hint})"
