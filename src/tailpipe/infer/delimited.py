"""Delimited text: which character is between values, and whether the first line names them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence

from tailpipe.formats.delimited import Delimited
from tailpipe.frozen import frozen
from tailpipe.infer.free_text import LEVELS
from tailpipe.infer.plausible import is_address
from tailpipe.infer.point import Point, guessed, sure
from tailpipe.infer.time_layouts import LAYOUTS

_DELIMITERS = {"\t": r"\t", ",": ",", ";": ";", "|": "|"}
_SAME = 0.95
_BLANKS = 5
"""Values between blanks are no sentences from so many on."""
_LOOKED_AT = 200
_FIELD_NAME = re.compile(r"#?\s*[A-Za-z_@][\w .()/#%:@-]{0,59}")
_VALUE_LIKE = re.compile(
    r"\d+(\.\d+)*|.*\d{5,}.*|\S+@\S+\.\S+|[0-9a-fA-F-]{16,}|.*[a-z]{3,}\d+[A-Z].*|(true|false|null|-)", re.IGNORECASE
)
_LEVEL = re.compile(rf"\s*(?i:{LEVELS})\s*")
_TIMES = [layout.strict for layout in LAYOUTS if layout.kind != "no date"]
_PREAMBLE = 10
"""So many lines may be before the names of the columns."""


@frozen
class Separated:
    """A delimited format, and what is to say of it."""

    format: Delimited
    points: tuple[Point, ...]
    cells: tuple[str, ...]
    """The values of the last line."""


def separated(lines: Sequence[str], encoding: str) -> Separated | None:
    """The delimited format of lines that all have the same number of values, or None."""
    comment = "#" if sum(line.startswith("#") for line in lines[:20]) > 1 else None
    given = [line for line in lines if comment is None or not line.startswith("#")][:_LOOKED_AT]
    if not given:
        return None
    widths = [(_width(given, character), character) for character in _DELIMITERS]
    count, character = max(widths, key=lambda one: one[0])
    if count:
        skipped = _preamble(given, count, character)
        rows = given[skipped:]
        if _is_meant(rows, count, character):
            return _format(rows, character, _DELIMITERS[character], count, encoding, comment, skipped)
    blanks = [re.sub(r"\s+", " ", line.strip()) for line in given]
    count = _width(blanks, " ")
    time = max((match[0] for one in _TIMES if (match := one.search(blanks[0][:60]))), key=len, default="")
    if count >= _BLANKS and " " not in time:
        is_run = any("  " in line or "\t" in line for line in given)
        return _format(blanks, " ", r"\s+" if is_run else " ", count, encoding, comment, 0)
    return None


def _preamble(lines: Sequence[str], count: int, character: str) -> int:
    """How many lines are before the line that names the columns."""
    first = next((n for n, line in enumerate(lines[:_PREAMBLE]) if len(_cells(line, character)) == count), 0)
    return first if first and len(lines) > first + 1 and _is_header(_cells(lines[first], character)) else 0


def _is_meant(lines: Sequence[str], count: int, character: str) -> bool:
    """Whether the character separates values, and does not just occur in sentences."""
    if _is_header(_cells(lines[0], character)):
        return len(lines) > 1
    cells = [cell for line in lines for cell in _cells(line, character)]
    sentences = sum(1 for cell in cells if cell.strip().count(" ") > 2)
    return count > 2 and sentences < 0.34 * len(cells)


def _width(lines: Sequence[str], character: str) -> int:
    """How many values nearly all lines have, but for some before the first; 0 if they differ or there is one."""
    widths = [len(_cells(line, character)) for line in lines]
    ((count, times),) = Counter(widths).most_common(1)
    rows = len(widths) - (first if (first := widths.index(count)) <= _PREAMBLE else 0)
    return count if count > 1 and times >= _SAME * rows else 0


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
    lines: Sequence[str],
    character: str,
    delimiter: str,
    count: int,
    encoding: str,
    comment: str | None,
    skipped: int,
) -> Separated:
    has_header = _is_header(_cells(lines[0], character))
    rows = [cells for line in lines[1:] if len(cells := _cells(line, character)) == count]
    points = [sure(f"{count} values in a line, with {_shown(character)} between them")]
    fields: list[str] = []
    if has_header:
        is_other = any(not _FIELD_NAME.fullmatch(cell) for row in rows for cell in row if cell)
        where = f"line {skipped + 1}" if skipped else "the first line"
        statement = f"{where} names the columns"
        points.append(sure(statement) if is_other else guessed(f"{statement}; if it is a row, set header = false"))
    else:
        fields = _named([_cells(line, character) for line in lines], count)
        points.append(guessed(f"no line names the columns: they are {', '.join(fields[:6])}{', …' * (count > 6)}"))
    format = Delimited(
        name="delimited",
        delimiter=delimiter,
        header=has_header,
        fields=fields,
        comment=comment,
        skip_lines=skipped,
        encoding=encoding,  # type: ignore[arg-type]
    )
    return Separated(format, tuple(points), tuple(cell.strip() for cell in _cells(lines[-1], character)))


def _named(rows: Sequence[Sequence[str]], count: int) -> list[str]:
    """Names for columns without a header, by what they hold; `column_3` if that says nothing."""
    columns = [[row[place] for row in rows if len(row) == count and row[place].strip()] for place in range(count)]
    found: list[str] = []
    for place, values in enumerate(columns):
        name = f"column_{place + 1}"
        if values and all(any(time.fullmatch(value.strip()) for time in _TIMES) for value in values):
            name = "time"
        elif values and all(map(_LEVEL.fullmatch, values)):
            name = "level"
        elif values and all(is_address(value.strip()) for value in values):
            name = "ip"
        found.append(name if name not in found else f"column_{place + 1}")
    texts = [
        (sum(map(len, columns[place])) / len(columns[place]), place)
        for place, name in enumerate(found)
        if name.startswith("column_") and any(" " in one.strip() and one[:1] not in "{[" for one in columns[place])
    ]
    if texts:
        found[max(texts)[1]] = "message"
    return found


def _shown(character: str) -> str:
    return {"\t": "a tab", " ": "blanks"}.get(character, f'"{character}"')
