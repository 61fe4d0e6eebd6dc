"""Claims: the paths of a record that a table names, as far as its declarations say so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from tailpipe.frozen import frozen
from tailpipe.model.outputs import COMMON_TYPES, output_columns
from tailpipe.model.paths import Path, path_field
from tailpipe.model.table import Table

__all__ = ["Claims", "claims_of", "weights"]

_NAME = re.compile(r'"[^"\']+"(?:\.[\w"]+)*|[A-Za-z_@][\w@]*(?:\[\*\])?(?:\.[A-Za-z_@][\w@]*(?:\[\*\])?)*')


@frozen
class Claims:
    """What a table takes from a record: the paths of its columns, and whatever its expressions seem to name."""

    columns: Mapping[Path, str]
    """The column of each path."""
    others: frozenset[Path]
    """Paths of common columns and names in SQL; a word of it need not be a field."""

    def covers(self, path: Path) -> bool:
        """Whether the value at a path, or an object around it, is taken."""
        return any(path[:length] in self.columns or path[:length] in self.others for length in range(1, len(path) + 1))


def claims_of(table: Table) -> Claims:
    """The claims of a table whose format gives records with names of their own."""
    columns: dict[Path, str] = {}
    others: set[Path] = set()
    fields = {name: key for key, name in (table.format.json_names if table.format else {}).items()}
    for output in output_columns(table, {}):
        if output.source is not None and not output.source.endswith("*"):
            path = output.path or (fields.get(output.source, output.source),)
            if output.name in COMMON_TYPES:
                others.add(path)
            else:
                columns[path] = output.name
        others.update(output.takes.values())
        if output.transform is not None and not output.takes:
            others.update(_named(output.transform))
    return Claims(columns, frozenset(others))


def weights(claims: Iterable[Claims]) -> dict[Path, float]:
    """What each path tells: the fewer tables have a column for it, the more."""
    found: Counter[Path] = Counter()
    for one in claims:
        found.update(one.columns.keys())
    return {path: 1 / count for path, count in found.items()}


def _named(sql: str) -> Iterable[Path]:
    text = re.sub(r"'(?:[^']|'')*'", "''", sql)
    return {path_field(name)[1] for name in _NAME.findall(text)}
