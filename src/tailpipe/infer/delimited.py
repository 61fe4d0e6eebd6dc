"""Delimited text: which character is between values, and whether the first line names them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence

from tailpipe.formats.delimited import Delimited
from tailpipe.frozen import frozen
from tailpipe.infer.point import Point, guessed, sure
from tailpipe.infer.times import TIMES_IN_TEXT

_DELIMITERS = {"\t": r"\t", ",": ",", ";": ";", "|": "|"}
_SAME = 0.95
_BLANKS = 5
"""Values between blanks are no sentences from so many on."""
_LOOKED_AT = 200
_FIELD_NAME = re.compile(r"#?\s*[A-Za-z_@][\w .()/#%:@-]{0,59}")
_VALUE_LIKE = re.compile(
    r"\d+(\.\d+)*|.*\d{5,}.*|\S+@\S+\.\S+|[0-9a-fA-F-]{16,}|.*[a-z]{3,}\d+[A-Z].*|(true|false|null|-)", re.IGNORECASE
)
_TIME = re.compile("|".join(TIMES_IN_TEXT))


@frozen
class Separated:
    """A delimited format, and what is to say of it."""

    format: Delimited
    points: tuple[Point, ...]


def separated(lines: Sequence[str], encoding: str) -> Separated | None:
    """The delimited format of lines that all have the same number of values, or None."""
    comment = "#" if sum(line.startswith("#") for line in lines[:20]) > 1 else None
    given = [line for line in lines if comment is None or not line.startswith("#")][:_LOOKED_AT]
    if not given:
        return None
    best: tuple[int, str] | None = None
    for character in _DELIMITERS:
        count = _width(given, character)
        if count and (best is None or count > best[0]):
            best = count, character
    if best is not None and _is_meant(given, *best):
        return _format(given, best[1], _DELIMITERS[best[1]], best[0], encoding, comment)
    blanks = [re.sub(r"\s+", " ", line.strip()) for line in given]
    count = _width(blanks, " ")
    time = _TIME.match(blanks[0][:40])
    if count and count >= _BLANKS and (time is None or " " not in time[0]):
        is_run = any("  " in line or "\t" in line for line in given)
        return _format(blanks, " ", r"\s+" if is_run else " ", count, encoding, comment)
    return None


def _is_meant(lines: Sequence[str], count: int, character: str) -> bool:
    """Whether the character separates values, and does not just occur in sentences."""
    if _is_header(_cells(lines[0], character)):
        return len(lines) > 1
    cells = [cell for line in lines for cell in _cells(line, character)]
    sentences = sum(1 for cell in cells if cell.strip().count(" ") > 2)
    return count > 2 and sentences < 0.34 * len(cells)


def _width(lines: Sequence[str], character: str) -> int:
    """How many values nearly all lines have; 0 if they differ or there is one."""
    counts = Counter(len(_cells(line, character)) for line in lines)
    count, times = counts.most_common(1)[0]
    return count if count > 1 and times >= _SAME * len(lines) else 0


def _cells(line: str, character: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=character), [])
    except csv.Error:
        return []


def _is_header(cells: Sequence[str]) -> bool:
    """Whether cells are names: no numbers, addresses or keys, and each there once."""
    names = [cell.strip().lower() for cell in cells]
    is_unique = len(set(names)) == len(names)
    return is_unique and all(_FIELD_NAME.fullmatch(name) and not _VALUE_LIKE.fullmatch(name) for name in names)


def _format(
    lines: Sequence[str], character: str, delimiter: str, count: int, encoding: str, comment: str | None
) -> Separated:
    has_header = _is_header(_cells(lines[0], character))
    rows = [cells for line in lines[1:] if len(cells := _cells(line, character)) == count]
    points = [sure(f"{count} values in a line, with {_shown(character)} between them")]
    if has_header:
        is_other = any(not _FIELD_NAME.fullmatch(cell) for row in rows for cell in row if cell)
        statement = "the first line names the columns"
        points.append(sure(statement) if is_other else guessed(f"{statement}; if it is a row, set header = false"))
    else:
        points.append(guessed("no line names the columns: they are column_1, column_2 and so on"))
    format = Delimited(
        name="delimited",
        delimiter=delimiter,
        header=has_header,
        comment=comment,
        encoding=encoding,  # type: ignore[arg-type]
    )
    return Separated(format, tuple(points))


def _shown(character: str) -> str:
    return {"\t": "a tab", " ": "blanks"}.get(character, f'"{character}"')
