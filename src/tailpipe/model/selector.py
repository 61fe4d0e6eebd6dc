"""Selectors: how a command line names partitions, by table and partition, with wildcards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean, listed

Selection = str | Iterable[str]
"""Partitions as a caller names them: one selector, or several; none means all."""

_PART = re.compile(r"[\w*?-]+")


@frozen
class Selector:
    """`table`, `table.partition`, `aws_*`, `*.prod`, `table.p*`; without a dot it means all partitions."""

    table: str
    partition: str = "*"

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Read a selector as a person writes it."""
        table, dot, partition = text.strip().partition(".")
        if not dot:
            partition = "*"
        if not _PART.fullmatch(table) or not _PART.fullmatch(partition):
            hint = "use table, table.partition, or wildcards such as aws_* or *.prod"
            raise UsageError(f'"{text}" is not a selector', hint=hint)
        return cls(table, partition)

    def matches(self, table: str, partition: str) -> bool:
        """Whether the partition of that table is meant."""
        parts = ((self.table, table), (self.partition, partition))
        return all(re.fullmatch(translate(pattern), name) for pattern, name in parts)

    def __str__(self) -> str:
        return f"{self.table}.{self.partition}"


def check_selectors(patterns: Iterable[str]) -> None:
    """Refuse a list in which something is no selector."""
    for pattern in patterns:
        Selector.parse(pattern)


def select(selection: Selection, names: Iterable[str]) -> list[str]:
    """The `table.partition` names that any of the selectors means, in their own order; no selector means all.

    A selector that means nothing is an error, because a wrong name must not look like «nothing to do».
    """
    known = list(names)
    chosen: set[str] = set()
    given = [selection] if isinstance(selection, str) else list(selection)
    for text in given:
        selector = Selector.parse(text)
        found = {name for name in known if selector.matches(*name.split(".", 1))}
        if not found:
            raise UsageError(f"partition not found: {text}", hint=_nearest_hint(text, known))
        chosen |= found
    return [name for name in known if not given or name in chosen]


def _nearest_hint(text: str, known: list[str]) -> str:
    if not known:
        return "the config has no partition yet"
    tables = dict.fromkeys(name.split(".", 1)[0] for name in known)
    there_are = f"there {'is' if len(known) == 1 else 'are'}: {listed(known, 5)}"
    return did_you_mean(text.strip(), known if "." in text else [*tables, *known], there_are)
