"""Lines taken apart by a regular expression, in DuckDB.

The pattern is looked for anywhere in the line, unless it says `^` or `$` itself. A group that took no
part in the match gives null if it could not have matched an empty text; where it could, DuckDB does not
distinguish the two and the field is empty. A name of several groups takes the first that is
not empty. The fields of a bad row mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailpipe.formats.pattern import Group, Pattern, least, re2, walk
from tailpipe.frozen import frozen
from tailpipe.plugin import Lines, Parsed
from tailpipe.plugin.arrow import line_table
from tailpipe.plugin.sql import literal, quoted, text_list

NO_MATCH = "does not match the layout"
_EMPTY = ["''"]


@frozen
class RegexParser:
    """Finds the pattern in each line; `is_dotall` lets `.` match line ends too, for events of many lines."""

    pattern: Pattern
    is_dotall: bool = False

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The groups as fields, one row to a line; a line without a match is bad."""
        table = line_table(runs)
        values = [f"m.g{number}" for number in range(len(self.pattern.names))]
        bad = f"CASE WHEN {misses(self.pattern, '_line', self.is_dotall)} THEN {literal(NO_MATCH)} END AS _bad"
        groups = f"SELECT *, {extract(self.pattern, '_line', self.is_dotall)} AS m FROM regex_lines"
        columns = f"_artifact, _ordinal, {bad}, _line AS _raw, {field_columns(self.pattern, values)}"
        sql = f"SELECT {columns} FROM ({groups})"
        return Parsed(sql, {"regex_lines": table}, dict.fromkeys(self.pattern.fields, "VARCHAR"), table.num_rows)


def group_name(number: int) -> str:
    """What a group is called in the struct that `extract` gives."""
    return f"g{number}"


def extract(pattern: Pattern, text: str, is_dotall: bool, end: str | None = None) -> str:
    """SQL for a struct of the groups, `g0` and so on, with the match itself first, as `w`.

    The match may be anywhere, or, if an `end` is given, it begins with the text and ends with that.
    """
    regex = f"({re2(pattern.root)})" if end is None else f"^({re2(pattern.root)}){end}"
    names = ["w", *(f"g{number}" for number in range(len(pattern.names)))]
    options = ", 's'" if is_dotall else ""
    return f"regexp_extract({text}, {literal(regex)}, {text_list(names)}{options})"


def misses(pattern: Pattern, text: str, is_dotall: bool) -> str:
    """SQL that holds where the text has no match; the struct of `extract` is `m`."""
    if least(pattern.root):
        return "m.w = ''"
    # A match of nothing and no match look the same in the struct.
    options = ", 's'" if is_dotall else ""
    return f"NOT regexp_matches({text}, {literal(re2(pattern.root))}{options})"


def field_columns(pattern: Pattern, values: Sequence[str]) -> str:
    """SQL for the fields, given the SQL for the text of each group."""
    columns = []
    groups = [node for node in walk(pattern.root) if isinstance(node, Group) and node.name]
    for field in pattern.fields:
        texts = [value for value, group in zip(values, groups, strict=True) if group.name == field]
        is_never_empty = all(least(group) for group in groups if group.name == field)
        filled = [f"nullif({text}, '')" for text in texts]
        if len(texts) > 1:
            column = f"coalesce({', '.join(filled + ([] if is_never_empty else _EMPTY))})"
        else:
            column = filled[0] if is_never_empty else texts[0]
        columns.append(f"{column} AS {quoted(field)}")
    return ", ".join(columns)
