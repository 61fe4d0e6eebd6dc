"""A format that is chosen for each artifact by the first character of its text: `{` for JSON, `#` for a header."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tailpipe.formats.options import check_character
from tailpipe.frozen import frozen
from tailpipe.plugin import Format, ParseContext, Parsed, UsageError, option
from tailpipe.sql.quoting import json_shape, literal, quoted, text_type

if TYPE_CHECKING:
    from tailpipe.plugin import LineParser, Lines

_OWN = ("_artifact", "_ordinal", "_bad", "_raw")


def _check_formats(formats: Mapping[str, Format]) -> None:
    if not formats:
        raise UsageError("expected at least one character with its format")
    for character, format in formats.items():
        if not character:
            raise UsageError("expected a single character")
        check_character(character)
        _check_lines(format)


def _check_lines(format: Format) -> None:
    if format.read_as().noun != "line" or format.event_start is not None:
        hint = "choose among formats of single lines, such as jsonl"
        raise UsageError(f"{format.address} cannot be chosen by the first character", hint=hint)


class FirstByte(Format):
    """Chooses one of several line formats for each artifact by its first character."""

    type = "first_byte"
    is_json = True
    formats: Mapping[str, Format] = option(
        'Format of the artifacts whose text begins with each character: `{ "{" = format.jsonl.default }`.',
        check=_check_formats,
    )
    otherwise: Format = option("Format of all other artifacts.", check=_check_lines)

    @property
    def timezone(self) -> str | None:
        """That of the format for all others."""
        return self.otherwise.timezone

    def parser(self, context: ParseContext) -> LineParser:
        """A parser that has one for each of the formats."""
        # One that reads numbers would give other types than its siblings.
        context = replace(context, numbers=frozenset())
        parsers = {character: format.read_as().parser(context) for character, format in self.formats.items()}
        return _Chosen(context, parsers, self.otherwise.read_as().parser(context))


class _Chosen:
    """Hands the lines of each artifact to the parser of its format."""

    def __init__(self, context: ParseContext, parsers: Mapping[str, LineParser], otherwise: LineParser) -> None:
        self._context = context
        self._parsers = [*parsers.values(), otherwise]
        self._places = {character: place for place, character in enumerate(parsers)}
        self._chosen: dict[int, int] = {}

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of all the lines, as the parser of each artifact gives them."""
        groups: dict[int, list[Lines]] = {}
        for run in runs:
            groups.setdefault(self._place(run), []).append(run)
        parts = []
        for number, (place, group) in enumerate(groups.items()):
            parts.append(_Part(f"part{number}_", self._parsers[place].parse(group)))
        if len(parts) == 1 and not any(part.parsed.records for part in parts):
            return parts[0].parsed
        return self._joined(parts)

    def _place(self, run: Lines) -> int:
        if run.artifact not in self._chosen:
            first = run.head[0] if run.head else run.text[0].as_py()
            self._chosen[run.artifact] = self._places.get(first.lstrip("\ufeff \t")[:1], len(self._parsers) - 1)
        return self._chosen[run.artifact]

    def _joined(self, parts: Sequence[_Part]) -> Parsed:
        wanted = {name: text_type(kind) for name, kind in self._context.fields.items() if not name.endswith("*")}
        fields = {name: kind for part in parts for name, kind in part.parsed.fields.items()} | wanted
        names = dict.fromkeys(name for part in parts for name in part.parsed.misfits)
        misfits = {name: f"_misfit_of_{number}" for number, name in enumerate(names)}
        sql = " UNION ALL ".join(part.sql(fields, misfits, self._context) for part in parts)
        records = " UNION ALL ".join(part.records for part in parts if part.records)
        tables = {f"{part.prefix}{name}": table for part in parts for name, table in part.parsed.tables.items()}
        return Parsed(sql, tables, fields, sum(part.parsed.rows for part in parts), misfits, records)


@frozen
class _Part:
    """The rows of one parser; its tables get names with a prefix."""

    prefix: str
    parsed: Parsed

    def sql(self, fields: Mapping[str, str], misfits: Mapping[str, str], context: ParseContext) -> str:
        """The rows with all the fields of all parts, in one order."""
        items = [*_OWN, *(f"{self._field(name, kind, context)} AS {quoted(name)}" for name, kind in fields.items())]
        items += [f"{self.parsed.misfits.get(name, 'false')} AS {column}" for name, column in misfits.items()]
        return f"SELECT {', '.join(items)} FROM ({self._named(self.parsed.sql)})"

    @property
    def records(self) -> str:
        """The texts of the records, if they are JSON."""
        names = "_artifact, _ordinal, _raw"
        return f"SELECT {names} FROM ({self._named(self.parsed.records)})" if self.parsed.records else ""

    def _named(self, sql: str) -> str:
        own = ", ".join(f"{quoted(name)} AS (FROM {quoted(self.prefix + name)})" for name in self.parsed.tables)
        return f"WITH {own} SELECT * FROM ({sql})"

    def _field(self, name: str, kind: str, context: ParseContext) -> str:
        own = {one.lower(): (one, given) for one, given in self.parsed.fields.items()}.get(name.lower())
        if own is None:
            return f"NULL::{kind}"
        if own[1] == kind:
            return quoted(own[0])
        wanted = context.fields.get(name)
        if kind in ("VARCHAR", "JSON") or wanted is None:
            return f"TRY_CAST({quoted(own[0])} AS {kind})"
        return f"TRY(from_json({quoted(own[0])}, {literal(json.dumps(json_shape(wanted)))}))"
