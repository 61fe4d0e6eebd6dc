"""Column types: their names in config and in DuckDB."""

from __future__ import annotations

import re

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean


def stored_type(kind: str, words: str = "INET|INTERVAL|JSON|UUID") -> str:
    """A DuckDB type as parquet files have it: text for what only DuckDB knows; names of fields stay."""
    return re.sub(rf'"(?:[^"]|"")*"|\b({words})\b(?=[,)\[]|$)', lambda found: "VARCHAR" if found[1] else found[0], kind)


@frozen
class ScalarType:
    """A type without parts. `stored` is its DuckDB type in the parquet files.

    uuid, inet, json and interval are stored as text, which every reader of parquet understands; the
    views cast them back to `duckdb`.
    """

    name: str
    stored: str
    aliases: tuple[str, ...] = ()

    @property
    def duckdb(self) -> str:
        """The type as DuckDB writes it."""
        return self.name.upper()

    def __str__(self) -> str:
        return self.name


class _Composed:
    """A type with parts, which writes itself in several forms."""

    @property
    def name(self) -> str:
        """The type as config writes it."""
        return self._written("name")

    @property
    def duckdb(self) -> str:
        """The type as DuckDB writes it."""
        return self._written("duckdb")

    @property
    def stored(self) -> str:
        """The DuckDB type in the parquet files."""
        return self._written("stored")

    def _written(self, form: str) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name


@frozen
class DecimalType(_Composed):
    """A number with `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def _written(self, form: str) -> str:
        return f"{'decimal' if form == 'name' else 'DECIMAL'}({self.precision},{self.scale})"


@frozen
class ListType(_Composed):
    """A list of values of one type."""

    element: ColumnType

    def _written(self, form: str) -> str:
        return f"{getattr(self.element, form)}[]"


@frozen
class StructType(_Composed):
    """Named fields, in order."""

    fields: tuple[tuple[str, ColumnType], ...]

    def _written(self, form: str) -> str:
        fields = []
        for key, kind in self.fields:
            # DuckDB gets every name in quotes, because any word may be a keyword there.
            is_bare = form == "name" and _WORD.fullmatch(key)
            name = key if is_bare else '"' + key.replace('"', '""') + '"'
            fields.append(f"{name} {getattr(kind, form)}")
        return f"{'struct' if form == 'name' else 'STRUCT'}({', '.join(fields)})"


ColumnType = ScalarType | DecimalType | ListType | StructType

SCALARS: tuple[ScalarType, ...] = (
    ScalarType("boolean", "BOOLEAN", ("bool",)),
    ScalarType("tinyint", "TINYINT"),
    ScalarType("smallint", "SMALLINT"),
    ScalarType("integer", "INTEGER", ("int",)),
    ScalarType("bigint", "BIGINT"),
    ScalarType("utinyint", "UTINYINT"),
    ScalarType("usmallint", "USMALLINT"),
    ScalarType("uinteger", "UINTEGER"),
    ScalarType("ubigint", "UBIGINT"),
    ScalarType("float", "FLOAT"),
    ScalarType("double", "DOUBLE"),
    ScalarType("varchar", "VARCHAR", ("string", "text")),
    ScalarType("blob", "BLOB"),
    ScalarType("date", "DATE"),
    ScalarType("timestamp", "TIMESTAMP", ("datetime",)),
    ScalarType("time", "TIME"),
    ScalarType("interval", "VARCHAR"),
    ScalarType("uuid", "VARCHAR"),
    ScalarType("json", "VARCHAR"),
    ScalarType("inet", "VARCHAR", ("cidr",)),
)

_BY_NAME = {name: scalar for scalar in SCALARS for name in (scalar.name, *scalar.aliases)}
_TOKEN = re.compile(r'\s*(?:("(?:[^"]|"")*")|(\w+)|(\[\s*\])|([(),]))')
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEPTH_LIMIT = 32
_TOO_DEEP = f"it is nested deeper than {_DEPTH_LIMIT} levels"
_HINT = f"the types are: {', '.join(scalar.name for scalar in SCALARS)}, decimal(p,s), T[], struct(name T, …)"


def parse_type(text: str) -> ColumnType:
    """Read a type as config or a plugin writes it: `int`, `decimal(18,3)`, `struct(a varchar, b json[])[]`."""
    parser = _Parser(text)
    kind, _ = parser.kind(0)
    if rest := parser.tokens[-1]:
        raise parser.fail(f'unexpected "{rest}"')
    return kind


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        """The last is the next one; the first is the end."""
        position, stripped = 0, text.rstrip()
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise self.fail(f'"{stripped[position:].strip()[:20]}" is not part of a type')
            self.tokens.append("[]" if match[3] else match[0].strip())
            position = match.end()
        self.tokens = ["", *reversed(self.tokens)]

    def fail(self, why: str) -> UsageError:
        return UsageError(f'"{self.text[:80]}" is not a type: {why}', hint=_HINT)

    def take(self, expected: str = "") -> str:
        token = self.tokens[-1]
        if not token:
            raise self.fail(f'it ends where "{expected}" is expected' if expected else "it ends too early")
        if expected and token != expected:
            raise self.fail(f'"{expected}" is expected before "{token}"')
        return self.tokens.pop()

    def kind(self, depth: int) -> tuple[ColumnType, int]:
        """The type that begins here, and how many levels it has below itself."""
        if depth > _DEPTH_LIMIT:
            raise self.fail(_TOO_DEEP)
        word = self.take().lower()
        kind: ColumnType
        height = 0
        if word == "struct":
            kind, height = self.struct(depth)
        elif word in ("decimal", "numeric"):
            kind = self.decimal()
        elif word in _BY_NAME:
            kind = _BY_NAME[word]
        else:
            where = "" if word == self.text.strip().lower() else f' in "{self.text[:80]}"'
            hint = did_you_mean(word, [*_BY_NAME, "decimal", "struct"], _HINT)
            raise UsageError(f'there is no type "{word}"{where}', hint=hint)
        while self.tokens[-1] == "[]":
            self.take()
            height += 1
            if depth + height > _DEPTH_LIMIT:
                raise self.fail(_TOO_DEEP)
            kind = ListType(kind)
        return kind, height

    def struct(self, depth: int) -> tuple[StructType, int]:
        self.take("(")
        height = 0
        fields: dict[str, ColumnType] = {}
        taken: set[str] = set()
        while True:
            name = self.take()
            if name.startswith('"'):
                name = name[1:-1].replace('""', '"')
                if not name or "\0" in name:
                    raise self.fail("a field's name cannot be empty or hold a NUL")
            elif not _WORD.fullmatch(name):
                raise self.fail(f'"{name}" cannot name a field')
            if name.lower() in taken:  # DuckDB ignores case
                raise self.fail(f'the field "{name}" is duplicated')
            taken.add(name.lower())
            fields[name], below = self.kind(depth + 1)
            height = max(height, 1 + below)
            if self.tokens[-1] != ",":
                self.take(")")
                return StructType(tuple(fields.items())), height
            self.take()

    def decimal(self) -> DecimalType:
        if self.tokens[-1] != "(":
            return DecimalType(18, 3)
        self.take("(")
        precision, scale = self.number(), 0
        if self.tokens[-1] == ",":
            self.take()
            scale = self.number()
        self.take(")")
        if not 1 <= precision <= 38 or scale > precision:
            raise self.fail("a decimal has 1 to 38 digits, and no more behind the point than in all")
        return DecimalType(precision, scale)

    def number(self) -> int:
        token = self.take()
        if not (token.isascii() and token.isdigit() and len(token) <= 3):
            raise self.fail(f'"{token}" is not a number of digits')
        return int(token)
