"""Packing: bins of things that follow each other."""

from __future__ import annotations

from itertools import chain, pairwise, repeat

from hypothesis import given
from hypothesis import strategies as st

from tailpipe.model.packing import fill

SIZES = st.lists(st.integers(0, 30), max_size=40)


def own(size: int) -> int:
    return size


@given(SIZES, st.integers(1, 40))
def test_all_items_are_there_in_their_order_and_a_bin_exceeds_the_limit_only_for_a_single_item(
    sizes: list[int], limit: int
) -> None:
    bins = fill(sizes, own, limit)
    assert [size for one in bins for size in one] == sizes
    assert all(one for one in bins)
    assert all(sum(one) <= limit or len([size for size in one if size]) == 1 for one in bins)


@given(SIZES, st.integers(1, 40))
def test_no_bin_could_have_taken_the_item_after_it(sizes: list[int], limit: int) -> None:
    bins = fill(sizes, own, limit)
    assert all(sum(one) + following[0] > limit for one, following in pairwise(bins))


def test_a_fraction_lets_bins_come_close_to_the_limit_from_both_sides() -> None:
    assert fill([6, 6, 6, 6], own, 10) == [[6], [6], [6], [6]]
    assert fill([6, 6, 6, 6], own, 10, fraction=0.5) == [[6, 6], [6, 6]]


def test_items_without_a_size_fit_where_there_is_room() -> None:
    assert fill([0] * 5, own, 1) == [[0] * 5]
    assert fill([0, 50, 0, 1], own, 10) == [[0, 50], [0, 1]]


def test_bins_hold_as_many_items_as_they_may() -> None:
    bins = fill([1] * 12, own, 100, counts=chain([1, 4], repeat(5)))
    assert [len(one) for one in bins] == [1, 4, 5, 2]
    assert fill([], own, 1, counts=repeat(1)) == []
