"""The names that a config may use, by what they may hold: led by the declarations, like the decoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from tailpipe.frozen import frozen
from tailpipe.model.option import Declared, Option, options_of

_LONG = 5
"""Shorter names are part of many words."""


@frozen
class Vocabulary:
    """The names of secrets, of other arguments and labels, and of blocks."""

    secrets: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    """The secrets that are maps or lists."""
    guarded: frozenset[str] = frozenset()
    """The blocks that hold secrets."""

    def holds_secret(self, word: str) -> bool:
        """Whether the name of a secret is part of the word, as in one that was joined with another by mistake."""
        return any(name in word for name in self.secrets if len(name) >= _LONG)


def vocabulary_of(types: Iterable[type], blocks: Iterable[str]) -> Vocabulary:
    """The names that these classes declare, and the blocks inside them; one that is a secret in any is a secret."""
    options = [option for declared in types for option in _options(declared)]
    secrets = frozenset(option.name for option in options if option.is_secret)
    return Vocabulary(
        secrets=secrets,
        plain=frozenset(option.name for option in options if option.kind != "block") - secrets | {"for_each"},
        blocks=frozenset([*blocks, *(option.block for option in options if option.kind == "block")]),
        nested=frozenset(option.name for option in options if option.is_secret and _is_nested(option.annotation)),
        guarded=frozenset(option.block for option in options if any(one.is_secret for one in _inner(option))),
    )


def _options(declared: type) -> Iterator[Option]:
    for option in options_of(declared).values():
        yield option
        yield from _inner(option)


def _inner(option: Option) -> Iterator[Option]:
    """The options of a nested block."""
    for inner in (option.annotation, *get_args(option.annotation)) if option.kind == "block" else ():
        if isinstance(inner, type) and issubclass(inner, Declared):
            yield from _options(inner)


def _is_nested(annotation: Any) -> bool:
    kinds = (get_origin(annotation), *map(get_origin, get_args(annotation)))
    return any(kind in (Mapping, Sequence, dict, list, tuple) for kind in kinds)
