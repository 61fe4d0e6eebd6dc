"""Diagnostics → text: the message, the place, the line, a caret, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tailpipe.errors import Diagnostic, Place
from tailpipe.model.visible import visible, width

__all__ = ["render_diagnostic", "render_diagnostics"]

_WIDTH = 100
_SECRET = re.compile(
    r"""([\w-]*(?:secret|passw|token|credential|private|api_?key|access_?key)[\w-]*"?\s*[=:]\s*)"""
    r"""("(?:[^"\\]|\\.)*"?|`[^`]*`?)""",
    re.IGNORECASE,
)


def render_diagnostics(diagnostics: Iterable[Diagnostic]) -> str:
    """All of them, with a blank line between."""
    return "\n".join(render_diagnostic(diagnostic) for diagnostic in diagnostics)


def render_diagnostic(diagnostic: Diagnostic) -> str:
    """One problem as people read it; ends with a newline."""
    place = diagnostic.place
    lines = [f"error: {visible(diagnostic.message)}", f"  --> {visible(str(place))}"]
    if not place.line:
        lines += [f"  = {diagnostic.hint}"] if diagnostic.hint else []
        return "\n".join(lines) + "\n"
    margin = " " * len(str(place.line))
    lines.append(f"{margin} |")
    lines.append(f"{place.line} | {_excerpt(place)[0]}".rstrip())
    lines.append(f"{margin} | {_excerpt(place)[1]} {visible(diagnostic.hint)}".rstrip())
    lines += [f"  --> {visible(str(note.place))}: {note.message}" for note in diagnostic.notes]
    return "\n".join(lines) + "\n"


def _excerpt(place: Place) -> tuple[str, str]:
    """The line around the column and the carets below it; a long line is cut on both sides."""
    text = _masked(place.text)
    start = place.column - 1
    first = 0 if len(text) <= _WIDTH or start < _WIDTH - 20 else start - 40
    shown = text[first : first + _WIDTH]
    head, tail = "…" if first else "", "…" if first + _WIDTH < len(text) else ""
    before = head + visible(text[first:start])
    marked = text[start : min(start + place.length, first + _WIDTH)]
    carets = "^" * max(1, width(visible(marked)))
    return head + visible(shown) + tail, " " * width(before) + carets


def _masked(text: str) -> str:
    """The line without the values of what looks like a secret; every character keeps its column."""
    return _SECRET.sub(lambda match: match[1] + match[2][0] + "•" * (len(match[2]) - 2) + match[2][-1], text)
