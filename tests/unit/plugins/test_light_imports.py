"""Importing the built-in plugins costs nothing heavy, and what they declare can be asked without it."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import tailpipe.plugins
from tailpipe import testing

HEAVY = (*testing.HEAVY, "sqlglot", "importlib.metadata")
MODULES = sorted(module.name for module in pkgutil.walk_packages(tailpipe.plugins.__path__, "tailpipe.plugins."))

ASK = """
registry = Registry.installed()
assert registry.plugins and not registry.warnings, registry.warnings
for declared in (*registry.sources.values(), *registry.formats.values(), *registry.connections.values()):
    assert options_of(declared)
assert registry.presets and {c(): c for c in registry.connections.values()}
assert list(registry.tables.values())
"""


def loaded_by(code: str) -> set[str]:
    """The heavy modules that a fresh interpreter has loaded after running the code."""
    probe = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", probe], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_there_are_plugins_to_import() -> None:
    assert {"tailpipe.plugins.core", "tailpipe.plugins.aws", "tailpipe.plugins.core.sources"} <= set(MODULES)


def test_the_probe_sees_what_is_imported() -> None:
    assert loaded_by("import click") == {"click"}


@pytest.mark.parametrize("modules", [MODULES, ["tailpipe.plugin", "tailpipe.formats"]], ids=["plugins", "plugin"])
def test_importing_a_plugin_imports_nothing_heavy(modules: list[str]) -> None:
    assert loaded_by("\n".join(f"import {name}" for name in modules)) == set()


def test_asking_all_plugins_for_all_they_bring_imports_nothing_heavy() -> None:
    head = "from tailpipe.plugin import Registry\nfrom tailpipe.model.option import options_of\n"
    assert loaded_by(head + ASK) == set()
