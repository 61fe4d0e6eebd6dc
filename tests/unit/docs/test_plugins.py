"""The pages for authors of plugins: every name is described, and the plugin that is shown works."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path

import pytest

import tailpipe.plugin
from tailpipe.collect.listing import list_source
from tailpipe.config.builder import build_config
from tailpipe.config.text import ConfigText
from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import try_task
from tailpipe.model.coverage import DaySet
from tailpipe.plugin import ENTRY_POINTS, Registry
from tailpipe.testing import check_plugin
from tests.unit.docs.pages import ROOT, built_in, fences, plugin_of_the_page, read, section, surroundings


@pytest.mark.parametrize("name", tailpipe.plugin.__all__)
def test_every_name_for_plugin_authors_is_described(name: str) -> None:
    page = read("docs/reference/plugin-api.md")
    assert f"`{name}`" in page or f"`{name}(" in page
    value = getattr(tailpipe.plugin, name)
    described = section(page, name)
    if name in ("Artifact", "Plugin", "Table", "Column"):
        missing = [field.name for field in fields(value) if not re.search(rf"\b{field.name}\b", described)]
        assert not missing
    if name in ("Registry", "Source", "Window"):
        public = [member for member in vars(value) if not member.startswith("_")]
        assert not [member for member in public if not re.search(rf"\b{member}\b", described)]


def test_the_plugin_of_the_page_keeps_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = plugin_of_the_page(tmp_path, monkeypatch)
    check_plugin(plugin)
    page = tomllib.loads(next(fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "toml"))
    module, _, value = page["project"]["entry-points"][ENTRY_POINTS][plugin.name].partition(":")
    assert getattr(import_module(module), value) is plugin


def test_the_plugin_of_the_page_collects_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry([*built_in(), plugin_of_the_page(tmp_path, monkeypatch)])
    text = next(fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "hcl")
    config = build_config([ConfigText("app.tpc", text, ROOT)], registry, surroundings())
    [source], table = config.partitions["harbour_arrival.north"].sources, registry.tables["harbour_arrival"]
    day, now = date(2024, 1, 31), datetime(2024, 2, 1, tzinfo=UTC)
    [one] = list_source(source, table, DaySet.of([day]), today=now.date()).listed
    assert table.format is not None
    reading = Reading(one.artifact, one.artifact.uri)
    trial = try_task(Task("harbour_arrival.north", table, source, table.format, (reading,), now), 10)
    assert trial.rows is not None
    assert trial.rows.select(["ship", "tonnes", "is_heavy"]).to_pylist() == [
        {"ship": "Ada", "tonnes": 1200.0, "is_heavy": True}
    ]
