"""Evolve: whether the rows of a changed table fit the existing files.

A view over old and new files gives one type to each column. So a column may be new, and may get a wider
type; anything else is refused before the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tailpipe.frozen import frozen
from tailpipe.model.outputs import COMMON_TYPES, common_types, output_columns
from tailpipe.model.table import Table

_WIDER: Mapping[str, tuple[str, ...]] = {
    "TINYINT": ("SMALLINT", "INTEGER", "BIGINT", "DOUBLE"),
    "SMALLINT": ("INTEGER", "BIGINT", "DOUBLE"),
    "INTEGER": ("BIGINT", "DOUBLE"),
    "BIGINT": (),
    "UTINYINT": ("USMALLINT", "UINTEGER", "UBIGINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE"),
    "USMALLINT": ("UINTEGER", "UBIGINT", "INTEGER", "BIGINT", "DOUBLE"),
    "UINTEGER": ("UBIGINT", "BIGINT", "DOUBLE"),
    "UBIGINT": (),
    "FLOAT": ("DOUBLE",),
    "DATE": ("TIMESTAMP",),
}
"""To which types each may change without losing a value; to text any of them may."""


@frozen
class Change:
    """What becomes of one column: `old` and `new` are stored DuckDB types, None where there is no column.

    An *added* column is null in older files, a *dropped* one in newer files; a *widened* one is read in
    the new type everywhere; a *refused* one stands in the way of the run, and `message` says why.
    """

    column: str
    verdict: Literal["added", "dropped", "widened", "refused"]
    old: str | None
    new: str | None
    message: str = ""


def evolve(stored: Mapping[str, str], table: Table, types: Mapping[str, str]) -> tuple[Change, ...]:
    """The changes from the stored columns, name to DuckDB type, to those that the table has now.

    `types` are the types of undeclared fields, as a task gets them. Nothing is said of what stays.
    """
    now = {output.name: output.catalog_type for output in output_columns(table, types)}
    now = {**now, **{name: kind.stored for name, kind in common_types(now).items()}}
    old = {name.lower(): (name, kind) for name, kind in stored.items()}
    changes = []
    for name, new in now.items():
        _, before = old.get(name.lower(), (name, None))
        if before is None:
            changes.append(Change(name, "added", None, new))
        elif _plain(before) != _plain(new):
            changes.append(_changed(table, name, before, new))
    have = {name.lower() for name in now}
    changes += [Change(name, "dropped", kind, None) for key, (name, kind) in old.items() if key not in have]
    return tuple(changes)


def merged_columns(sets: Sequence[Mapping[str, str]], table: Table | None) -> dict[str, str] | None:
    """The columns of a file that holds the rows of files with these columns; None if there can be none.

    They are those that the table declares, in its order and types, and whatever else the files have:
    nothing that was collected goes. The newest set is the last.
    """
    declared = _declared(table) if table is not None else {}
    names = {name.lower(): name for columns in sets for name in columns}
    names |= {name.lower(): name for name in declared}
    order = dict.fromkeys([*(name.lower() for name in declared), *names])
    own = [names[key] for key in order if names[key] not in COMMON_TYPES]
    stored: dict[str, list[str]] = {}
    for columns in sets:
        for name, kind in columns.items():
            stored.setdefault(name.lower(), []).append(kind)
    merged: dict[str, str] = {}
    for name in (*own, *(name for name in COMMON_TYPES if name in names)):
        kinds = stored.get(name.lower(), [])
        wanted = declared.get(name)
        found = next((kind for kind in filter(None, [wanted, *reversed(kinds)]) if _takes(kind, kinds)), None)
        if found is None:
            return None
        merged[name] = found
    return merged


def _declared(table: Table) -> dict[str, str]:
    """The columns whose type the table says; the type of the others is that of the files."""
    is_open = {column.name for column in table.columns if column.type is None}
    outputs = output_columns(table, {})
    own = {one.name: one.kind.stored for one in outputs if one.name not in is_open and one.name not in COMMON_TYPES}
    common = common_types(one.name for one in outputs)
    return {**own, **{name: kind.stored for name, kind in common.items()}}


def _takes(kind: str, others: Sequence[str]) -> bool:
    return all(_plain(other) == _plain(kind) or _is_wider(_plain(other), _plain(kind)) for other in others)


def _changed(table: Table, name: str, old: str, new: str) -> Change:
    if _is_wider(_plain(old), _plain(new)):
        return Change(name, "widened", old, new)
    what = f'column "{name}" of table "{table.name}"'
    message = f"{what} is {old.lower()} in existing files and cannot become {new.lower()}"
    return Change(name, "refused", old, new, message)


def _is_wider(old: str, new: str) -> bool:
    if any(kind.endswith("]") or kind.startswith("STRUCT(") for kind in (old, new)):
        return False
    if new == "VARCHAR":
        return old != "BLOB"
    if old == "BIGINT" and new == "DOUBLE":
        return True  # the way of undeclared fields
    if old.startswith("DECIMAL(") and new.startswith("DECIMAL("):
        (p0, s0), (p1, s1) = _digits(old), _digits(new)
        return s1 >= s0 and p1 - s1 >= p0 - s0
    return new in _WIDER.get(old, ())


def _digits(kind: str) -> tuple[int, int]:
    precision, scale = kind[len("DECIMAL(") : -1].split(",")
    return int(precision), int(scale)


def _plain(kind: str) -> str:
    """A type without what is a matter of spelling: quotes around plain names, blanks."""
    return kind.replace('"', "").replace(", ", ",").strip()
