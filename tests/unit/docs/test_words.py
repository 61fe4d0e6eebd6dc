"""The first pages that a user reads are in plain technical English: phrases that were replaced do not come back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from tests.reference_pages import COMMANDS
from tests.unit.docs.pages import prose, read

_REPLACED = re.compile(
    r"\b(?:asks? for|asked for|is told|what is (?:t?here)|nothing there|leaves? out|left out|whole or not at all|"
    r"logs of (?:AWS|your own)|so many|goes? on from|put small files together|whether to|how (?:the|many)|"
    r"brings? (?:them )?back|its own words)\b",
    re.IGNORECASE,
)


def texts_of(command: click.Command) -> Iterator[str]:
    yield from filter(None, (command.help, command.short_help, command.epilog))
    yield from filter(None, (getattr(parameter, "help", None) for parameter in command.params))


@pytest.mark.parametrize("path", COMMANDS)
def test_the_help_of_every_command_is_in_plain_words(path: str) -> None:
    assert not [text for text in texts_of(COMMANDS[path]) if _REPLACED.search(text)]


def test_the_readme_is_in_plain_words() -> None:
    assert not _REPLACED.findall(prose(read("README.md")))
