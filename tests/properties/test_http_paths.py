"""Paths of the HTTP source: what is placed at a path is found there, and nothing else changes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.plugins.http.records import lookup, placed

KEYS = st.sampled_from(["a", "b", "a.b", "b.a", "0", "a.", ".a"])
BODIES = st.recursive(
    st.none() | st.integers() | st.text(max_size=2),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
)


@given(
    body=st.dictionaries(KEYS, BODIES, max_size=3),
    path=st.lists(KEYS | st.just("-1"), min_size=1, max_size=4).map(".".join),
)
def test_what_is_placed_is_found_and_nothing_else_changes(body: dict[str, Any], path: str) -> None:
    item = "the token"
    try:
        found = placed(body, path, item)
    except UsageError:
        return
    assert lookup(found, path) == item
    before = lookup(body, path)
    if isinstance(before, dict | list):
        assert placed(found, path, before) == body
    else:
        assert len(_leaves(found) - _leaves(body)) == 1
        assert len(_leaves(body) - _leaves(found)) <= 1


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    """The paths of all values that hold no others, with these values."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [_leaves(one, (*path, key)) for key, one in pairs]
    return set().union(*inner) if inner else {(*path, repr(value))}
