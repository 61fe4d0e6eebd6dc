"""The years that were assumed for times without one, and what they were taken from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal

from tailpipe.frozen import frozen

YearBasis = Literal["path", "modified", "collected"]
_SPELLED: Mapping[YearBasis, str] = {
    "path": "the date in the path",
    "modified": "the modification time of the file",
    "collected": "the time of collection",
}


@frozen
class AssumedYears:
    """How many rows got each year. The `basis` gives the year of the last row, and the order of rows all others."""

    basis: YearBasis
    rows: Mapping[int, int] = field(default_factory=dict)


def merge_years(assumed: Iterable[AssumedYears]) -> tuple[AssumedYears, ...]:
    """One value for each basis."""
    found: dict[YearBasis, Counter[int]] = {}
    for one in assumed:
        if one.rows:
            found.setdefault(one.basis, Counter()).update(one.rows)
    return tuple(AssumedYears(basis, dict(sorted(rows.items()))) for basis, rows in found.items())


def assumed_years_text(assumed: Iterable[AssumedYears]) -> list[str]:
    """Which years were assumed for how many rows, what they were taken from, and how to set them."""
    lines = []
    for one in assumed:
        years = ", ".join(f"{year} for {count:,} row{'s' * (count != 1)}" for year, count in one.rows.items())
        order = " and the order of rows" if len(one.rows) > 1 else ""
        lines.append(f"times have no year: assumed {years}, from {_SPELLED[one.basis]}{order}")
    if lines:
        lines.append(
            "to set the year: a file_layout with a date, or the modification time of the files (touch -d DATE)"
        )
    return lines
