from __future__ import annotations

import click
import pytest

from tailpipe.cli.again import located


def placed(text: str, **flags: str) -> str:
    with click.Context(click.Command("tailpipe"), obj=flags):
        return located(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run: tailpipe collect a.b --fill", "run: tailpipe --config-path '/my dir' --workspace w collect a.b --fill"),
        ("see: tailpipe plugin check, then tailpipe status", None),
        ("pip install tailpipe collect", None),
    ],
)
def test_suggested_commands_name_the_config_and_the_workspace_of_the_call(text: str, expected: str | None) -> None:
    flags = {"config_path": "/my dir", "workspace": "w"}
    words = "tailpipe --config-path '/my dir' --workspace w "
    assert placed(text, **flags) == (expected or text.replace("tailpipe ", words))
    assert placed(text) == text == located(text)


@pytest.mark.parametrize("text", ["tailpipe reads logs", "pip install tailpipe-plugin-x", "/opt/tailpipe collect"])
def test_words_that_are_no_command_of_ours_stay(text: str) -> None:
    assert placed(text, workspace="w") == text
