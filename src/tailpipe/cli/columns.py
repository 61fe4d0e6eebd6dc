"""Which columns a narrow terminal shows of `SELECT *`: the time first, and none that says nothing or little."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tailpipe.frozen import frozen
from tailpipe.query.stars import Starred

_TIME = "tp_timestamp"
_COMMON = "tp_"


@frozen
class Picked:
    """The places of the columns to show, in order, and how many were left out for which reason."""

    places: list[int]
    empty: int = 0
    common: int = 0
    times: int = 0


def pick_columns(names: Sequence[str], nulls: Sequence[Container[int]], starred: Starred) -> Picked:
    """Pick from an answer of which not all columns fit. `nulls` are the places of the nulls in each row.

    Only columns that come from a star are moved or left out: those without a value, the common `tp_` columns, and
    those that the time was made from.
    """
    time = next((x for x in sorted(starred.places) if names[x].lower() == _TIME), None)
    empty = {x for x in starred.places if nulls and all(x in row for row in nulls)} - {time}
    common = {x for x in starred.places if names[x].lower().startswith(_COMMON)} - empty - {time}
    times = set(starred.times if time is not None else ()) - empty - common
    shown = [x for x in range(len(names)) if x not in empty | common | times and x != time]
    if time is not None:  # the first of what the star gives
        shown.insert(sum(x < min(starred.places) for x in shown), time)
    return Picked(shown, len(empty), len(common), len(times))
