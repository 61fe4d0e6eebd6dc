"""Hooks of MkDocs: `apis/` in the navigation means its pages, and links to other files of the repository work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
ADDED = {"README.md": "quick-start.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages of the site that are not in docs/."""

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Called by MkDocs before it builds."""
    config.nav = [_expanded(item, Path(config.docs_dir)) for item in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Called by MkDocs with the files of docs/: add the pages from elsewhere."""
    for name, page in ADDED.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        files.append(File.generated(config, page, content=_LINK.sub(lambda found: _linked(found, ROOT), text)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with the text of a page: a link that leaves docs/ leads to an added page, or becomes a path."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    if page.file.abs_src_path is None:
        return markdown
    folder = Path(page.file.abs_src_path).parent
    return _LINK.sub(lambda found: _linked(found, folder), markdown)


def _linked(found: re.Match[str], folder: Path) -> str:
    text, (path, _, anchor) = found[1], found[2].partition("#")
    if not path or "://" in path:
        return found[0]
    target = (folder / path).resolve()
    docs = ROOT / "docs"
    if not target.exists() or target.is_relative_to(docs) or not target.is_relative_to(ROOT):
        return found[0]
    name = target.relative_to(ROOT).as_posix()
    if name not in ADDED:
        return f"`{name}`" if text in name else f"{text} (`{name}`)"
    up = "../" * len(folder.relative_to(docs).parts) if folder.is_relative_to(docs) else ""
    return f"[{text}]({up}{ADDED[name]}{'#' if anchor else ''}{anchor})"


def _expanded(item: Any, docs: Path) -> Any:
    if isinstance(item, dict):
        return {title: _pages(inner, docs) for title, inner in item.items()}
    return item


def _pages(inner: Any, docs: Path) -> Any:
    if isinstance(inner, list):
        return [_expanded(item, docs) for item in inner]
    if not inner.endswith("/"):
        return inner
    pages = sorted((docs / inner).glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
    return [
        f"{inner}{page.name}" if page.name == "README.md" else {_title(page): f"{inner}{page.name}"} for page in pages
    ]


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(line for line in lines if line.startswith("# ")).removeprefix("# ").strip()
