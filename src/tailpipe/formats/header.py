"""The names of delimited fields: from the format, from a header line, or by number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tailpipe.model.format import RESERVED_FIELDS
from tailpipe.plugin.fields import plain_name

_NAME = re.compile(r"[^\W\d][\w .:/()\[\]#%$&*+@!?'-]{0,99}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = frozenset({"true", "false", "yes", "no", "null", "none", "nan", "inf", "n/a"})


def numbered_names(count: int) -> tuple[str, ...]:
    """`column_1`, `column_2` and so on, for values that nothing names."""
    return tuple(f"column_{number}" for number in range(1, count + 1))


def snake_name(text: str) -> str:
    """`line_item_usage_account_id` for `lineItem/UsageAccountId`, `cs_user_agent` for `cs(User-Agent)`."""
    return re.sub(r"\W+|_+", "_", _HUMP.sub("_", text)).strip("_").lower()


def unique_names(values: Iterable[str]) -> tuple[str, ...]:
    """Names from a header: blanks around them dropped, an empty one numbered, and the second of two equal
    ones with `_2` behind it. Case does not make two names different."""
    names: list[str] = []
    taken = set(RESERVED_FIELDS)
    for number, value in enumerate(values, 1):
        base = name = plain_name(value.strip()) or f"column_{number}"
        count = 1
        while name.lower() in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name.lower())
        names.append(name)
    return tuple(names)


def is_header(first: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Whether a first line names the fields. All its values look like names, and either some column below
    holds no name at all, or the names are distinct and none comes again below itself. A lone line is a
    header if it can be one."""
    names = [value.strip().lower() for value in first]
    if not any(names) or not all(_is_name(name) for name in names if name):
        return False
    columns = [[value.strip().lower() for value in column] for column in zip(*following, strict=False)]
    below = list(zip(names, columns, strict=False))
    if any(name and any(column) and not any(map(_is_name, column)) for name, column in below):
        return True
    return all(names) and len(set(names)) == len(names) and not any(name in column for name, column in below)


def _is_name(value: str) -> bool:
    return _NAME.fullmatch(value) is not None and value not in _WORDS
