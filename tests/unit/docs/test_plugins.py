"""The pages for authors of plugins: every name is described, and the plugin that is shown works."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from dataclasses import fields
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tailpipe.plugin
import tailpipe.testing
from tailpipe.collect.listing import list_source
from tailpipe.config.builder import build_config
from tailpipe.config.text import ConfigText
from tailpipe.kernel.task import Reading, Task
from tailpipe.kernel.trial import try_task
from tailpipe.model.coverage import DaySet
from tailpipe.plugin import ENTRY_POINTS, Registry
from tailpipe.testing import check_format, check_plugin
from tailpipe.testing.feeding import OMITTED
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


@pytest.mark.parametrize("module", ["tailpipe.plugin.sql", "tailpipe.testing"])
def test_every_name_of_the_other_modules_is_described(module: str) -> None:
    described = section(read("docs/reference/plugin-api.md"), module)
    names = [name for name in import_module(module).__all__ if name != "HEAVY"]
    assert not [name for name in names if not re.search(rf"`{name}\b", described)]


@pytest.mark.parametrize("name", ["Format", "ParseContext", "Lines", "Parsed", "DocumentParser", "Document"])
def test_every_member_of_a_format_and_its_parsers_is_described(name: str) -> None:
    page = read("docs/reference/plugin-api.md")
    titles = {"Format": "Format", "ParseContext": "Format", "Lines": "Parsers of whole columns"}
    titles |= {"Parsed": "Parsers of whole columns"}
    described = section(page, titles.get(name, "Parsers of documents"))
    value = getattr(tailpipe.plugin, name)
    own = {*vars(value), *inspect.get_annotations(value)}
    public = [member for member in own if not member.startswith("_")]
    assert len(public) > 2
    assert not [member for member in public if not re.search(rf"\b{member}\b", described)]


def test_the_format_of_the_page_reads_and_rejects_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formats = {one.type: one for one in plugin_of_the_page(tmp_path, monkeypatch).loaded("format")}
    shown = {fence.info: fence.body for fence in fences(read("docs/plugins.md"))}
    rows = [json.loads(line) for line in shown["jsonl"].splitlines()]
    rejected = [tuple(line.split(": ", 1)) for line in shown["rejected"].splitlines()]
    check_format(formats["harbour_flags"](), shown["log"].encode(), rows, rejected)  # type: ignore[arg-type]
    check_format(
        formats["harbour_manifests"](),
        b"ship: Ada\ntonnes: 7\n--\nnothing\n--\nship: Bob\n",
        [{"ship": "Ada", "tonnes": 7}, {"ship": "Bob"}],
        [("ship 2", "a line has no name")],
    )


def test_the_parser_of_whole_columns_of_the_page_reads() -> None:
    code = next(
        fence.body for fence in fences(read("docs/reference/plugin-api.md")) if "class PairsParser" in fence.body
    )
    names: dict[str, Any] = {"__name__": "page"}
    exec(code, names)
    check_format(names["Pairs"](), b"a=1\nb\n", [{"key": "a", "value": 1}], [("line 2", "has no =")])


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
    trial = try_task(Task.of("harbour_arrival.north", table, source, table.format, (reading,), now), 10)
    assert trial.rows is not None
    assert trial.rows.select(["ship", "tonnes", "is_heavy"]).to_pylist() == [
        {"ship": "Ada", "tonnes": 1200.0, "is_heavy": True}
    ]


@pytest.mark.slow
def test_the_tests_that_the_page_shows_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry([*built_in(), plugin_of_the_page(tmp_path, monkeypatch)])
    monkeypatch.setattr(Registry, "installed", lambda packs=None: registry)
    shown = next(fence.body for fence in fences(read("docs/plugins.md")) if "def test_the_plugin_keeps" in fence.body)
    module: dict[str, Any] = {"__file__": str(tmp_path / "test_harbour.py")}
    exec(compile(shown, "docs/plugins.md", "exec"), module)
    golden = tmp_path / "golden" / "harbour_arrival"
    golden.mkdir(parents=True)
    log, row = next(fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "golden").splitlines()
    (golden / "calm.in.jsonl").write_text(f"{log}\n")
    (golden / "calm.rows.jsonl").write_text(row)
    module["test_the_plugin_keeps_the_rules"]()
    module["test_an_unknown_flag_is_rejected"]()
    (tmp_path / "home").mkdir()
    module["test_arrivals_are_collected"](tmp_path / "home")


def test_the_page_lists_the_columns_that_golden_files_omit() -> None:
    sentence = re.search(
        r"Omit nulls and these columns: (.*?)\. ", section(read("docs/plugins.md"), "Testing it"), re.S
    )
    assert sentence is not None
    assert set(re.findall(r"`(\w+)`", sentence[1])) == OMITTED


@pytest.mark.parametrize("name", tailpipe.testing.__all__)
def test_what_tests_of_plugins_use_is_described(name: str) -> None:
    if name != "HEAVY":
        assert f"`{name}(" in section(read("docs/reference/plugin-api.md"), "tailpipe.testing")


def test_the_http_plugin_of_the_page_is_the_example() -> None:
    shown = [fence.body for fence in fences(read("docs/plugins.md")) if fence.info == "py"]
    assert read("examples/plugin-http/tailpipe_beacon.py") in shown
