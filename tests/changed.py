"""Print the test files that a change can affect, for `make test-changed`.

A test is affected if it is in the change, or imports what is, directly or not. Code that imports by name, starts the
command line or reads pages is linked by the rules of `_links`. Files that no rule knows affect all tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import grimp

__all__ = ["affected"]

ROOT = Path(__file__).parent.parent
_IGNORED = (".gitignore", "CHANGELOG.md", "LICENSE", "bench/", "web/")
_PACKS = ("tests.unit.plugin.", "tests.unit.plugins.", "tests.unit.infer.", "tests.unit.docs.", "tests.reading.")
"""The tests of the tables that are data files."""


def affected(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """The test files, relative to the root, that a change of these files can affect; `["tests"]` if it can be any."""
    graph = grimp.build_graph("tailpipe", "tests", cache_dir=None)
    texts = {name: _text(root, name) for name in graph.modules if name.startswith("tests")}
    for importer, imported in _links(graph.modules, texts):
        graph.add_import(importer=importer, imported=imported)
    found: set[str] = set()
    for path in changed:
        modules = _modules(path, graph.modules, texts)
        if modules is None:
            return ["tests"]
        found.update(modules, *map(graph.find_downstream_modules, modules))
    files = (f"{name.replace('.', '/')}.py" for name in found if name.rpartition(".")[2].startswith("test_"))
    return sorted(file for file in files if (root / file).exists())


def _modules(path: str, known: set[str], texts: Mapping[str, str]) -> set[str] | None:
    """The modules of a file, or the tests that read it; None if that is not known."""
    if path.startswith("docs/") or path.endswith(".md"):
        return _naming(texts, "docs", ".md")
    if path.startswith(_IGNORED):
        return set()
    parts = Path(path.removeprefix("src/")).with_suffix("").parts
    if path.endswith(".py"):
        name = ".".join(parts).removesuffix(".__init__")
        return {name} if name in known else None
    if path.startswith("src/tailpipe/plugins/"):
        return {name for name in texts if name.startswith(_PACKS)}
    for length in range(len(parts) - 1, 1, -1):
        if (package := ".".join(parts[:length])) in known:
            return {name for name in known if name.startswith(f"{package}.")}
    return _naming(texts, parts[1]) if parts[0] == "tests" else None


def _links(modules: set[str], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Dependencies that are not import statements, as pairs of a module and what it uses."""
    plugins = [name for name in modules if name.startswith("tailpipe.plugins.") and name.count(".") == 2]
    yield from (("tailpipe.plugin.discovery", name) for name in plugins)
    for name, text in texts.items():
        yield from ((name, one) for one in _conftests(name) if one in modules and one != name)
        named = {f"tailpipe.cli.{word}" for word in _COMMAND.findall(text)} & modules
        yield from ((name, one) for one in ({"tailpipe.cli.app", *named} if named else ()))


_COMMAND = re.compile(r'(?:"|tailpipe )(\w+)')
"""What can be the name of a command in the text of a test."""


def _naming(texts: Mapping[str, str], *words: str) -> set[str]:
    return {name for name, text in texts.items() if any(word in text for word in words)}


def _conftests(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield f"{name}.conftest"


def _text(root: Path, name: str) -> str:
    file = root / f"{name.replace('.', '/')}.py"
    return file.read_text() if file.exists() else ""


def _changed(base: str) -> list[str]:
    """The files that differ from a commit, those that git does not track included."""
    commands = (["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"])
    return [line for one in commands for line in subprocess.check_output(one, text=True, cwd=ROOT).splitlines()]


if __name__ == "__main__":
    print("\n".join(affected(_changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD"))) or "tests/unit/test_changed.py")
