"""Cells under headings: a table for people, cut to the room that there is."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import zip_longest
from textwrap import wrap

import click

from tailpipe.frozen import frozen
from tailpipe.model.visible import shorten, width

_GAP = 2
_NARROWEST = 12
"""What a column keeps when there is little room, if it has that much to show."""


@frozen
class Grid:
    """The lines of a table, and how many of its columns had room."""

    lines: list[str]
    columns: int


def grid(
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    *,
    room: int | None = None,
    numbers: Container[int] = (),
    whole: Container[int] = (),
    ends: Container[int] = (),
    dim: Container[tuple[int, int]] = (),
    has_header: bool = True,
    is_wrapped: bool = False,
) -> Grid:
    """Lay out cells that are safe to show.

    `room` is the width of a line, None if there is no end to it. `numbers` are the columns whose values
    end below each other, `whole` those whose values say nothing when they are cut, such as times, `ends` those that
    are cut in front, as paths are, `dim` the cells (line, column) that a terminal shows darker. What has no room is
    cut, or goes on in the next line if it `is_wrapped`.
    """
    rows = [headings, *cells] if has_header or not cells else cells
    natural = [max(width(row[x]) for row in rows) for x in range(len(headings))]
    needed = [max((width(row[x]) for row in cells), default=0) if x in whole else 0 for x in range(len(headings))]
    widths = natural if room is None else _fit(natural, needed, room)
    is_cut = len(widths) < len(natural)
    lines = []
    if has_header:
        more = "  …" if is_cut else ""
        names = (_pad(name, size, x in numbers) for x, (name, size) in enumerate(zip(headings, widths, strict=False)))
        lines.append(("  ".join(names) + more).rstrip())
        lines.append("  ".join("─" * size for size in widths) + more)
    if is_wrapped:
        cells = [line for row in cells for line in _wrapped(row, widths)]
    for y, row in enumerate(cells):
        padded = [_pad(row[x], size, x in numbers, x in ends) for x, size in enumerate(widths)]
        if dim:
            padded = [click.style(cell, dim=True) if (y, x) in dim else cell for x, cell in enumerate(padded)]
        lines.append("  ".join(padded).rstrip())
    return Grid(lines, len(widths))


def named_lines(names: Sequence[str], texts: Sequence[str]) -> str:
    """Each text in a line behind its name; one of several lines goes on below its beginning."""
    longest = max(map(width, names), default=0)
    below = "\n" + " " * (longest + 3)
    pairs = [(name, text.replace("\n", below)) for name, text in zip(names, texts, strict=True)]
    return "".join(f"{name}{' ' * (longest - width(name))} = {text}".rstrip() + "\n" for name, text in pairs)


def _fit(natural: Sequence[int], needed: Sequence[int], room: int) -> list[int]:
    """The widths of the columns that have room, the first ones before the others.

    The widest are cut first, all to the same width, but none below what is `needed` of it; only when each is down to
    the narrowest do columns go.
    """
    least = [max(min(size, _NARROWEST), need) for size, need in zip(natural, needed, strict=True)]
    count = len(natural)
    if _total(least) > room:
        while count > 1 and _total(least[:count]) + _GAP + 1 > room:  # and the mark of those that are left out
            count -= 1
    if count < len(natural):
        room -= _GAP + 1
    kept, low, high = natural[:count], 1, max(natural, default=1)
    floor = needed[:count] if _total(least[:count]) <= room else [0] * count

    def cut(most: int) -> list[int]:
        return [max(min(size, most), need) for size, need in zip(kept, floor, strict=True)]

    while low < high:  # the greatest width for all that still fits
        middle = (low + high + 1) // 2
        if _total(cut(middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return cut(low)


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """The row in as many lines as its longest cell needs."""
    parts = [wrap(cell, size, break_on_hyphens=False) or [""] for cell, size in zip(row, widths, strict=False)]
    return [list(line) for line in zip_longest(*parts, fillvalue="")]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _pad(text: str, size: int, is_number: bool, keeps_end: bool = False) -> str:
    cut = shorten(text[::-1], size)[::-1] if keeps_end else shorten(text, size)
    blanks = " " * (size - width(cut))
    return blanks + cut if is_number else cut + blanks
