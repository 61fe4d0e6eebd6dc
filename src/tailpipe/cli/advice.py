"""Advice for authors of tables about rows and values that do not fit."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from tailpipe.cli import render
from tailpipe.cli.time_layout import layouts_of
from tailpipe.collect.events import DatedNames
from tailpipe.config.printer import literal, print_expression
from tailpipe.model.nearest import did_you_mean, listed

_NOT_A_TIME = re.compile(r'"(?P<field>.+?)" is not a time: (?P<text>.*)', re.DOTALL)
_NO_TIME = re.compile(r'"(?P<field>.+)" has no time')
_WIDTH = re.compile(r"has (?P<values>\d+) values? for (?P<fields>\d+) fields?")
_ANY_LAYOUT = "%d %b %Y %H:%M:%S"


def about_time(reasons: Iterable[str]) -> str:
    """How to read the first time that is not ISO 8601; empty if no row was rejected for one."""
    for reason in reasons:
        if found := _NOT_A_TIME.fullmatch(reason):
            layout, *others = layouts_of(found["text"].strip()) or [""]
            own = "" if layout else " with your layout"
            written = f"transform = \"strptime({_name(found['field'])}, '{layout or _ANY_LAYOUT}')\""
            more = "".join(f", or '{other}'" for other in others)
            return f"to read a time that is not ISO 8601, use a transform instead of source{own}: {written}{more}"
    return ""


def about_field(reasons: Iterable[str], fields: Collection[str]) -> str:
    """Which field was meant by one that has no time because no row has it; empty if there is none such."""
    for reason in reasons:
        found = _NO_TIME.fullmatch(reason)
        if found is None or found["field"] in fields:
            continue
        field = found["field"]
        first, dot, rest = field.partition(".")
        if dot and first in fields:
            path = f"'{rest}'" if "." not in rest else f"'$.{rest}'"
            hint = f'to read a nested field, use a transform: transform = "{_name(first)}->>{path}"'
        else:
            hint = did_you_mean(field, fields, f"available fields: {listed(fields, 8)}")
        return f'no row has a field "{field}"; {hint}'
    return ""


def about_width(reasons: Iterable[str]) -> str:
    """What to set if lines have another number of values than the format has fields; empty if none has."""
    for reason in reasons:
        if found := _WIDTH.fullmatch(reason):
            have = f"the format has {found['fields']} fields and the log {found['values']}"
            return f"{have}; choose another format, or define one that names the fields of the log in order"
    return ""


def about_layout(reasons: Collection[str]) -> str:
    """How to find the part of a layout that does not match; empty if a row was rejected for anything else."""
    from tailpipe.formats.regex_parser import NO_MATCH  # late: it brings Arrow, and most runs need no advice

    if reasons and all(reason == NO_MATCH for reason in reasons):
        return "to find the part that does not match, shorten the layout until `tailpipe format test` prints fields"
    return ""


def type_errors(nulls: Mapping[str, int]) -> list[str]:
    """For each column, how many values did not fit its type."""
    counts = {column: render.counted(count, "value") for column, count in nulls.items()}
    return [f"column {column}: {many} of the wrong type set to null" for column, many in counts.items()]


def dated_names(found: DatedNames) -> list[str]:
    """That files have a date in their names, and the layout that takes it."""
    files = f"{found.dated:,} of {render.counted(found.files, 'undated file')}"
    verb = "has" if found.dated == 1 else "have"
    return [
        f"source {found.source}: {files} {verb} a date in the path; to collect them by day, add to the source:",
        f"  file_layout = {print_expression(literal(found.file_layout))}",
    ]


def empty_columns(columns: Mapping[str, str]) -> list[str]:
    """For each column that is null in every row, which field the config names for it."""
    return [f'column {name} is null in every row: field "{field}" has no values' for name, field in columns.items()]


def _name(field: str) -> str:
    """A field as SQL names it inside a text of the config."""
    from tailpipe.sql.duck import blank, reserved_words  # late: it brings DuckDB, and most runs need no advice

    with blank() as connection:
        is_plain = re.fullmatch(r"[A-Za-z_]\w*", field) and field.lower() not in reserved_words(connection)
    return field if is_plain else f'\\"{field}\\"'
