"""The nearest name: what someone who misspelt one has most likely meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

from tailpipe.errors import UsageError

T = TypeVar("T")

_CANDIDATES = 1000
_LENGTH = 100


def nearest(word: str, known: Iterable[Any]) -> str | None:
    """The known name that is most like the word, whatever the case, if any is like it."""
    from difflib import get_close_matches  # only needed on the way to an error

    by_lower = {str(name).lower(): str(name) for name in islice(known, _CANDIDATES)}
    near = get_close_matches(word[:_LENGTH].lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def listed(names: Iterable[Any], most: int) -> str:
    """The first names with commas between, and `…` if there are more."""
    known = [str(name) for name in names]
    return ", ".join(known[:most]) + (" …" if len(known) > most else "")


def did_you_mean(word: str, known: Iterable[Any], otherwise: str = "") -> str:
    """The hint that names the nearest name, or `otherwise` if none is near.

    Of the names, one that begins with the word is preferred: `role` means `role_arn` rather than `profile`.
    """
    names = [str(name) for name in islice(known, _CANDIDATES)]
    near = nearest(word, names)
    if near is not None:
        begun = (name for name in names if name.lower().startswith(word.lower()))
        near = min(begun, key=len, default=near)
    return f'did you mean "{near}"?' if near is not None else otherwise


def named(kind: str, name: str, known: Mapping[str, T]) -> T:
    """What is known by that name, or a `UsageError` with those that share a part of it, or the nearest name."""
    if name not in known:
        parts = set(name.split(".")) - {"default"}
        related = [one for one in known if parts & set(one.split("."))]
        shown = f"there {'is' if len(related) == 1 else 'are'}: " + ", ".join(related[:5])
        otherwise = f"see: tailpipe {kind} list"
        # A type without a default is no misspelling of the default of another type.
        meant = otherwise if name.endswith(".default") else did_you_mean(name, known, otherwise)
        raise UsageError(f"{kind} not found: {name}", hint=shown if related else meant)
    return known[name]
