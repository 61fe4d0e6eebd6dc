"""Pages, help and messages are in plain technical English: phrases that were replaced do not come back."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from tests.command_page import COMMANDS
from tests.prose import (
    REPLACED_KEYS,
    REPORT_TURNS,
    TURNS,
    code_findings,
    findings_in,
    message_findings,
    page_findings,
    pages,
    report_findings,
    words_of,
)
from tests.report_texts import report_keys, report_texts

MOST_WORDS = 41_500
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


def test_every_report_is_in_plain_words_and_has_no_replaced_key() -> None:
    assert not list(report_findings())


def test_names_and_docstrings_are_in_plain_words() -> None:
    assert not list(code_findings())


def test_the_texts_and_keys_of_reports_are_found() -> None:
    texts = {text for _, text in report_texts()}
    assert {"…: no new data", "push failed: …", "… rolled back: …", "… and …; to list all: --output json"} <= {
        text.strip() for text in texts
    }
    assert {"unmatched_files", "unpushed_commits", "problem", "truncated"} <= {key for _, key in report_keys()}
    assert not REPLACED_KEYS.keys() & set(REPLACED_KEYS.values())


@pytest.mark.parametrize(
    "text",
    [
        "repair with: tailpipe doctor --repair",
        "put back … objects",
        "linked …, swept …",
        "in the store alone: … files since this run",
        "lines with bytes that are no text",
        "… is not ours: it is left alone",
        "collect them again while the logs are there",
        "failed: …; next try in … s",
        "config not reloaded, the one before stays in use",
        "… had already taken 1 of 1 artifact",
        "left out, hard link",
    ],
)
def test_a_replaced_phrase_of_a_report_is_found(text: str) -> None:
    assert findings_in(text, TURNS | REPORT_TURNS)


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
