"""`check_plugin` proves good plugins and names everything that is wrong with bad ones."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tailpipe.plugin import Artifact, Column, Connection, Plugin, Registry, Source, Table, Window, option
from tailpipe.testing import check_plugin
from tests.unit.careless import Broken, Evented, Fragile, Listed, Plain

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin" / "tailpipe_lighthouse.py"


@pytest.mark.parametrize("name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("aws", "core")), "http"])
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
    wrong = str(caught.value)
    for problem in (
        "it has no description",
        'source "Other": the type is not lower case',
        'source "Other": the name does not begin with "careless"',
        'source "Other": the class has no docstring',
        'source "Other": the option "thing" has no description',
        'connection "careless": the option "token" has no default',
        'table "timeless": the name does not begin with "careless_"',
        'table "timeless": it has no description',
        'table "timeless": it does not map tp_timestamp',
        'table "timeless": the column "a" is duplicated',
        'table "timeless": the column "a" has no description',
        'table "timeless": the column "b" has no type',
        'table "timeless": there is no common column "tp_nothing"',
    ):
        assert problem in wrong


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


WINDOW = Window.of_day(date(2024, 1, 1))


def told(**facts: Any) -> str:
    """What is wrong with the plugin of these sources; nothing if nothing is."""
    plugin = Plugin("careless", "Careless.", tables=[Plain] if "golden" in facts else [], sources=[Listed, Evented])
    try:
        check_plugin(plugin, window=WINDOW, **facts)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (Listed(), ""),
        (Evented(), ""),
        (Listed(kind="twice"), 'source "careless_list": it lists 2024-01-01/0 twice'),
        (Listed(kind="unstable"), "a second listing has other artifacts"),
        (Listed(kind="range"), "ranges yield events, and nothing else does"),
        (Listed(kind="text"), "gives str, not bytes"),
        (Listed(kind="wrong"), "open() of the source yielded a value of the type int, expected bytes"),
        (Listed(kind="raises"), "cannot read \"2024-01-01/0\": KeyError: 'id'"),
        (Evented(kind="key"), "an event of range has no key"),
        (Evented(kind="same"), "two events of range have the same key"),
        (Evented(kind="zone"), "an event of range has a time without a zone"),
        (Evented(kind="field"), "event_fields does not declare odd"),
        (Evented(kind="bytes"), "yielded a value of the type bytes, expected an Event"),
    ],
    ids=repr,
)
def test_what_a_source_lists_and_opens_is_checked(source: Source, problem: str) -> None:
    found = told(sources=[source])
    assert (problem in found) if problem else not found


def test_a_source_that_lists_nothing_is_named() -> None:
    assert 'source "careless_list": it lists nothing' in told(sources=[Listed(kind="nothing")])


@pytest.mark.slow
def test_golden_files_are_held_against_their_rows(tmp_path: Path) -> None:
    assert "there is no golden file" in told(golden=tmp_path)
    home = tmp_path / "careless_log"
    home.mkdir()
    (home / "one.in.jsonl").write_text('{"at": "2024-01-01T10:00:00Z", "n": 1}\n{"at": "2024-01-01T11:00:00Z"}\n')
    assert "one.rows.jsonl is missing" in told(golden=tmp_path)
    rows = '{"tp_timestamp": "2024-01-01T10:00:00", "n": 1}\n{"tp_timestamp": "2024-01-01T11:00:00"}\n'
    (home / "one.rows.jsonl").write_text(rows)
    assert not told(golden=tmp_path)
    (home / "one.rows.jsonl").write_text(rows.replace('"n": 1', '"n": 2') + "{}\n")
    found = told(golden=tmp_path)
    assert "golden file careless_log/one.in.jsonl: row 1: n is 1, expected 2" in found
    assert "2 rows, expected 3" in found


def test_a_table_that_fails_on_garbage_is_named() -> None:
    with pytest.raises(AssertionError, match=r'table "careless_fragile": fails on nothing: KeyError'):
        check_plugin(Plugin("careless", "Careless.", tables=[Fragile]))
    with pytest.raises(AssertionError, match=r"format.careless_broken.default: fails on nothing: KeyError"):
        check_plugin(Plugin("careless", "Careless.", formats=[Broken]))
