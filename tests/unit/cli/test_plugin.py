"""`tailpipe plugin check` of a directory that is not a pack."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tailpipe.cli.app import app
from tailpipe.errors import UsageError


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pyproject.toml", "a Python plugin is checked by tailpipe.testing.check_plugin in a test"),
        ("tailpipe_harbour.py", "a Python plugin is checked by tailpipe.testing.check_plugin in a test"),
        ("README.md", ""),
    ],
)
def test_a_check_of_a_python_plugin_says_how_it_is_checked(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / name).touch()
    env = {"TAILPIPE_INSTALL_DIR": str(tmp_path / "install"), "HOME": str(tmp_path)}
    refused = CliRunner().invoke(app, ["plugin", "check", str(tmp_path)], env=env).exception
    assert isinstance(refused, UsageError)
    assert (refused.message, refused.hint) == (f'"{tmp_path}" is not a pack: it has no plugin.tpc', hint)
