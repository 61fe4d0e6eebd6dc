"""Formats whose records name their fields themselves: JSON and parquet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from tailpipe.errors import UsageError
from tailpipe.model.format import Format
from tailpipe.model.option import option
from tailpipe.plugin.format_options import check_size, encoding_option, timezone_option

__all__ = ["JSON", "JSONL", "PARQUET", "Json", "Jsonl", "Parquet"]

_MEGABYTE = 1024 * 1024


_NAME = re.compile(r"[A-Za-z_]\w*")


def _check_map(fields: Mapping[str, str]) -> None:
    """Refuse the old direction, field = name, where it can be told, and a field with two names."""
    for name, field in fields.items():
        if not _NAME.fullmatch(name) and _NAME.fullmatch(field):
            raise UsageError(
                f'"{name}" is not a name of a column', hint=f'write column = "field in the log": {field} = "{name}"'
            )
        if list(fields.values()).count(field) > 1:
            raise UsageError(f'the field "{field}" is mapped twice', hint=f'use a column with source = "{field}"')


class Jsonl(Format):
    """One JSON object in each line."""

    type = "jsonl"
    field_map: Mapping[str, str] = option(
        "Other names for fields: name = field in the log.", default={}, check=_check_map
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()


class Json(Format):
    """JSON documents that hold many records each."""

    type = "json"
    records: str | None = option(
        "Path to the array of records in the document, such as `Records`; the document itself if not given.",
        default=None,
    )
    document: str | None = option(
        "Name of a field that gives each record the document around it, without the records.", default=None
    )
    max_document_bytes: int = option(
        "Size above which a document is refused, in bytes.", default=1024 * _MEGABYTE, check=check_size
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def __post_init__(self) -> None:
        if self.document is not None and self.records is None:
            raise UsageError('"document" has no meaning without "records"', hint="name the path to the records")


class Parquet(Format):
    """Parquet files, taken as they are."""

    type = "parquet"


JSON = Json(name="default", description="JSON documents, each a record or a list of them.")
PARQUET = Parquet(name="default", description="Parquet files, taken as they are.")
JSONL = Jsonl(name="default", description="One JSON object in each line.")
