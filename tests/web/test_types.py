"""The types that the front end declares in its comments hold: `tsc --checkJs`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"
APP = WEB.parent / "src" / "tailpipe" / "serve" / "static" / "app"


def test_modules_are_small_and_ask_to_be_checked() -> None:
    for path in APP.glob("*.js"):
        lines = path.read_text().splitlines()
        assert lines[0] == "// @ts-check", path.name
        assert lines[1].startswith("// "), f"{path.name} does not say what it is for"
        assert len(lines) <= 250, path.name


def test_no_module_makes_markup_of_text() -> None:
    for path in APP.glob("*.js"):
        text = path.read_text()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "dangerouslySetInnerHTML",
            "document.write",
            "eval(",
        ):
            assert word not in text, f"{path.name} uses {word}"


@pytest.mark.slow
def test_the_types_hold() -> None:
    if shutil.which("npm") is None:
        pytest.skip("no npm: the types of the front end are NOT checked")
    if not (WEB / "node_modules" / ".bin" / "tsc").exists():
        command = ["npm", "ci", "--ignore-scripts", "--silent"]
        if subprocess.run(command, cwd=WEB, check=False, capture_output=True, timeout=300).returncode:
            pytest.skip("npm cannot install TypeScript: the types of the front end are NOT checked")
    checked = subprocess.run(
        [str(WEB / "node_modules" / ".bin" / "tsc"), "--project", "tsconfig.json"],
        cwd=WEB,
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
