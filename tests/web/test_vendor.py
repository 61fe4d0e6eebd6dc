"""The third-party code of the explorer is what `make vendor` locked, and its licences travel with it."""

import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

STATIC = Path(str(files("tailpipe"))) / "serve" / "static"
VENDOR = STATIC / "vendor"
WEB = Path(__file__).parents[2] / "web"
LOCK = json.loads((VENDOR / "vendor.lock").read_text())


def test_the_lock_names_every_vendored_file() -> None:
    assert {path.name for path in VENDOR.iterdir()} == {*LOCK["files"], "vendor.lock"}


@pytest.mark.parametrize("name", LOCK["files"])
def test_a_vendored_file_is_what_was_locked(name: str) -> None:
    digest = hashlib.sha256((VENDOR / name).read_bytes()).hexdigest()
    assert digest == LOCK["files"][name], f"{name} was changed by hand: run make vendor"


def test_every_bundled_package_comes_with_its_licence() -> None:
    licences = (VENDOR / "LICENSES.txt").read_text()
    assert {package["name"] for package in LOCK["packages"]} >= {
        "preact",
        "@preact/signals",
        "htm",
        "uplot",
        "codemirror",
    }
    for package in LOCK["packages"]:
        assert package["license"] in {"MIT", "Apache-2.0"}, package
        assert f"{package['name']} {package['version']} ({package['license']})\n" in licences
    assert licences.count("Permission is hereby granted") + licences.count("Apache License") >= len(LOCK["packages"])


def test_the_lock_holds_the_versions_that_are_pinned() -> None:
    pinned = json.loads((WEB / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pinned.values()), pinned
    assert pinned["codemirror"].startswith("6.0."), "6.65.7 carries CodeMirror 5"
    locked = {package["name"]: package["version"] for package in LOCK["packages"]}
    assert {name: pinned[name] for name in locked if name in pinned}.items() <= locked.items()


def test_no_file_names_a_registry() -> None:
    for path in (WEB / "package-lock.json", WEB / "package.json", WEB / ".npmrc"):
        assert "://" not in path.read_text() or path.name == "package-lock.json", path
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert all("integrity" in package for name, package in packages.items() if name)
