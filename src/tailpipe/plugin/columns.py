"""Columns of logs that spell their fields in camel case or Pascal case."""

from __future__ import annotations

import re

from tailpipe.model.table import Column, spelt_column

__all__ = ["camel_case", "camel_case_keys", "pascal_case"]


def camel_case(*columns: Column) -> list[Column]:
    """Columns whose fields are spelt in camel case, `event_name` as `eventName`, unless they say otherwise."""
    return [spelt_column(column, "camel") for column in columns]


def pascal_case(*columns: Column) -> list[Column]:
    """Columns whose fields are spelt in Pascal case, `event_name` as `EventName`, unless they say otherwise."""
    return [spelt_column(column, "pascal") for column in columns]


def camel_case_keys(kind: str) -> str:
    """A type with its fields spelt in camel case, as the JSON has them."""
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), kind)
