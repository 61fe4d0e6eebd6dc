"""Formats whose records name their fields themselves: JSON and parquet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tailpipe.formats.options import check_size, check_text, encoding_option, timezone_option
from tailpipe.plugin import Format, UsageError, fact, option

if TYPE_CHECKING:
    from tailpipe.plugin import DocumentParser, LineParser, ParseContext

_MEGABYTE = 1024 * 1024


_NAME = re.compile(r"[A-Za-z_]\w*")


def _check_map(fields: Mapping[str, str]) -> None:
    """Refuse a map that was written as field = name, and a field with two names."""
    for name, field in fields.items():
        if not _NAME.fullmatch(name) and _NAME.fullmatch(field):
            raise UsageError(
                f'"{name}" is not a name of a column', hint=f'write column = "field in the log": {field} = "{name}"'
            )
        if list(fields.values()).count(field) > 1:
            raise UsageError(f'the field "{field}" is mapped twice', hint=f'use a column with source = "{field}"')


def _check_paths(given: str | Sequence[str]) -> None:
    paths = [given] if isinstance(given, str) else given
    if not paths:
        raise UsageError("the list of paths is empty", hint="remove it, or add a path")
    for path in paths:
        if not all(path.split(".")):
            raise UsageError(f'"{path}" is not a path', hint="write keys with a dot between them, such as data.records")


def _split_paths(given: str | Sequence[str] | None) -> tuple[tuple[str, ...], ...]:
    paths = (given,) if isinstance(given, str) else given or ()
    return tuple(tuple(path.split(".")) for path in paths)


class Jsonl(Format):
    """One JSON object per line."""

    type = "jsonl"
    is_json = True
    field_map: Mapping[str, str] = option(
        "Other names for fields: name = field in the log.", default={}, check=_check_map
    )
    prefixed: bool = option("Whether to skip text before the object of a line, such as a syslog header.", default=False)
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def json_names(self) -> Mapping[str, str]:
        """`field_map` the other way round."""
        return {field: name for name, field in self.field_map.items()}

    def parser(self, context: ParseContext) -> LineParser:
        """A parser of one object in each line."""
        from tailpipe.formats.json_fields import JsonFields
        from tailpipe.formats.json_lines import JsonLines

        return JsonLines(JsonFields.of(context, self.json_names), context.noun, self.prefixed)


class Json(Format):
    """JSON documents with many records."""

    type = "json"
    noun = "record"
    is_json = True
    records: str | Sequence[str] | None = option(
        "Path to the array of records in the document, such as `Records`; the document itself if not given. Of a list"
        " of paths the first that is there counts: it leads to an array of records, or to one record. A document that"
        " has none of them is itself a record.",
        default=None,
        check=_check_paths,
    )
    unnest: str | Sequence[str] | None = option(
        "Path to an array inside each record, through other arrays too: the record becomes one row per element, which"
        " replaces the array. Of several paths, the first that exists is used; a record with none of them is one row.",
        default=None,
        check=_check_paths,
    )
    document: str | None = option(
        "Name of a field for the document around each record, without the records.", default=None
    )
    csv_column: str | None = option(
        "Column of a CSV with a header that has the document in each row; an artifact that is JSON is read as it is.",
        default=None,
        check=check_text,
    )
    max_document_bytes: int = option(
        "Size above which a document is refused, in bytes.", default=1024 * _MEGABYTE, check=check_size
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def record_paths(self) -> tuple[tuple[str, ...], ...]:
        """The keys of each path to the records."""
        return _split_paths(self.records)

    @property
    def unnest_paths(self) -> tuple[tuple[str, ...], ...]:
        """The keys of each path to an array inside a record."""
        return _split_paths(self.unnest)

    def __post_init__(self) -> None:
        for name in ("records", "unnest"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, str):
                object.__setattr__(self, name, tuple(given))
        if self.document is not None and self.records is None:
            raise UsageError('"document" requires "records"', hint="name the path to the records")

    def parser(self, context: ParseContext) -> DocumentParser:
        """A parser that splits documents into their records."""
        from tailpipe.formats.json_documents import JsonDocuments

        return JsonDocuments(self, context)


class Parquet(Format):
    """Parquet files."""

    type = "parquet"
    noun = "row"
    snake_case: bool = fact("Whether names of columns are spelt in snake case.", default=False)
    null_if: Sequence[str] = fact("Texts that mean null.", default=())

    @property
    def encoding(self) -> str | None:
        """Parquet is no text."""
        return None

    def parser(self, context: ParseContext) -> DocumentParser:  # noqa: ARG002
        """A parser of whole files."""
        from tailpipe.formats.parquet_parser import ParquetParser

        return ParquetParser(self.snake_case, self.null_if)


JSON = Json(name="default", description="JSON documents, each a record or a list of them.")
PARQUET = Parquet(name="default", description="Parquet files.")
JSONL = Jsonl(name="default", description="One JSON object per line.")
