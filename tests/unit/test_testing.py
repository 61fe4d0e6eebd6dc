"""`check_plugin` proves good plugins and names everything that is wrong with bad ones."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from tailpipe.plugin import Artifact, Column, Connection, Plugin, Registry, Source, Table, Window, option
from tailpipe.testing import check_plugin

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin" / "tailpipe_lighthouse.py"


@pytest.mark.parametrize("name", ["aws", "core"])
def test_the_built_in_plugins_keep_the_rules(name: str) -> None:
    check_plugin(Registry.installed().plugins[name])


def test_the_example_plugin_keeps_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    spec = importlib.util.spec_from_file_location("tailpipe_lighthouse", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tailpipe_lighthouse", module)
    spec.loader.exec_module(module)
    check_plugin(module.plugin)
    source = module.Lighthouse(light="Rote Sand")
    window = Window.parse("2024-01-01", "2024-01-02", now=datetime(2024, 2, 1, tzinfo=UTC))
    artifacts = list(source.artifacts(window))
    assert [str(artifact.day) for artifact in artifacts] == ["2024-01-01", "2024-01-02"]
    assert len(source.open(artifacts[0]).read().splitlines()) == 24


class Careless(Source):
    type = "Other"
    thing: str = option("")

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        raise NotImplementedError

    def open(self, artifact: Artifact) -> BinaryIO:
        raise NotImplementedError


class Demanding(Connection):
    """Cannot be made without being told something."""

    type = "careless"
    token: str = option("Token.")


class Timeless(Table):
    name = "timeless"
    columns = [Column("a", "integer"), Column("a", "integer", "Twice."), Column("b")]
    common = {"tp_nothing": "a"}


def test_everything_that_is_wrong_is_named_at_once() -> None:
    plugin = Plugin("careless", tables=[Timeless], sources=[Careless], connections=[Demanding])
    with pytest.raises(AssertionError) as caught:
        check_plugin(plugin)
    told = str(caught.value)
    for problem in (
        "it has no description",
        'source "Other": the type is not lower case',
        'source "Other": the name does not begin with "careless"',
        'source "Other": the class has no docstring',
        'source "Other": the option "thing" has no description',
        'connection "careless": the option "token" has no default',
        'table "timeless": the name does not begin with "careless_"',
        'table "timeless": it has no docstring',
        'table "timeless": it does not say where tp_timestamp comes from',
        'table "timeless": the column "a" is there twice',
        'table "timeless": the column "a" has no description',
        'table "timeless": the column "b" has no type',
        'table "timeless": there is no common column "tp_nothing"',
    ):
        assert problem in told


class Computing(Table):
    """Computes with a field as if it were a number."""

    name = "careless_sum"
    columns = [Column("heavy", "boolean", "Whether it is heavy.", transform="tonnes > 1000")]
    common = {"tp_timestamp": "at"}


def test_sql_that_cannot_be_run_is_named() -> None:
    with pytest.raises(
        AssertionError, match=r'table "careless_sum": column.heavy.transform: varchar cannot be compared with integer'
    ):
        check_plugin(Plugin("careless", "Careless.", tables=[Computing]))


def test_a_heavy_import_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "heavy_plugin.py").write_text(
        "import pyarrow\nfrom tailpipe.plugin import Connection\n"
        "class Heavy(Connection):\n    '''Imports too much.'''\n    type = 'heavy'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("heavy_plugin")
    with pytest.raises(AssertionError, match="importing it imports pyarrow"):
        check_plugin(Plugin("heavy", "Heavy.", connections=[module.Heavy]))
