"""Messages of containers, in DuckDB. The parts of a message are the lines of its text.

`time` is that of the first part. `is_partial` says that the last part of a message is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailpipe.formats.mapped_parser import MappedParser
from tailpipe.formats.pattern_reader import parse_pattern
from tailpipe.formats.regex_parser import RegexParser
from tailpipe.frozen import frozen
from tailpipe.plugin import LineParser, Lines, Parsed
from tailpipe.plugin.arrow import line_table
from tailpipe.plugin.sql import literal

_CRI = r"^(?P<time>[0-9]{4}-\S+) (?P<stream>stdout|stderr) (?P<tag>[PF](?::\S*)?)(?: (?P<message>(?s:.*)))?$"
_NEXT_PART = r"\n\S+ (?:stdout|stderr) [PF]\S* ?"
_FULL = r"(?:^|\n)\S+ (?:stdout|stderr) F[^\n]*$"


def cri_parser() -> LineParser:
    """A parser of lines `TIME STREAM TAG MESSAGE`, where the tag is P for a part and F for the last, or only, one."""
    whole = "coalesce(message, '')"
    joined = f"regexp_replace({whole}, {literal(_NEXT_PART)}, '', 'g')"
    values = {
        "time": ("VARCHAR", "time"),
        "stream": ("VARCHAR", "stream"),
        "is_partial": ("BOOLEAN", f"NOT regexp_matches(_raw, {literal(_FULL)})"),
        "message": ("VARCHAR", rf"CASE WHEN contains(_raw, chr(10)) THEN {joined} ELSE {whole} END"),
    }
    return MappedParser(RegexParser(parse_pattern(_CRI), is_dotall=True), values)


_PARTS = "string_split(_line, chr(10))"
_TEXT = "list_transform(parts, lambda part: json_extract_string(part, '$.log'))"
_DOCKER: Mapping[str, tuple[str, str]] = {
    "time": ("VARCHAR", "json_extract_string(parts[1], '$.time')"),
    "stream": ("VARCHAR", "json_extract_string(parts[1], '$.stream')"),
    "is_partial": ("BOOLEAN", "NOT ends_with(text, chr(10))"),
    "message": ("VARCHAR", "CASE WHEN ends_with(text, chr(10)) THEN text[:-2] ELSE text END"),
    "attrs": ("VARCHAR", "json_extract(parts[1], '$.attrs')::VARCHAR"),
}


@frozen
class DockerParser:
    """Reads JSON objects with a text `log`."""

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """One row to a message; one of whose parts any is no such object is bad."""
        table = line_table(runs)
        is_object = "json_valid(part) AND json_type(TRY(part::JSON), '$.log') = 'VARCHAR'"
        is_good = f"list_bool_and(list_transform({_PARTS}, lambda part: coalesce({is_object}, false)))"
        rows = f"SELECT *, CASE WHEN {is_good} THEN {_PARTS} END AS parts FROM docker_lines"
        rows = f"SELECT *, array_to_string({_TEXT}, '') AS text FROM ({rows})"
        bad = "CASE WHEN parts IS NULL THEN 'is no JSON object with a text \"log\"' END AS _bad"
        columns = ", ".join(f"{sql} AS {name}" for name, (_, sql) in _DOCKER.items())
        sql = f"SELECT _artifact, _ordinal, {bad}, _line AS _raw, {columns} FROM ({rows})"
        kinds = {name: kind for name, (kind, _) in _DOCKER.items()}
        return Parsed(sql, {"docker_lines": table}, kinds, table.num_rows)
