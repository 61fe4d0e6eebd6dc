"""The common columns as SQL: paths that a table lists for `tp_ips`, `tp_usernames` and the others.

The macros that the SQL calls are those of `tailpipe.sql.macros`, which tables may use in expressions of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from tailpipe.frozen import frozen
from tailpipe.model.paths import Path, is_plain_path, path_field
from tailpipe.model.types import ColumnType, ListType

_MACROS = {
    "tp_ips": ("tp_host", "tp_hosts"),
    "tp_domains": ("tp_domain", "tp_domains"),
    "tp_emails": ("tp_email", "tp_emails"),
}
"""What leaves out, of one value and of a list, what is none of these; addresses are checked after, all at once."""
_ADDRESSES = ("tp_source_ip", "tp_destination_ip")
_FEW = 8
"""Up to so many values, each is held against those before it; that is ten times faster than a function of lists."""


@frozen
class CommonPart:
    """What one entry of a list says: a path, or SQL if the path is empty."""

    text: str
    path: Path = ()
    is_list: bool = False

    @property
    def field(self) -> str:
        """The field of the path."""
        return path_field(self.text)[0]

    @property
    def sql(self) -> str:
        """The value as SQL."""
        return '"' + self.field.replace('"', '""') + '"' if self.path else f"({self.text})"


def path_parts(given: str | Sequence[str], reserved: Collection[str]) -> list[CommonPart] | None:
    """The entries that are given; None for a text that is SQL as a whole."""
    parts = []
    for text in dict.fromkeys([given] if isinstance(given, str) else given):
        is_path = is_plain_path(text.strip()) and text.strip().lower() not in reserved
        parts.append(CommonPart(text.strip(), path_field(text.strip())[1] if is_path else ()))
    return None if isinstance(given, str) and not parts[0].path else parts


def common_sql(name: str, kind: ColumnType, parts: Sequence[CommonPart]) -> str:
    """The SQL of a common column: the first value that is there, or for a list all of them, each once."""
    if not isinstance(kind, ListType):
        # A single one is checked after, like every address of these columns.
        macro = ("tp_host" if len(parts) == 1 else "tp_address") if name in _ADDRESSES else ""
        values = [f"{macro}({part.sql})" if macro else part.sql for part in parts]
        return values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"
    one, many = _MACROS.get(name, ("", "tp_texts"))
    values = [f"{one}({part.sql})" if one and not part.is_list else part.sql for part in parts]
    if not any(part.is_list for part in parts) and len(parts) <= _FEW:
        return _distinct(values)
    scalars = [value for value, part in zip(values, parts, strict=True) if not part.is_list]
    lists = [value for value, part in zip(values, parts, strict=True) if part.is_list]
    joined = [f"[{', '.join(scalars)}]", *lists] if scalars else lists
    concatenated = reduce(lambda one, other: f"list_concat({one}, {other})", joined)
    return f"{many}({concatenated})"


def _distinct(values: Sequence[str]) -> str:
    """The values that are there, each once and in their order; null if there are none."""
    if len(values) == 1:
        return f"CASE WHEN {values[0]} <> '' THEN [{values[0]}] END"
    fresh = [values[0]]
    for number, value in enumerate(values[1:], 1):
        is_new = " AND ".join(f"{value} IS DISTINCT FROM {other}" for other in values[:number])
        fresh.append(f"CASE WHEN {is_new} THEN {value} END")
    is_any = " OR ".join(f"{value} <> ''" for value in values)
    return f"CASE WHEN {is_any} THEN list_filter([{', '.join(fresh)}], lambda _value: _value <> '') END"
