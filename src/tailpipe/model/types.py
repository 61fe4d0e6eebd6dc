"""Column types: their names in HCL, in DuckDB and in Arrow, in one table."""

from __future__ import annotations

import re

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean

__all__ = ["SCALARS", "ColumnType", "DecimalType", "ListType", "ScalarType", "StructType", "parse_type", "stored_type"]


def stored_type(kind: str, words: str = "INET|INTERVAL|JSON|UUID") -> str:
    """A DuckDB type as parquet files have it: text for what only DuckDB knows, wherever that stands in the type.

    A field of a struct may have such a word as its name, which stays.
    """
    return re.sub(rf'"(?:[^"]|"")*"|\b({words})\b(?=[,)\[]|$)', lambda found: "VARCHAR" if found[1] else found[0], kind)


@frozen
class ScalarType:
    """A type without parts. `stored` is its DuckDB type in the parquet files, `arrow` its Arrow type there.

    uuid, inet, json and interval are stored as text, which every reader of parquet understands; the
    views cast them back to `duckdb`.
    """

    name: str
    duckdb: str
    arrow: str
    stored: str
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


@frozen
class DecimalType:
    """A number with `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    @property
    def name(self) -> str:
        """The type as config writes it."""
        return f"decimal({self.precision},{self.scale})"

    @property
    def duckdb(self) -> str:
        """The type as DuckDB writes it."""
        return f"DECIMAL({self.precision},{self.scale})"

    @property
    def stored(self) -> str:
        """The DuckDB type in the parquet files."""
        return self.duckdb

    @property
    def arrow(self) -> str:
        """The type as Arrow writes it."""
        return f"decimal128({self.precision}, {self.scale})"

    def __str__(self) -> str:
        return self.name


@frozen
class ListType:
    """A list of values of one type."""

    element: ColumnType

    @property
    def name(self) -> str:
        """The type as config writes it."""
        return f"{self.element.name}[]"

    @property
    def duckdb(self) -> str:
        """The type as DuckDB writes it."""
        return f"{self.element.duckdb}[]"

    @property
    def stored(self) -> str:
        """The DuckDB type in the parquet files."""
        return f"{self.element.stored}[]"

    @property
    def arrow(self) -> str:
        """The type as Arrow writes it."""
        return f"list<item: {self.element.arrow}>"

    def __str__(self) -> str:
        return self.name


@frozen
class StructType:
    """Named fields, in order."""

    fields: tuple[tuple[str, ColumnType], ...]

    @property
    def name(self) -> str:
        """The type as config writes it."""
        return "struct(" + ", ".join(f"{_quoted(key)} {kind.name}" for key, kind in self.fields) + ")"

    @property
    def duckdb(self) -> str:
        """The type as DuckDB writes it; every field name quoted, as any word may be a keyword there."""
        return "STRUCT(" + ", ".join(f"{_quote(key)} {kind.duckdb}" for key, kind in self.fields) + ")"

    @property
    def stored(self) -> str:
        """The DuckDB type in the parquet files."""
        return "STRUCT(" + ", ".join(f"{_quote(key)} {kind.stored}" for key, kind in self.fields) + ")"

    @property
    def arrow(self) -> str:
        """The type as Arrow writes it."""
        return "struct<" + ", ".join(f"{key}: {kind.arrow}" for key, kind in self.fields) + ">"

    def __str__(self) -> str:
        return self.name


ColumnType = ScalarType | DecimalType | ListType | StructType

SCALARS: tuple[ScalarType, ...] = (
    ScalarType("boolean", "BOOLEAN", "bool", "BOOLEAN", ("bool",)),
    ScalarType("tinyint", "TINYINT", "int8", "TINYINT"),
    ScalarType("smallint", "SMALLINT", "int16", "SMALLINT"),
    ScalarType("integer", "INTEGER", "int32", "INTEGER", ("int",)),
    ScalarType("bigint", "BIGINT", "int64", "BIGINT"),
    ScalarType("utinyint", "UTINYINT", "uint8", "UTINYINT"),
    ScalarType("usmallint", "USMALLINT", "uint16", "USMALLINT"),
    ScalarType("uinteger", "UINTEGER", "uint32", "UINTEGER"),
    ScalarType("ubigint", "UBIGINT", "uint64", "UBIGINT"),
    ScalarType("float", "FLOAT", "float", "FLOAT"),
    ScalarType("double", "DOUBLE", "double", "DOUBLE"),
    ScalarType("varchar", "VARCHAR", "string", "VARCHAR", ("string", "text")),
    ScalarType("blob", "BLOB", "binary", "BLOB"),
    ScalarType("date", "DATE", "date32[day]", "DATE"),
    ScalarType("timestamp", "TIMESTAMP", "timestamp[us]", "TIMESTAMP", ("datetime",)),
    ScalarType("time", "TIME", "time64[us]", "TIME"),
    ScalarType("interval", "INTERVAL", "string", "VARCHAR"),
    ScalarType("uuid", "UUID", "string", "VARCHAR"),
    ScalarType("json", "JSON", "string", "VARCHAR"),
    ScalarType("inet", "INET", "string", "VARCHAR", ("cidr",)),
)

_BY_NAME = {name: scalar for scalar in SCALARS for name in (scalar.name, *scalar.aliases)}
_TOKEN = re.compile(r'\s*(?:("(?:[^"]|"")*")|(\w+)|(\[\s*\])|([(),]))')
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEPTH_LIMIT = 32


def parse_type(text: str) -> ColumnType:
    """Read a type as config or a plugin writes it: `int`, `decimal(18,3)`, `struct(a varchar, b json[])[]`."""
    parser = _Parser(text)
    kind, _ = parser.kind(0)
    if parser.peek():
        raise parser.fail(f'unexpected "{parser.peek()}"')
    return kind


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        position, stripped = 0, text.rstrip()
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise self.fail(f'"{stripped[position:].strip()[:20]}" is not part of a type')
            self.tokens.append("[]" if match[3] else match[0].strip())
            position = match.end()
        self.tokens.reverse()

    def fail(self, why: str) -> UsageError:
        return UsageError(f'"{self.text[:80]}" is not a type: {why}', hint="the types are: " + _type_names())

    def unknown(self, word: str) -> UsageError:
        where = "" if word == self.text.strip().lower() else f' in "{self.text[:80]}"'
        hint = did_you_mean(word, [*_BY_NAME, "decimal", "struct"], "the types are: " + _type_names())
        return UsageError(f'there is no type "{word}"{where}', hint=hint)

    def peek(self) -> str:
        return self.tokens[-1] if self.tokens else ""

    def take(self, expected: str = "") -> str:
        if not self.tokens:
            raise self.fail(f'it ends where "{expected}" is expected' if expected else "it ends too early")
        token = self.tokens.pop()
        if expected and token != expected:
            raise self.fail(f'"{expected}" is expected before "{token}"')
        return token

    def kind(self, depth: int) -> tuple[ColumnType, int]:
        """The type that begins here, and how many levels it has below itself."""
        self.limit(depth)
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
            raise self.unknown(word)
        while self.peek() == "[]":
            self.take()
            height += 1
            self.limit(depth + height)
            kind = ListType(kind)
        return kind, height

    def limit(self, levels: int) -> None:
        if levels > _DEPTH_LIMIT:
            raise self.fail(f"it is nested deeper than {_DEPTH_LIMIT} levels")

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
            if name.lower() in taken:  # DuckDB does not tell cases apart
                raise self.fail(f'the field "{name}" is duplicated')
            taken.add(name.lower())
            fields[name], below = self.kind(depth + 1)
            height = max(height, 1 + below)
            if self.peek() != ",":
                self.take(")")
                return StructType(tuple(fields.items())), height
            self.take()

    def decimal(self) -> DecimalType:
        if self.peek() != "(":
            return DecimalType(18, 3)
        self.take("(")
        precision = self.number()
        scale = 0
        if self.peek() == ",":
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


def _type_names() -> str:
    return ", ".join(scalar.name for scalar in SCALARS) + ", decimal(p,s), T[], struct(name T, …)"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(name: str) -> str:
    return name if _WORD.fullmatch(name) else _quote(name)
