"""The registry: found late, broken plugins left out, twins refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, BinaryIO

import pytest

from tailpipe.errors import PluginError
from tailpipe.plugin import (
    ENTRY_POINTS,
    Artifact,
    Connection,
    Format,
    Late,
    Plugin,
    Registry,
    Source,
    Table,
    Window,
    option,
)
from tailpipe.plugins.aws import plugin as aws
from tailpipe.plugins.core import plugin as core


class Tower(Source):
    """Looks at the sea."""

    type = "tower"

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        yield from ()

    def open(self, artifact: Artifact) -> BinaryIO:
        raise NotImplementedError


class Flashes(Format):
    """Long and short."""

    type = "flashes"


class Harbour(Connection):
    """Where ships lie."""

    type = "harbour"
    berth: int = option("Which berth.", default=1)


class Ships(Table):
    """One row for each ship."""

    name = "lighthouse_ships"


LIGHTHOUSE = Plugin(
    name="lighthouse",
    description="What lighthouses see.",
    tables=[Ships, Table(name="lighthouse_gulls", description="One row for each gull.")],
    sources=[Tower],
    formats=[Flashes],
    presets=[Flashes(name="default"), Flashes(name="slow")],
    connections=[Harbour],
)


class Site:
    """A directory on the path of modules, as pip would fill it."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.modules: list[str] = []
        monkeypatch.syspath_prepend(str(directory))

    def install(self, package: str, code: str, *, value: str = "", metadata: bool = True) -> None:
        module = package.replace("-", "_")
        self.modules.append(module)
        self.directory.joinpath(f"{module}.py").write_text(dedent(code), encoding="utf-8")
        info = self.directory / f"{module}-1.2.3.dist-info"
        info.mkdir()
        entry = value or f"{module}:plugin"
        info.joinpath("entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{module} = {entry}\n", encoding="utf-8")
        if metadata:
            text = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2.3\n"
            info.joinpath("METADATA").write_text(text, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path, monkeypatch)
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)


GOOD = """
    from pathlib import Path
    from tailpipe.plugin import Plugin, Table
    Path(__file__).with_suffix(".imported").touch()
    plugin = Plugin(name="{name}", description="Good.", tables=[Table(name="{name}_log")])
"""


def good(name: str) -> str:
    return GOOD.format(name=name)


# What is found


def test_nothing_is_imported_before_the_first_question(site: Site) -> None:
    site.install("tailpipe-plugin-lazy", good("lazy"))
    trace = site.directory / "tailpipe_plugin_lazy.imported"
    registry = Registry.installed()
    assert registry.warnings == []
    assert not trace.exists()
    assert "tailpipe_plugin_lazy" not in sys.modules
    assert "lazy" in registry.plugins
    assert trace.exists()


def test_an_installed_plugin_knows_its_package_and_version(site: Site) -> None:
    site.install("tailpipe-plugin-lazy", good("lazy"))
    registry = Registry.installed()
    found = registry.plugins["lazy"]
    assert (found.package, found.version) == ("tailpipe-plugin-lazy", "1.2.3")
    assert registry.owner("table", "lazy_log") == "lazy"
    assert registry.tables["lazy_log"] == Table(name="lazy_log")
    assert registry.warnings == []


def test_the_built_in_plugins_are_found_like_anyones() -> None:
    registry = Registry.installed()
    assert registry.plugins["core"] == core
    assert registry.plugins["aws"] == aws
    assert registry.plugins["core"].package == "tailpipe"
    assert registry.warnings == []


def test_plugins_are_loaded_once(site: Site) -> None:
    site.install("tailpipe-plugin-lazy", good("lazy"))
    registry = Registry.installed()
    assert registry.plugins is registry.plugins
    site.directory.joinpath("tailpipe_plugin_lazy.imported").unlink()
    assert registry.tables
    assert registry.owner("table", "lazy_log")
    assert not site.directory.joinpath("tailpipe_plugin_lazy.imported").exists()


# What is broken

TYPES = "from tailpipe.plugin import Connection, Declared, Format, Plugin, Source, Table, option\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise ValueError('boom\\n  twice')", "ValueError: boom twice"),
        ("raise ValueError", "ValueError: no reason given"),
        ("import a_module_that_is_not_there", "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("def broken(:", "SyntaxError: "),
        ("other = 1", "AttributeError: "),
        ("plugin = {'name': 'x'}", "TypeError: tailpipe_plugin_bad:plugin is a dict, not a Plugin"),
        ("from tailpipe.plugin import Plugin as plugin", "TypeError: tailpipe_plugin_bad:plugin is a type, not a "),
        (
            TYPES + "plugin = Plugin(name='bad', sources=[object])",
            "TypeError: <class 'object'> is not a type of source",
        ),
        (TYPES + "plugin = Plugin(name='bad', formats=[Format])", "TypeError: <class 'tailpipe.model.format.Format'> "),
        (TYPES + "plugin = Plugin(name='bad', connections=[None])", "TypeError: None is not a type of connection"),
        (TYPES + "plugin = Plugin(name='bad', presets=[Format])", "TypeError: <class 'tailpipe.model.format.Format'> "),
        (TYPES + "plugin = Plugin(name='bad', tables=['t'])", "TypeError: 't' is not a table"),
        (TYPES + "plugin = Plugin(name='bad', tables=[Table])", "TypeError: "),
        (
            TYPES + "class C(Connection):\n  type = 'c'\n  key: str = option('K.')\n"
            "plugin = Plugin(name='bad', connections=[C])",
            "TypeError: C.__init__() missing 1 required keyword-only argument: 'key'",
        ),
        (
            "from tailpipe.plugin import Column\nColumn('a', 'strng')",
            'UsageError: there is no type "strng"',
        ),
    ],
)
def test_a_broken_plugin_is_left_out_with_a_warning_and_the_rest_works(site: Site, code: str, why: str) -> None:
    site.install("tailpipe-plugin-bad", code)
    site.install("tailpipe-plugin-fine", good("fine"))
    registry = Registry.installed()
    assert {"core", "aws", "fine"} <= set(registry.plugins)
    assert "bad" not in registry.plugins
    [warning] = registry.warnings
    start = 'plugin "tailpipe_plugin_bad" of package "tailpipe-plugin-bad" is left out: '
    assert warning.startswith(start + why)
    assert "\n" not in warning
    assert "fine_log" in registry.tables
    assert "file" in registry.sources


def test_an_entry_point_that_names_nothing_is_left_out_with_a_warning(site: Site) -> None:
    site.install("tailpipe-plugin-bad", "", value="not a module:plugin")
    registry = Registry.installed()
    assert "core" in registry.plugins
    [warning] = registry.warnings
    assert warning.startswith('plugin "tailpipe_plugin_bad" of package "tailpipe-plugin-bad" is left out: ')


def test_what_is_left_of_a_removed_package_is_left_out_with_a_warning(site: Site) -> None:
    site.install("tailpipe-plugin-gone", "", metadata=False)
    site.directory.joinpath("tailpipe_plugin_gone.py").unlink()
    registry = Registry.installed()
    assert "core" in registry.plugins
    [warning] = registry.warnings
    assert warning.startswith('plugin "tailpipe_plugin_gone"')


def test_an_interrupt_while_loading_is_not_swallowed(site: Site) -> None:
    site.install("tailpipe-plugin-slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        _ = Registry.installed().plugins


def test_every_broken_plugin_has_its_own_warning(site: Site) -> None:
    site.install("tailpipe-plugin-one", "raise ValueError('one')")
    site.install("tailpipe-plugin-two", "raise ValueError('two')")
    registry = Registry.installed()
    assert "core" in registry.plugins
    assert sorted(warning.rsplit(": ")[-1] for warning in registry.warnings) == ["one", "two"]


# Twins


@pytest.mark.parametrize(
    ("parts", "ask", "what"),
    [
        ({"tables": [Ships]}, "tables", 'table "lighthouse_ships"'),
        ({"tables": [Table(name="lighthouse_gulls")]}, "tables", 'table "lighthouse_gulls"'),
        ({"sources": [Tower]}, "sources", 'source "tower"'),
        ({"formats": [Flashes]}, "formats", 'format "flashes"'),
        ({"presets": [Flashes(name="slow")]}, "presets", 'format "flashes.slow"'),
        ({"connections": [Harbour]}, "connections", 'connection "harbour"'),
    ],
)
def test_two_plugins_that_bring_the_same_name_are_refused_with_both_names(
    parts: dict[str, Any], ask: str, what: str
) -> None:
    registry = Registry([Plugin(name="twin", **parts), LIGHTHOUSE])
    with pytest.raises(PluginError) as refused:
        getattr(registry, ask)
    assert refused.value.message == f'{what} is defined by plugin "lighthouse" and by plugin "twin"'
    assert refused.value.plugins == ("lighthouse", "twin")
    assert "tailpipe plugin uninstall twin" in refused.value.hint


def test_two_installed_packages_with_the_same_table_are_refused_with_both_names(site: Site) -> None:
    site.install("tailpipe-plugin-one", good("one"))
    site.install("tailpipe-plugin-two", good("one").replace('name="one",', 'name="two",'))
    with pytest.raises(PluginError, match='table "one_log" is defined by plugin "one" and by plugin "two"'):
        _ = Registry.installed().tables


def test_two_plugins_of_the_same_name_are_refused_with_both_packages(site: Site) -> None:
    site.install("tailpipe-plugin-one", good("one"))
    site.install("their-tailpipe-plugin", good("one"))
    with pytest.raises(PluginError) as refused:
        _ = Registry.installed().plugins
    assert 'two plugins are named "one"' in refused.value.message
    assert 'package "tailpipe-plugin-one"' in refused.value.message
    assert 'package "their-tailpipe-plugin"' in refused.value.message
    assert refused.value.plugins == ("one",)


def test_two_plugins_given_directly_under_one_name_are_refused() -> None:
    with pytest.raises(PluginError, match='two plugins are named "lighthouse": one given directly and one given'):
        _ = Registry([LIGHTHOUSE, LIGHTHOUSE]).plugins


# A registry is a value


def test_a_registry_of_one_plugin_is_the_whole_world() -> None:
    registry = Registry([LIGHTHOUSE])
    assert list(registry.plugins) == ["lighthouse"]
    assert list(registry.tables) == ["lighthouse_ships", "lighthouse_gulls"]
    assert list(registry.sources.values()) == [Tower]
    assert list(registry.formats.values()) == [Flashes]
    assert list(registry.presets) == ["flashes.default", "flashes.slow"]
    assert list(registry.connections.values()) == [Harbour]
    assert registry.warnings == []
    assert not Registry().plugins
    assert not Registry([]).tables


def test_two_registries_share_nothing() -> None:
    one, other = Registry([LIGHTHOUSE]), Registry([core])
    assert list(one.plugins) == ["lighthouse"]
    assert list(other.plugins) == ["core"]
    one.warnings.append("x")
    assert other.warnings == []


def test_plugins_are_listed_by_name_and_may_come_one_by_one() -> None:
    assert list(Registry(iter([LIGHTHOUSE, core, aws])).plugins) == ["aws", "core", "lighthouse"]


def test_a_late_table_is_imported_when_it_is_asked_for(site: Site) -> None:
    site.modules.append("late_tables")
    (site.directory / "late_tables.py").write_text(
        'from tailpipe.plugin import Table\nclass Ships(Table):\n  "One row for each ship."\n  name = "sea_ships"\n'
    )
    late = Plugin(
        name="sea",
        tables=[
            Late("sea_ships", "late_tables:Ships"),
            Late("sea_gulls", "late_tables:Ships"),
            Late("sea_lost", "late_tables:Lost"),
        ],
    )
    registry = Registry([late])
    assert list(registry.tables) == ["sea_ships", "sea_gulls", "sea_lost"]
    assert registry.owner("table", "sea_ships") == "sea"
    assert "late_tables" not in sys.modules
    ships = registry.tables["sea_ships"]
    assert (ships.name, ships.description) == ("sea_ships", "One row for each ship.")
    assert registry.tables["sea_ships"] is ships
    for name, why in (("sea_gulls", 'is the table "sea_ships"'), ("sea_lost", "AttributeError")):
        with pytest.raises(PluginError, match=why) as refused:
            _ = registry.tables[name]
        assert refused.value.plugins == ("sea",)


def test_a_table_declared_as_a_class_comes_out_as_a_value() -> None:
    ships = Registry([LIGHTHOUSE]).tables["lighthouse_ships"]
    assert isinstance(ships, Table)
    assert ships.description == "One row for each ship."


def test_the_owner_of_every_name_is_known() -> None:
    registry = Registry([LIGHTHOUSE, core, aws])
    assert registry.owner("table", "lighthouse_gulls") == "lighthouse"
    assert registry.owner("source", "tower") == "lighthouse"
    assert registry.owner("source", "file") == "core"
    assert registry.owner("format", "jsonl") == "core"
    assert registry.owner("preset", "delimited.csv") == "core"
    assert registry.owner("preset", "flashes.slow") == "lighthouse"
    assert registry.owner("connection", "aws") == "aws"
    assert registry.owner("table", "tower") is None
    assert registry.owner("source", "nope") is None


def test_a_default_connection_can_be_made_of_every_type() -> None:
    registry = Registry.installed()
    assert "aws" in registry.connections
    for name, declared in {**registry.connections, **Registry([LIGHTHOUSE]).connections}.items():
        assert declared().address == f"connection.{name}.default"


def test_a_plugin_is_a_value_and_its_origin_is_no_part_of_it() -> None:
    assert LIGHTHOUSE.from_package("p", "1") == LIGHTHOUSE
    assert LIGHTHOUSE.from_package("p", "1").package == "p"
    with pytest.raises(AttributeError):
        LIGHTHOUSE.name = "other"  # type: ignore[misc]


def test_saved_queries_of_a_plugin_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "good.sql").write_text("-- title: Good\nSELECT 1\n")
    (tmp_path / "flawed.sql").write_text("SELECT $who\n")
    registry = Registry([Plugin("a", queries=tmp_path), Plugin("b")])
    assert sorted(registry.queries) == ["flawed", "good"]
    assert registry.queries["good"].title == "Good"
    assert registry.owner("query", "good") == "a"
    with pytest.raises(
        PluginError, match=r'saved query "flawed" of plugin "a" cannot be loaded.*unknown parameter "who"'
    ):
        registry.queries["flawed"]


def test_two_plugins_cannot_bring_the_same_query(tmp_path: Path) -> None:
    (tmp_path / "good.sql").write_text("SELECT 1\n")
    registry = Registry([Plugin("a", queries=tmp_path), Plugin("b", queries=tmp_path)])
    with pytest.raises(PluginError, match='saved query "good" is defined by plugin "a" and by plugin "b"'):
        _ = registry.queries
