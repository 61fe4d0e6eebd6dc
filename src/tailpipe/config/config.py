"""The decoded config: every block as its object, by name; and the partitions that a selection means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tailpipe.config.dashboard import Dashboard
from tailpipe.config.dataset import Dataset
from tailpipe.config.settings import WorkspaceSettings
from tailpipe.config.syntax import Span
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError, Diagnostic, Place, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.connection import Connection
from tailpipe.model.detection import Detection, DetectionSet, SigmaRules
from tailpipe.model.format import Format
from tailpipe.model.notifier import Notifier
from tailpipe.model.option import secrets_in, unresolved_in
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.saved import QueryDirectory, SavedQuery
from tailpipe.model.selector import Selection, select
from tailpipe.model.store import Store
from tailpipe.model.table import Table

_FIELDS = {"query": "queries", "queries": "query_directories", "detections": "detection_sets", "sigma": "sigma"}


def config_field(kind: str) -> str:
    """The field of `Config` that has the blocks of a kind."""
    return _FIELDS.get(kind, f"{kind}s")


@frozen
class Config:
    """What the `.tpc` files say; keys of connections, formats, notifiers and partitions have two parts, `type.name`."""

    workspaces: Mapping[str, WorkspaceSettings] = field(default_factory=dict)
    connections: Mapping[str, Connection] = field(default_factory=dict)
    stores: Mapping[str, Store] = field(default_factory=dict)
    formats: Mapping[str, Format] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    queries: Mapping[str, SavedQuery] = field(default_factory=dict)
    """The saved queries, those of directories too."""
    query_directories: Mapping[str, QueryDirectory] = field(default_factory=dict)
    notifiers: Mapping[str, Notifier] = field(default_factory=dict)
    detections: Mapping[str, Detection] = field(default_factory=dict)
    detection_sets: Mapping[str, DetectionSet] = field(default_factory=dict)
    sigma: Mapping[str, SigmaRules] = field(default_factory=dict)
    dashboards: Mapping[str, Dashboard] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    spans: Mapping[str, tuple[ConfigText, Span]] = field(default_factory=dict, compare=False, repr=False)

    def place(self, address: str, position: int | None = None, length: int = 1) -> Place | None:
        """The place of a block or an argument, such as `partition.web.prod.filter`.

        `position` counts characters of the argument's text; it is ignored if the text has escapes or values in it.
        """
        if address not in self.spans:
            return None
        text, (start, end) = self.spans[address]
        written = text.text[start:end]
        is_plain = written[:1] in ('"', "`") and not (written[0] == '"' and ("\\" in written or "${" in written))
        if position is None or not is_plain:
            return text.place((start, end))
        first = min(start + 1 + position, end - 1)
        return text.place((first, min(first + length, end)))

    def place_of(self, address: str, word: str) -> Place | None:
        """The place of a quoted word in the value of an argument; of the whole value if the word is not in it."""
        if address not in self.spans:
            return None
        text, (start, end) = self.spans[address]
        first = text.text.find(f'"{word}"', start, end)
        return text.place((start, end) if first < 0 else (first, first + len(word) + 2))

    @property
    def unresolved(self) -> tuple[Diagnostic, ...]:
        """What connections, notifiers, stores and sources lack here, such as variables; a problem if they are used."""
        found = unresolved_in((self.connections, self.stores, self.partitions, self.notifiers))
        return tuple(sorted(found, key=lambda one: (one.place.file, one.place.line, one.place.column)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts of all secrets, which must be kept out of logs."""
        return secrets_in((self.connections, self.stores, self.partitions, self.notifiers))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to collect."""
        return not self.partitions


Chosen = Sequence[tuple[Partition, Table]]
"""Partitions with their tables."""


def choose(config: Config, tables: Mapping[str, Table], selection: Selection, source: str | None = None) -> Chosen:
    """The partitions that selectors mean, with their tables; each must have the source, if one is named."""
    chosen = [config.partitions[name] for name in select(selection, list(config.partitions))]
    for partition in chosen if source is not None else ():
        if source not in (known := [one.name for one in partition.sources]):
            hint = f"{partition.address} has: {', '.join(known)}"
            raise UsageError(f"source not found: {source}", hint=hint)
    return [(partition, tables[partition.table]) for partition in chosen]


def choose_ready(
    config: Config, tables: Mapping[str, Table], selection: Selection, source: str | None = None
) -> Chosen:
    """The chosen partitions with their tables; raise a `ConfigError` if their sources lack values."""
    chosen = choose(config, tables, selection, source)
    sources = [one for partition, _ in chosen for one in partition.sources if source in (None, one.name)]
    if missing := unresolved_in(sources):
        raise ConfigError(missing)
    return chosen
