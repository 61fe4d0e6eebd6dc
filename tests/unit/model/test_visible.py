"""Text that is safe to show, and how wide it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.model.visible import shorten, visible, visible_lines, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain text, ünïcode, 日本語, 🦀", "plain text, ünïcode, 日本語, 🦀"),
        ("a\tb", "a b"),
        ("a\nb\r\n", "a\\nb\\r\\n"),
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("\x00\x07\x7f", "\\u0000\\u0007\\u007f"),
        ("\x9b31m", "\\u009b31m"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("\u2066\u2069\u200e\u200f", "\\u2066\\u2069\\u200e\\u200f"),
        ("zero\u200bwidth\u200d\ufeff", "zero\\u200bwidth\\u200d\\ufeff"),
        ("line\u2028paragraph\u2029", "line\\u2028paragraph\\u2029"),
        ("no\u00a0break", "no\\u00a0break"),
        ("lone \udcff", "lone \\udcff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("e\u0301", "e\u0301"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_what_steers_a_terminal_is_shown_as_its_code(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_inside_of_a_text_are_kept_and_the_end_of_the_last_one_is_shown() -> None:
    assert visible_lines("it broke\n\tat Shop.pay\x1b\n\nnext\n\n") == "it broke\n at Shop.pay\\u001b\n\nnext\\n\\n"
    assert visible_lines("plain") == "plain"


@given(st.text(st.characters()))
def test_shown_text_is_always_printable_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    shown.encode()


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u0301", 1),
        ("a\u20dd", 1),
        ("日本語", 6),
        ("한글", 4),
        ("ＡＢ", 4),
        ("ｱ", 1),
        ("🦀", 2),
        ("ที่", 1),
        ("कु", 1),
        ("•••", 3),
        ("a日e\u0301", 4),
    ],
)
def test_the_width_is_that_on_a_terminal(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("日本語", 2, "…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_text_is_cut_to_its_columns_with_an_ellipsis(text: str, limit: int, expected: str) -> None:
    assert shorten(text, limit) == expected


@given(st.text(), st.integers(0, 40))
def test_cut_text_never_takes_more_columns_than_allowed(text: str, limit: int) -> None:
    cut = shorten(text, limit)
    assert width(cut) <= limit
    if width(text) <= limit:
        assert cut == text
    elif limit:
        assert cut.endswith("…")
        assert text.startswith(cut[:-1])
