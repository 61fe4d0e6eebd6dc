"""Diagnostics → text: the message, the place, the line, a caret, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from tailpipe.errors import Diagnostic, Place
from tailpipe.model.visible import shorten, visible, width

_WIDTH = 100
_MESSAGE_WIDTH = 400
"""Room for any message of ours; only a user's own word can be longer."""


def render_diagnostics(diagnostics: Iterable[Diagnostic], kind: str = "error") -> str:
    """All of them, with a blank line between; `kind` is how bad they are."""
    return "\n".join(render_diagnostic(diagnostic, kind) for diagnostic in diagnostics)


def render_diagnostic(diagnostic: Diagnostic, kind: str = "error") -> str:
    """One problem as people read it; ends with a newline."""
    place = diagnostic.place
    message, hint = _short(diagnostic.message), _short(diagnostic.hint)
    lines = [f"{kind}: {message}", f"  --> {visible(str(place))}"]
    if place.line:
        margin = " " * len(str(place.line))
        line, carets = _excerpt(place)
        lines.append(f"{margin} |")
        lines.append(f"{place.line} | {line}".rstrip())
        lines.append(f"{margin} | {carets} {hint}".rstrip())
    elif hint:
        lines.append(f"  = {hint}")
    lines += [f"  --> {visible(str(note.place))}: {note.message}" for note in diagnostic.notes]
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    return shorten(visible(text[: 2 * _MESSAGE_WIDTH]), _MESSAGE_WIDTH)


def _excerpt(place: Place) -> tuple[str, str]:
    """The line around the column and the carets below it; a long line is cut on both sides."""
    text, start = place.text, place.column - 1
    first = 0 if len(text) <= _WIDTH or start < _WIDTH - 20 else start - 40
    shown = text[first : first + _WIDTH]
    head, tail = "…" if first else "", "…" if first + _WIDTH < len(text) else ""
    before = head + visible(text[first:start])
    marked = text[start : min(start + place.length, first + _WIDTH)]
    carets = "^" * max(1, width(visible(marked)))
    return head + visible(shown) + tail, " " * width(before) + carets
