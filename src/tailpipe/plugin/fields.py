"""Names of fields that a log names itself, one task long: each key keeps its name, and there are not too many."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tailpipe.model.format import FIELDS_LIMIT, RESERVED_FIELDS
from tailpipe.model.outputs import SECOND

__all__ = ["KeyNames", "plain_name"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def plain_name(text: str) -> str:
    """A name that is safe in SQL and in a terminal: `_` for each control character."""
    return _CONTROL.sub("_", text)


@dataclass
class KeyNames:
    """The field of each key. Case does not make keys different, as in SQL."""

    known: dict[str, str] = field(default_factory=dict)
    """The name of the field for each key, in lower case."""

    def __getitem__(self, key: str) -> str:
        name = self.known.get(key.lower())
        if name is None:
            if len(self.known) == FIELDS_LIMIT:
                raise ValueError(f"brings more than {FIELDS_LIMIT} different keys")
            name, taken = plain_name(key), {*RESERVED_FIELDS, *map(str.lower, self.known.values())}
            while name.lower() in taken:
                name += SECOND
            self.known[key.lower()] = name
        return name
