"""The decoded config: every block as its noun, by the name that people use for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailpipe.config.syntax import Span
from tailpipe.config.text import ConfigText
from tailpipe.errors import Place
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.settings import WorkspaceSettings
from tailpipe.model.table import Table

__all__ = ["Config"]


@dataclass(frozen=True)
class Config:
    """What the `.tpc` files say. Connections and formats are known by `type.name`, partitions by `table.name`."""

    workspaces: Mapping[str, WorkspaceSettings] = field(default_factory=dict)
    connections: Mapping[str, Connection] = field(default_factory=dict)
    formats: Mapping[str, Format] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    spans: Mapping[str, tuple[ConfigText, Span]] = field(default_factory=dict, compare=False, repr=False)

    def place(self, address: str) -> Place | None:
        """Where a block or an argument stands: `partition.web.prod`, `partition.web.prod.filter`."""
        if address not in self.spans:
            return None
        text, span = self.spans[address]
        return text.place(span)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to collect."""
        return not self.partitions
