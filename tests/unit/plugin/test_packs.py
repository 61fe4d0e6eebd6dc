"""Packs: folders of config that are plugins, and are installed without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.config.builder import build_config
from tailpipe.config.encoder import declared_table, table_text
from tailpipe.config.functions import Surroundings
from tailpipe.config.pack_install import install_pack, remove_pack
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError, PluginError, TailpipeError, UsageError
from tailpipe.plugin import Registry
from tailpipe.plugin.packs import BUILT_IN, pack_folders
from tailpipe.testing import check_plugin
from tests.unit.config.world import AROUND

TABLE = """
table "shop_order" {
  description = "One row for each order."
  format      = format.regex.shop_line
  map_fields  = []
  column "at" { type = "timestamp" description = "When it was placed." }
  column "buyer" { type = "varchar" description = "Who placed it." }
  common { tp_timestamp = at tp_usernames = [buyer] }
}
"""
PLUGIN = """
plugin "shop" {
  description = "Orders of the shop."
  version     = "1.2"
}
format "regex" "shop_line" { layout = `^(?P<at>\\S+) (?P<buyer>\\S+)$` }
"""
ROW = (
    '{"at": "2024-01-31T10:00:00", "buyer": "anna", "tp_timestamp": "2024-01-31T10:00:00", "tp_usernames": ["anna"]}\n'
)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "tables").mkdir(parents=True)
    (folder / "samples").mkdir()
    (folder / "plugin.tpc").write_text(PLUGIN)
    (folder / "tables" / "shop_order.tpc").write_text(TABLE)
    (folder / "samples" / "shop_order.log").write_text("2024-01-31T10:00:00Z anna\n")
    (folder / "samples" / "shop_order.expected.jsonl").write_text(ROW)
    return folder


def test_an_installed_pack_is_a_plugin_like_others(pack: Path, tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    done = install_pack(pack, packs, Registry.installed(str(packs)), force=False)
    assert (done.plugin.name, done.plugin.version, done.skipped) == ("shop", "1.2", ())
    registry = Registry.installed(str(packs))
    assert registry.owner("table", "shop_order") == "shop"
    table = registry.tables["shop_order"]
    assert table.format == registry.presets["regex.shop_line"]
    assert table.common == {"tp_timestamp": ("at",), "tp_usernames": ("buyer",)}
    assert table.is_shipped
    assert remove_pack("shop", packs)
    assert not remove_pack("shop", packs)
    assert "shop" not in Registry.installed(str(packs)).plugins


def test_a_pack_brings_detections_which_are_checked_when_it_is_installed(pack: Path, tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    (pack / "detections").mkdir()
    rule = 'detection "shop_anna" { table = "shop_order" where = "buyer = \'anna\'" }'
    file = pack / "detections" / "shop_anna.tpc"
    file.write_text(rule.replace("shop_order", "shop_ordr"))
    with pytest.raises(ConfigError) as caught:
        install_pack(pack, packs, Registry.installed(str(packs)), force=False)
    assert caught.value.diagnostics[0].message == 'unknown table "shop_ordr"'
    file.write_text(rule)
    install_pack(pack, packs, Registry.installed(str(packs)), force=False)
    registry = Registry.installed(str(packs))
    assert registry.detections["shop_anna"].is_shipped
    assert registry.owner("detection", "shop_anna") == "shop"


def test_a_pack_is_checked_with_its_samples(pack: Path) -> None:
    second = [pack / "samples" / f"shop_order.more.{name}" for name in ("log", "expected.jsonl")]
    for path in second:
        path.write_bytes(path.with_name(path.name.replace(".more", "")).read_bytes())
    check_plugin(pack)
    for path in second:
        path.unlink()
    (pack / "samples" / "shop_order.expected.jsonl").write_text(ROW.replace("anna", "berta", 1))
    with pytest.raises(AssertionError, match="row 1: buyer is 'anna', expected 'berta'"):
        check_plugin(pack)
    (pack / "samples" / "shop_order.expected.jsonl").unlink()
    with pytest.raises(AssertionError, match='table "shop_order": there is no sample'):
        check_plugin(pack)
    (pack / "tables" / "shop_order.tpc").write_text(TABLE.replace("varchar", "vachar"))
    with pytest.raises(AssertionError, match=r'shop_order.tpc:7: there is no type "vachar"'):
        check_plugin(pack)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "kubernetes" else pytest.mark.slow)
        for name in (Path(folder).name for folder in pack_folders(BUILT_IN))
    ],
)
def test_a_built_in_pack_is_sound(name: str) -> None:
    check_plugin(Registry.installed().plugins[name])


def test_code_in_a_pack_is_neither_copied_nor_run(pack: Path, tmp_path: Path) -> None:
    trap = "import pathlib; pathlib.Path(__file__).with_name('ran').write_text('x')"
    for name in ("setup.py", "tables/__init__.py", "samples/conftest.py", "run.sh"):
        (pack / name).write_text(trap)
    packs = tmp_path / "packs"
    done = install_pack(pack, packs, Registry.installed(str(packs)), force=False)
    assert done.skipped == ("run.sh", "samples/conftest.py", "setup.py", "tables/__init__.py")
    assert not [path for path in packs.rglob("*") if path.suffix in (".py", ".sh")]
    assert not list(pack.rglob("ran"))


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_link_out_of_the_pack_is_refused(pack: Path, tmp_path: Path, is_folder: bool) -> None:
    outside = tmp_path / "outside"
    if is_folder:
        outside.mkdir()
        (outside / "secret").write_text("x")
    else:
        outside.write_text("x")
    (pack / "samples" / "linked.log").symlink_to(outside)
    with pytest.raises(UsageError, match="is a link to outside the pack"):
        install_pack(pack, tmp_path / "packs", Registry.installed(), force=False)
    assert not (tmp_path / "packs").exists()


def test_a_pack_is_replaced_only_by_force(pack: Path, tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    install_pack(pack, packs, Registry.installed(str(packs)), force=False)
    (pack / "tables" / "shop_order.tpc").rename(pack / "tables" / "shop_sale.tpc")
    (pack / "tables" / "shop_sale.tpc").write_text(TABLE.replace("shop_order", "shop_sale"))
    with pytest.raises(UsageError, match="is already installed"):
        install_pack(pack, packs, Registry.installed(str(packs)), force=False)
    install_pack(pack, packs, Registry.installed(str(packs)), force=True)
    assert "shop_order" not in Registry.installed(str(packs)).tables
    assert "shop_sale" in Registry.installed(str(packs)).tables


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("plugin.tpc", '"shop"', '"aws"', 'a plugin named "aws" already'),
        ("plugin.tpc", '"shop"', '"../shop"', "is not a name"),
        ("plugin.tpc", "plugin", "plugins", "config problem"),
        ("tables/shop_order.tpc", "shop_order", "shop_sale", 'has no table "shop_order"'),
        ("tables/shop_order.tpc", "[buyer]", '"upper(buyer"', "the SQL ends too early"),
    ],
)
def test_a_pack_with_a_mistake_is_not_installed(
    pack: Path, tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    path = pack / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(TailpipeError) as caught:
        install_pack(pack, tmp_path / "packs", Registry.installed(), force=False)
    assert isinstance(caught.value, ConfigError) or message in caught.value.message
    assert not (tmp_path / "packs").exists()


def test_a_pack_may_not_take_the_name_of_a_table_from_another(pack: Path, tmp_path: Path) -> None:
    (pack / "tables" / "aws_vpc_flow_log.tpc").write_text(TABLE.replace("shop_order", "aws_vpc_flow_log"))
    with pytest.raises(UsageError, match='table "aws_vpc_flow_log" is defined by plugin "aws"'):
        install_pack(pack, tmp_path / "packs", Registry.installed(), force=False)


def test_a_broken_pack_is_left_out_with_a_warning(pack: Path, tmp_path: Path) -> None:
    (pack / "plugin.tpc").write_text('plugin "shop" {')
    registry = Registry.installed(str(tmp_path))
    assert "shop" not in registry.plugins
    assert any("shop" in warning and "is left out" in warning for warning in registry.warnings)


def test_a_table_of_a_pack_says_what_is_wrong_when_it_is_asked_for(pack: Path, tmp_path: Path) -> None:
    (pack / "tables" / "shop_order.tpc").write_text('partition "x" "y" {}')
    registry = Registry.installed(str(tmp_path))
    assert "shop_order" in registry.tables
    with pytest.raises(PluginError, match='table "shop_order" of plugin "shop" cannot be loaded'):
        registry.tables["shop_order"]


def test_a_pack_sees_no_environment(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", "hunter2")
    text = TABLE.replace('"One row for each order."', 'env("SHOP_SECRET")')
    (pack / "tables" / "shop_order.tpc").write_text(text)
    with pytest.raises(PluginError):
        Registry.installed(str(tmp_path)).tables["shop_order"]


@pytest.mark.parametrize("name", list(Registry.installed().tables))
def test_a_shipped_table_is_printed_as_config_that_is_read_back_as_the_same_table(name: str) -> None:
    registry = Registry.installed()
    table = registry.tables[name]
    around: Surroundings = AROUND
    text = ConfigText("printed.tpc", table_text(table, registry.presets))
    assert build_config([text], registry, around).tables[name] == declared_table(table, registry.presets)
