"""What several tables share: how AWS spells columns, and pieces of SQL over the fields of one row, as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from tailpipe.plugin import Column, is_address

__all__ = [
    "anywhere",
    "camel",
    "camel_keys",
    "gathered",
    "host",
    "is_address",
    "is_arn",
    "is_domain",
    "is_email",
    "is_there",
    "one_address",
    "pascal",
    "texts",
]

Condition = Callable[[str], str]
_DOMAIN = r"([A-Za-z0-9_*]([A-Za-z0-9_-]*[A-Za-z0-9_])?\.)+[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])"
_EMAIL = rf"[^@\s]+@{_DOMAIN}"


def camel(*columns: Column) -> list[Column]:
    """Columns whose fields are spelt in camel case, `event_name` as `eventName`, unless they say otherwise."""
    return [_spelt(column, "camel") for column in columns]


def pascal(*columns: Column) -> list[Column]:
    """Columns whose fields are spelt in Pascal case, `event_name` as `EventName`, unless they say otherwise."""
    return [_spelt(column, "pascal") for column in columns]


def _spelt(column: Column, keys: Literal["camel", "pascal"]) -> Column:
    first, *rest = column.name.split("_")
    words = [first if keys == "camel" else first.capitalize(), *(word.capitalize() for word in rest)]
    source = column.source if column.source or column.transform else "".join(words)
    is_nested = "struct(" in (column.type or "") and column.transform is None
    return replace(column, source=source, keys=column.keys or (keys if is_nested else None))


def camel_keys(kind: str) -> str:
    """A type with its fields spelt in camel case, as the JSON has them."""
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), kind)


def is_domain(value: str) -> str:
    """Whether a text is the name of a host."""
    return f"regexp_full_match({value}, '{_DOMAIN}')"


def is_email(value: str) -> str:
    """Whether a text is an address of e-mail."""
    return f"regexp_full_match({value}, '{_EMAIL}')"


def is_arn(value: str) -> str:
    """Whether a text is an ARN."""
    return f"starts_with({value}, 'arn:')"


def is_there(value: str) -> str:
    """Whether a text is neither null nor empty."""
    return f"{value} <> ''"


def one_address(value: str) -> str:
    """The value if it is an address, else null."""
    return f"CASE WHEN {is_address(value)} THEN {value} END"


def host(value: str) -> str:
    """A text without the port behind an IPv4 address, or without brackets and port around an IPv6 address."""
    return rf"regexp_replace({value}, '^(?:([0-9.]+)|\[([^\]]*)\])(?::[0-9]*)?$', '\1\2')"


def texts(*values: str, only: Condition = is_there) -> str:
    """The values that are there, or fit a condition, as a list; null if there are none."""
    if len(values) == 1:
        return f"CASE WHEN {only(values[0])} THEN [{values[0]}] END"
    found = f"list_filter([{', '.join(values)}], lambda _value: {only('_value')})"
    # Not nullif(): it would make the list twice, the first one to compare it.
    return f"CASE WHEN {' OR '.join(map(only, values))} THEN {found} END"


def gathered(*lists: str, only: Condition = is_there) -> str:
    """What is in any of the lists and fits a condition, each once and in order; null if there is nothing."""
    one = lists[0]
    for other in lists[1:]:
        one = f"list_concat({one}, {other})"
    found = f"list_sort(list_distinct(list_filter({one}, lambda _value: {only('_value')})))"
    return f"list_filter([{found}], lambda _values: len(_values) > 0)[1]"


def anywhere(field: str, key: str) -> str:
    """The values of a key at any depth of a JSON field, as a list."""
    return f"json_extract_string({field}, '$..{key}')"
