"""Pages, help and messages are in plain technical English: phrases that were replaced do not come back."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from tests.command_page import COMMANDS
from tests.prose import findings_in, message_findings, page_findings, pages, words_of

MOST_WORDS = 41_000
"""The README and docs, without generated parts and decisions. Shorten a page before you raise it."""


def texts_of(command: click.Command) -> Iterator[str]:
    yield from filter(None, (command.help, command.short_help, command.epilog))
    yield from filter(None, (getattr(parameter, "help", None) for parameter in command.params))


@pytest.mark.parametrize("path", COMMANDS)
def test_the_help_of_every_command_is_in_plain_words(path: str) -> None:
    assert not [finding for text in texts_of(COMMANDS[path]) for finding in findings_in(text)]


@pytest.mark.parametrize("page", pages())
def test_every_page_is_in_plain_words(page: str) -> None:
    assert not page_findings(page)


def test_every_message_is_in_plain_words() -> None:
    assert not list(message_findings())


def test_the_pages_stay_short() -> None:
    assert sum(map(words_of, pages())) <= MOST_WORDS


@pytest.mark.parametrize(
    "text",
    [
        "nothing there",
        "It is told which files are asked for.",
        "A day is there whole, or not at all.",
        "one statement at a time, please",
        "logs of AWS",
        "a whole number",
    ],
)
def test_a_replaced_phrase_is_found(text: str) -> None:
    assert findings_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "asks for confirmation",
        "a server behind a load balancer",
        "so many small files slow queries down",
        "`left out` is code",
    ],
)
def test_plain_words_are_not_found(text: str) -> None:
    assert not findings_in(text)
