"""Claims: the paths of a record that a table names, as far as its declarations say so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from tailpipe.frozen import frozen
from tailpipe.model.outputs import COMMON_TYPES, output_columns
from tailpipe.model.paths import Path, path_field
from tailpipe.model.table import Table

_NAME = re.compile(
    r'(?>"[^"\']+"(?:\.[\w"]+)*|[A-Za-z_@][\w@]*(?:\[\*\])?(?:\.(?:[A-Za-z_@][\w@]*|"[^"\']+")(?:\[\*\])?)*)(?!\s*\()'
)


@frozen
class Claims:
    """What a table takes from a record."""

    columns: Mapping[str, frozenset[Path]]
    """For each column, the paths that it may come from: its field, or the names in its SQL, not all of them fields."""
    common: frozenset[Path]
    """The paths of common columns."""

    @cached_property
    def paths(self) -> frozenset[Path]:
        """All of them."""
        return self.common.union(*self.columns.values())

    def covers(self, path: Path) -> bool:
        """Whether the value at a path, or an object around it, is taken."""
        return any(path[:length] in self.paths for length in range(1, len(path) + 1))


def claims_of(table: Table) -> Claims:
    """The claims of a table whose format gives records with names of their own."""
    columns: dict[str, frozenset[Path]] = {}
    common: set[Path] = set()
    fields = {name: key for key, name in (table.format.json_names if table.format else {}).items()}
    for output in output_columns(table, {}):
        paths = set(output.takes.values())
        if output.source is not None and not output.source.endswith("*"):
            paths.add(output.path or (fields.get(output.source, output.source),))
        elif output.transform is not None and not output.takes:
            paths.update(_named(output.transform))
        if output.name in COMMON_TYPES:
            common |= paths
        elif paths:
            columns[output.name] = frozenset(paths)
    return Claims(columns, frozenset(common))


def weights(claims: Iterable[Claims]) -> dict[Path, float]:
    """The weight of each path: the fewer tables have a column for it, the higher."""
    found: Counter[Path] = Counter()
    for one in claims:
        found.update(frozenset().union(*one.columns.values()))
    return {path: 1 / count for path, count in found.items()}


def _named(sql: str) -> Iterable[Path]:
    text = re.sub(r"'(?:[^']|'')*'", "''", sql)
    return {path_field(name)[1] for name in _NAME.findall(text)}
