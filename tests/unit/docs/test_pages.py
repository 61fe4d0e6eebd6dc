"""All pages, and all files: links lead somewhere, rooms are described, nothing tells of one machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailpipe.plugin import Registry
from tests.log_page import PAGE as ANY_LOG
from tests.log_page import page as log_page
from tests.message_page import PAGE as MESSAGES
from tests.message_page import page as message_page
from tests.table_pages import index, pack_tables, page
from tests.unit.docs.pages import PAGES, ROOT, codes, headings, prose, read, repository_files, rows, section

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Spelt so that this file does not match itself.
_REGISTRY_HOST = re.compile(r"pypi\.org|pythonhosted\.org|registry\.npmjs|anaconda\.org|https?://\S+/simple\b")
_MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|Users|builds)/\w")
_HOME = re.compile(r"(?<![\w.~-])/home/(?!me\b)\w")


def test_every_room_is_described_and_every_file_that_is_named_exists() -> None:
    page = read("docs/architecture.md")
    source = ROOT / "src/tailpipe"
    described = {cells[0].strip("`/") for cells in rows(section(page, "The rooms"))}
    there = {path.name for path in source.iterdir() if not path.name.startswith(("_", "py."))}
    assert there == described
    known = {str(path.relative_to(source)) for path in source.rglob("*.py")}
    names = {name for name in codes(page) if name.endswith(".py")}
    assert not {name for name in names if not any(f"/{path}".endswith(f"/{name}") for path in known)}


def slug(title: str) -> str:
    """The anchor that a forge gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    here = ROOT / page
    for target in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(read(page)))):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = (here.parent / path).resolve() if path else here
        assert there.exists(), target
        if anchor:
            titles = headings(prose(there.read_text(encoding="utf-8")))
            assert anchor in {slug(title) for _, title, _, _ in titles}, target


def test_every_page_is_found_from_the_index() -> None:
    index = ROOT / "docs/README.md"
    lists = [index, *(ROOT / f"docs/{name}/README.md" for name in ("adr", "apis", "tables"))]
    found = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in lists
        for target in _LINK.findall(page.read_text())
    }
    found |= {path / "README.md" for path in found if path.is_dir()}
    assert {ROOT / page for page in PAGES if page.startswith("docs/")} - found == {index}


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    shown = set(re.findall(r": ([\w-]+\.md)$", read("mkdocs.yml"), re.MULTILINE))
    assert {Path(page).name for page in PAGES if Path(page).parent == Path("docs")} <= shown


def test_no_file_names_the_host_of_a_registry_or_a_path_of_one_machine() -> None:
    found = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", "replace")
        patterns = [_REGISTRY_HOST, _MACHINE_PATH, *([_HOME] if path.suffix == ".md" else [])]
        found += [f"{path.relative_to(ROOT)}: {m[0]}" for pattern in patterns for m in pattern.finditer(text)]
    assert not found


def test_the_pages_of_pack_tables_are_those_of_their_declarations() -> None:
    registry = Registry.installed()
    tables = pack_tables(registry)
    assert tables
    for name, (plugin, table) in tables.items():
        assert read(f"docs/tables/{name}.md") == page(table, plugin, registry), "run: make pages"


def test_the_index_of_tables_has_all_of_them_by_product() -> None:
    assert read("docs/tables/README.md") == index(Registry.installed()), "run: make pages"


def test_the_page_about_any_log_has_all_layouts() -> None:
    text = ANY_LOG.read_text(encoding="utf-8")
    assert text == log_page(text), "run: make pages"
    assert "Android's logcat" in text


def test_the_list_of_messages_is_that_of_the_source() -> None:
    assert MESSAGES.read_text(encoding="utf-8") == message_page(), "run: make pages"
