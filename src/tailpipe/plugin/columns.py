"""Columns of logs that spell their fields in camel case or Pascal case."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from tailpipe.model.table import Column

__all__ = ["camel_case", "camel_case_keys", "pascal_case"]


def camel_case(*columns: Column) -> list[Column]:
    """Columns whose fields are spelt in camel case, `event_name` as `eventName`, unless they say otherwise."""
    return [_spelt(column, "camel") for column in columns]


def pascal_case(*columns: Column) -> list[Column]:
    """Columns whose fields are spelt in Pascal case, `event_name` as `EventName`, unless they say otherwise."""
    return [_spelt(column, "pascal") for column in columns]


def camel_case_keys(kind: str) -> str:
    """A type with its fields spelt in camel case, as the JSON has them."""
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), kind)


def _spelt(column: Column, keys: Literal["camel", "pascal"]) -> Column:
    first, *rest = column.name.split("_")
    words = [first if keys == "camel" else first.capitalize(), *(word.capitalize() for word in rest)]
    source = column.source if column.source or column.transform else "".join(words)
    is_nested = "struct(" in (column.type or "") and column.transform is None
    return replace(column, source=source, keys=column.keys or (keys if is_nested else None))
