"""What an author imports is there, and is all that a plugin needs."""

from __future__ import annotations

import ast
from pathlib import Path

import tailpipe.plugin
import tailpipe.plugins

NOUNS = {"Plugin", "Table", "Column", "Source", "Artifact", "Format", "Connection", "option"}


def test_the_promised_names_are_exported() -> None:
    assert set(tailpipe.plugin.__all__) >= NOUNS
    assert len(tailpipe.plugin.__all__) == len(set(tailpipe.plugin.__all__))
    for name in tailpipe.plugin.__all__:
        assert getattr(tailpipe.plugin, name) is not None


def test_everything_that_is_imported_for_authors_is_exported() -> None:
    tree = ast.parse(Path(tailpipe.plugin.__file__).read_text(encoding="utf-8"))
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tailpipe.")
        for name in node.names
    }
    assert imported == set(tailpipe.plugin.__all__)


def test_the_built_in_plugins_import_nothing_else_of_ours() -> None:
    for path in Path(tailpipe.plugins.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.split(".")[0] == "tailpipe":
                    assert name.split(".")[1] in ("plugin", "plugins", "formats")
