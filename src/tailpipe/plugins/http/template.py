"""Placeholders: `{from}`, `{to}` and names of options in texts that are sent."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tailpipe.plugin import Declared, Secret

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def fill(text: str, names: Mapping[str, str], quoted: Callable[[str], str] = str) -> str:
    """The text with the values of known names; braces around anything else stay."""
    return _PLACEHOLDER.sub(lambda match: quoted(names[match[1]]) if match[1] in names else match[0], text)


def filled_in(value: Any, names: Mapping[str, str]) -> Any:
    """A value with the placeholders of its texts and secrets filled, also in maps, lists and declared blocks."""
    if isinstance(value, str):
        return fill(value, names)
    if isinstance(value, Secret):
        return Secret(fill(value.reveal(), names))
    if isinstance(value, Mapping):
        return {key: filled_in(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(filled_in(item, names) for item in value)
    if isinstance(value, Declared):
        inner = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}  # type: ignore[arg-type]
        return dataclasses.replace(value, **{name: filled_in(item, names) for name, item in inner.items()})  # type: ignore[type-var]
    return value


def placeholders(value: Any) -> Iterator[str]:
    """The names in braces in a text, or in the texts of a map or a list."""
    if isinstance(value, str):
        yield from _PLACEHOLDER.findall(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from placeholders(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from placeholders(item)


def added_options(preset: type, base: type) -> tuple[str, ...]:
    """The options that a preset adds to those of what it is a preset of: they are its placeholders."""
    known = {one.name for one in dataclasses.fields(base)}
    return tuple(one.name for one in dataclasses.fields(preset) if one.name not in known)
