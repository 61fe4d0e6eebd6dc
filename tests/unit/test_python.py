"""Python 3.11.0 suffices, and the private environment can be made with it, also behind a proxy.

Names of later minor versions are found by mypy, which checks for 3.11. What a patch release brought is in no stub.
"""

from __future__ import annotations

import ast
import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "bench", "examples")

ARGUMENTS = {
    ("extract", "filter"): "3.11.4",
    ("extractall", "filter"): "3.11.4",
    ("unpack_archive", "filter"): "3.11.4",
    ("getaddresses", "strict"): "3.11.10",
    ("parseaddr", "strict"): "3.11.10",
    ("HTMLParser", "scripting"): "3.11.14",
}
"""Keyword arguments of functions, with the release that brought them."""
NAMES = {
    "data_filter": "3.11.4",
    "fully_trusted_filter": "3.11.4",
    "tar_filter": "3.11.4",
    "FilterError": "3.11.4",
    "LinkFallbackError": "3.11.13",
    "GetReparseDeferralEnabled": "3.11.9",
    "SetReparseDeferralEnabled": "3.11.9",
    "verify_generated_headers": "3.11.10",
}
"""Names of the standard library."""


def too_new(text: str) -> Iterator[str]:
    """What the text uses of patch releases after 3.11.0."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func).rpartition(".")[2]
            for word in node.keywords:
                if (function, word.arg) in ARGUMENTS:
                    yield f"{function}({word.arg}=…)"
        elif isinstance(node, ast.Attribute | ast.Name | ast.alias):
            name = {ast.Attribute: "attr", ast.Name: "id", ast.alias: "name"}[type(node)]
            if getattr(node, name) in NAMES:
                yield getattr(node, name)


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_of_a_later_patch_release_is_used(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    found = {str(path.relative_to(ROOT)): list(too_new(path.read_text(encoding="utf-8"))) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_is_too_new_is_found() -> None:
    text = "from tarfile import data_filter\narchive.extractall(path, filter='tar')\ntarfile.tar_filter"
    assert sorted(too_new(text)) == ["data_filter", "extractall(filter=…)", "tar_filter"]


def test_types_and_lint_are_checked_for_the_oldest_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["requires-python"] == ">=3.11"
    assert project["tool"]["mypy"]["python_version"] == "3.11"
    assert project["tool"]["ruff"]["target-version"] == "py311"


@pytest.mark.parametrize(("given", "used"), [({}, "true"), ({"UV_SYSTEM_CERTS": "false"}, "false")])
def test_make_lets_uv_trust_the_certificates_of_the_system(given: dict[str, str], used: str) -> None:
    own = {name: value for name, value in os.environ.items() if name != "UV_SYSTEM_CERTS"}
    show = "--eval=show: ; @printf '[%s]' \"$$UV_SYSTEM_CERTS\""
    done = subprocess.run(["make", "-s", show, "show"], cwd=ROOT, env=own | given, capture_output=True, text=True)
    assert done.stdout == f"[{used}]", done.stderr
