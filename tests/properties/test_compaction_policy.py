"""What compaction after each collection costs and leaves behind, for appends of any sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.lifecycle.policy import FEW_FILES, FULL_BYTES, GROWTH, Wanted, groups_to_compact, worth_merging

DAY = date(2024, 3, 10)
FOOTER_BYTES = 4_000
"""What each file has besides its rows; so a merged file is smaller than its parts."""

any_size = st.floats(0, math.log(2_000_000)).map(lambda power: round(math.exp(power)))
"""Rows of a file: each order of magnitude as often as any other."""
similar_sizes = st.integers(800, 1200)
appends = st.one_of(st.lists(any_size, max_size=150), st.lists(similar_sizes, max_size=150))
row_bytes = st.sampled_from([10, 60, 400])
AUTOMATIC = Wanted(is_full_pass=False)


@dataclass
class Group:
    """The files of one unit, date and index, merged after each append as after a collection."""

    row_bytes: int
    files: dict[str, LiveFile] = field(default_factory=dict)
    appended: dict[str, list[int]] = field(default_factory=dict)
    """Which appends are in each file."""
    rewrites: list[int] = field(default_factory=list)
    """How often the rows of each append were rewritten."""
    rows: list[int] = field(default_factory=list)
    bytes_appended: int = 0
    bytes_written: int = 0
    factors: list[float] = field(default_factory=list)

    def run(self, sizes: Iterable[int]) -> Group:
        for rows in sizes:
            self.append(rows)
            self.merge()
        return self

    def append(self, rows: int) -> None:
        self.rows.append(rows)
        self.rewrites.append(0)
        self.bytes_appended += self._add(rows, [len(self.rows) - 1])

    def merge(self) -> None:
        for group in groups_to_compact(self.files.values(), AUTOMATIC):
            self.factors.append(group.rows / max(file.rows for file in group.files))
            taken = [number for file in group.files for number in self.appended[file.path]]
            for file in group.files:
                del self.files[file.path]
            for number in taken:
                self.rewrites[number] += 1
            self.bytes_written += self._add(group.rows, taken)

    def _add(self, rows: int, numbers: list[int]) -> int:
        path, size = f"{len(self.appended):06d}", FOOTER_BYTES + rows * self.row_bytes
        self.files[path] = LiveFile(path, "app.x", str(DAY), "default", DAY, rows, size, 0, 1, 1)
        self.appended[path] = numbers
        return size

    @property
    def small(self) -> list[LiveFile]:
        return [file for file in self.files.values() if file.size < FULL_BYTES]


def least_factor(rows: Sequence[int]) -> float:
    """How much files grow at least by a merge that only the number of files made necessary.

    If the best of `FEW_FILES` choices grows by q, each of the files has at least 1/q of its rows and those of all
    smaller ones: so all together have at least (q / (q - 1)) ** FEW_FILES times the rows of the smallest.
    """
    spread = (sum(rows) / min(rows)) ** (1 / FEW_FILES)
    return min(GROWTH, spread / (spread - 1)) if spread > 1 else GROWTH


@given(appends, row_bytes)
def test_there_are_never_more_than_a_few_small_files(sizes: list[int], row_bytes: int) -> None:
    group = Group(row_bytes)
    for rows in sizes:
        group.append(rows)
        group.merge()
        assert len(group.small) <= FEW_FILES


@given(appends, row_bytes)
def test_each_rewrite_of_a_row_multiplies_the_size_of_its_file(sizes: list[int], row_bytes: int) -> None:
    group = Group(row_bytes).run(sizes)
    if not group.factors:
        return
    factor = least_factor(group.rows)
    assert min(group.factors) >= factor * (1 - 1e-9)
    largest = max(file.rows for file in group.files.values())
    for rows, rewrites in zip(group.rows, group.rewrites, strict=True):
        assert rewrites <= math.log(largest / rows, factor) + 1e-6
    assert group.bytes_written <= group.bytes_appended * max(group.rewrites)


@given(st.lists(similar_sizes, min_size=1, max_size=400))
def test_rows_of_similar_appends_are_rewritten_as_often_as_their_number_can_be_halved(sizes: list[int]) -> None:
    group = Group(60).run(sizes)
    assert max(group.rewrites) <= math.log2(len(sizes)) + 1


@given(appends, row_bytes)
def test_a_pass_leaves_nothing_to_a_second_one(sizes: list[int], row_bytes: int) -> None:
    group = Group(row_bytes)
    for rows in sizes:
        group.append(rows)
    group.merge()
    assert groups_to_compact(group.files.values(), AUTOMATIC) == []
    assert len(group.small) <= FEW_FILES


@given(appends, row_bytes, st.randoms(use_true_random=False))
def test_the_smallest_files_are_chosen_in_any_order_and_full_ones_never(
    sizes: list[int], row_bytes: int, chance: object
) -> None:
    group = Group(row_bytes)
    for rows in sizes:
        group.append(rows)
    files = list(group.files.values())
    chosen = worth_merging(files)
    shuffled = files.copy()
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert worth_merging(shuffled) == chosen
    assert all(file.size < FULL_BYTES for file in chosen)
    if chosen:
        left = [file.rows for file in group.small if file not in chosen]
        assert min(left, default=math.inf) >= max(file.rows for file in chosen)
        assert len(chosen) >= (GROWTH if len(group.small) <= FEW_FILES else 2)


def test_a_thousand_equal_appends_are_rewritten_six_times_at_most() -> None:
    group = Group(60).run([1000] * 1000)
    assert (max(group.rewrites), len(group.small)) <= (6, FEW_FILES)
    assert group.bytes_written < 5 * group.bytes_appended
