"""The command itself, before it serves anything."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from tailpipe.cli.serve import command
from tailpipe.errors import TailpipeError, UsageError


def test_without_the_extra_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("tailpipe.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    failure = CliRunner().invoke(command, ["--no-browser"], standalone_mode=False).exception
    assert isinstance(failure, TailpipeError)
    assert failure.message == "tailpipe serve needs the extra serve"
    assert failure.hint == 'install it: pip install "tailpipe[serve]"'


def test_others_are_not_let_in_without_tls() -> None:
    failure = CliRunner().invoke(command, ["--listen", "0.0.0.0"], standalone_mode=False).exception
    assert isinstance(failure, UsageError)
    assert failure.message == '"0.0.0.0" can be reached by others, which needs TLS'
