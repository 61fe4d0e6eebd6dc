"""The page that writes a table is true: whoever follows it has a pack that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.config.pack_install import install_pack
from tailpipe.config.packs import read_pack
from tailpipe.plugin import Registry
from tailpipe.testing import check_plugin
from tests.unit.docs.pages import fences, problems_of, read


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The folder that the page describes, with the texts of the page."""
    shown = {
        (fence.info, fence.body.split()[0]): fence.body for fence in reversed(fences(read("docs/write-a-table.md")))
    }
    texts = {
        "plugin.tpc": shown["tpc", "plugin"],
        "tables/door_log.tpc": shown["hcl", "table"],
        "samples/door_log.log": next(body for (info, _), body in shown.items() if info == "json"),
        "samples/door_log.expected.jsonl": next(body for (info, _), body in shown.items() if info == "jsonl"),
    }
    folder = tmp_path / "door"
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    assert problems_of(shown["hcl", "table"] + "\n" + shown["tpc", "partition"], Registry.installed()) == ""
    return folder


def test_the_pack_of_the_page_passes_its_check(pack: Path) -> None:
    check_plugin(pack)


def test_the_pack_of_the_page_is_installed_and_its_table_has_thirty_lines(pack: Path, tmp_path: Path) -> None:
    packs = tmp_path / "plugins"
    install_pack(pack, packs, Registry.installed(), force=False)
    assert read_pack(str(packs / "door")).description == "Logs of the door system."
    assert Registry.installed(str(packs)).tables["door_log"].row_key == ("event_id",)
    assert len((pack / "tables" / "door_log.tpc").read_text().splitlines()) <= 30
