"""Expand the directories in the navigation of the site: `apis/` stands for its pages, the index first."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Called by MkDocs before it builds."""
    config.nav = [_expanded(item, Path(config.docs_dir)) for item in config.nav]
    return config


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
