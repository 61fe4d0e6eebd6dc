"""Grok: layouts made of named patterns, `%{NAME:field}`, as regular expressions.

`%{NAME}` means the pattern NAME, `%{NAME:field}` the same as a field, `%{NAME:field:int}` too: a
type behind the field is accepted and ignored, because the table says what type a column has. Names that
grok writes with dots or brackets (`http.request.method`, `[http][request]`) become names with `_`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tailpipe.formats.grok_patterns import PATTERNS
from tailpipe.plugin import UsageError, did_you_mean
from tailpipe.plugin.linear import Regex, compile_linear

if TYPE_CHECKING:
    from tailpipe.formats.pattern import Pattern

_PART = re.compile(r"%\{([^{}]*)\}")
_REFERENCE = re.compile(r"(\w+)(?::([^:]+))?(?::(\w+))?")
_TYPES = ("int", "integer", "long", "float", "double", "number", "string", "bool", "boolean", "date")
_DEPTH_LIMIT = 50
_LENGTH_LIMIT = 200_000


def compile_grok(layout: str, patterns: Mapping[str, str] | None = None) -> Pattern:
    """Compile a layout to a regular expression; `patterns` win over those of the library."""
    from tailpipe.formats.pattern_reader import parse_pattern  # late, because many configs have no pattern

    return parse_pattern(_expand(layout, patterns or {}, ()))


def compile_layout(layout: str, patterns: Mapping[str, str] | None = None) -> Regex:
    """A layout of file names: it must match the whole name, and `( … )?` may be missing.

    A part that is missing has None for its groups. A field that is duplicated is refused.
    """
    pattern = compile_grok(layout, patterns)
    for field in pattern.fields:
        if pattern.names.count(field) > 1:
            raise UsageError(f'the field "{field}" is duplicated')
    return compile_linear(f"(?s:{pattern.named()})")  # a name may hold a newline


def check_patterns(patterns: Mapping[str, str]) -> None:
    """Refuse patterns of the user's own that cannot be used, with the name of the one that is wrong."""
    for name, text in patterns.items():
        if not re.fullmatch(r"\w+", name):
            raise UsageError(f'"{name}" is not a name of a pattern', hint="use letters, digits and _")
        try:
            compile_grok(text, patterns)
        except UsageError as error:
            raise UsageError(f'pattern "{name}": {error}', hint=error.hint) from None


def _expand(text: str, own: Mapping[str, str], inside: tuple[str, ...]) -> str:
    """The text with all patterns written out; `inside` are the names that are being written out."""
    pieces: list[str] = []
    end = 0
    for part in _PART.finditer(text):
        name, field = _reference(part)
        if name in inside:
            raise UsageError(f'the pattern "{name}" refers to itself: {" → ".join([*inside, name])}')
        if len(inside) > _DEPTH_LIMIT:
            raise UsageError(f'the pattern "{inside[0]}" is nested too deep')
        known = own.get(name, PATTERNS.get(name))
        if known is None:
            hint = did_you_mean(name, [*own, *PATTERNS], "name it in patterns")
            raise UsageError(f'there is no pattern "{name}"', hint=hint)
        pieces += [
            text[end : part.start()],
            f"(?P<{field}>" if field else "(?:",
            _expand(known, own, (*inside, name)),
            ")",
        ]
        end = part.end()
        if sum(map(len, pieces)) > _LENGTH_LIMIT:
            raise UsageError("the patterns are too long when written out")
    return "".join([*pieces, text[end:]])


def _reference(part: re.Match[str]) -> tuple[str, str]:
    """The name and the field, which may be empty, of `%{NAME:field:type}`."""
    found = _REFERENCE.fullmatch(part[1])
    if not found:
        raise UsageError(f'"{part[0]}" is not a pattern', hint="write %{NAME} or %{NAME:field}")
    name, field, kind = found.groups()
    if kind and kind not in _TYPES:
        raise UsageError(f'there is no type "{kind}" in "{part[0]}"', hint="remove it: the table defines the types")
    field = re.sub(r"\W+", "_", field or "").strip("_")
    if not field and found[2]:
        raise UsageError(f'"{found[2]}" is not a name of a field, in "{part[0]}"')
    return name, field
