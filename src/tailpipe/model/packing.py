"""Packing: put things together in their order, as long as they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def fill(
    items: Iterable[T],
    size: Callable[[T], float],
    limit: float,
    *,
    counts: Iterator[int] | None = None,
    fraction: float = 1.0,
) -> list[list[T]]:
    """Bins of items that follow each other; a bin is closed when the next item does not fit.

    An item fits if this `fraction` of it lies within the `limit`: with 1 a bin never exceeds it, with 0.5 bins come as
    close to it as they can, above or below. A bin that holds nothing but items without a size takes any item.
    `counts` gives how many items each bin may hold at most.
    """
    bins: list[list[T]] = []
    filled, room = 0.0, 0
    for item in items:
        weight = size(item)
        is_full = counts is not None and room < 1
        if not bins or is_full or (filled and filled + weight * fraction > limit):
            bins.append([])
            filled, room = 0.0, next(counts) if counts is not None else 0
        bins[-1].append(item)
        filled += weight
        room -= 1
    return bins
