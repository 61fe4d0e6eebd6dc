"""Text that is safe to show: nothing in it can steer a terminal, and its width is known."""

from __future__ import annotations

import unicodedata

_SHORT = {"\t": " ", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    """The text with control, bidirectional and other invisible characters made visible; a tab is a blank."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _SHORT.get(c) or _code(ord(c)) for c in text)


def visible_lines(text: str) -> str:
    """The text with invisible characters made visible, except line ends inside it."""
    if text.isprintable():
        return text
    inside = text.rstrip("\n")
    return "\n".join(map(visible, inside.split("\n"))) + visible(text[len(inside) :])


def width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def shorten(text: str, limit: int) -> str:
    """The text, cut to a number of columns with an ellipsis at its end."""
    if width(text) <= limit:
        return text
    if limit < 1:
        return ""
    kept, used = "", 0
    for character in text:
        used += width(character)
        if used > limit - 1:
            break
        kept += character
    return kept + "…"


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):  # drawn onto the one before
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _code(number: int) -> str:
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
