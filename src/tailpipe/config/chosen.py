"""Which partitions of the config a selection means, and whether they can be collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailpipe.config.config import Config
from tailpipe.errors import ConfigError, UsageError
from tailpipe.model.option import unresolved_in
from tailpipe.model.partition import Partition
from tailpipe.model.selector import Selection, select
from tailpipe.model.table import Table

__all__ = ["Chosen", "choose", "choose_ready"]

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
