"""Every config block that is declared, by the heading under which the reference describes it."""

from __future__ import annotations

import inspect
from typing import Any, get_args

from tailpipe.config.dashboard import Dashboard
from tailpipe.config.dataset import Dataset
from tailpipe.config.settings import WorkspaceSettings
from tailpipe.model.connection import Connection
from tailpipe.model.detection import Detection, DetectionSet, SigmaRules
from tailpipe.model.notifier import NOTIFIERS
from tailpipe.model.option import Option, options_of, variants_of
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.saved import QueryDirectory, SavedQuery
from tailpipe.model.source import Source
from tailpipe.model.store import Store
from tailpipe.model.table import Table
from tailpipe.plugin import Registry
from tests.unit.docs.pages import built_in


def declared_blocks() -> dict[str, type[Any]]:
    """Every block that can be written, by the heading under which it is described."""
    registry = Registry(built_in())
    found: dict[str, type[Any]] = {
        "workspace": WorkspaceSettings,
        "store": Store,
        "table": Table,
        "partition": Partition,
        "schema": Schema,
        "dataset": Dataset,
        "query": SavedQuery,
        "queries": QueryDirectory,
        "detection": Detection,
        "detections": DetectionSet,
        "sigma": SigmaRules,
        "dashboard": Dashboard,
        **{f'notifier "{name}"': declared for name, declared in NOTIFIERS.items()},
        **{f'connection "{name}"': declared for name, declared in registry.connections.items()},
        **{f'format "{name}"': declared for name, declared in registry.formats.items()},
        **{f'source "{name}"': declared for name, declared in registry.sources.items()},
    }
    for declared in list(found.values()):
        for option in options_of(declared).values():
            if option.kind == "block":
                parts = [part for part in get_args(option.annotation) if inspect.isclass(part)]
                inner = [option.element] if option.element else parts or [option.annotation]
                if variants := variants_of(option.annotation):
                    found |= {f'{option.block} "{name}"': variant for name, variant in variants.items()}
                elif not issubclass(inner[0], Source):
                    found[option.block] = inner[0]
    return found


def described_options(declared: type[Any]) -> list[Option]:
    """The options of a block; of a preset, which is made of another type, those that it adds."""
    base = next((one for one in declared.__mro__[1:] if "type" in vars(one)), declared.__mro__[1])
    known = options_of(base) if getattr(base, "type", "") and issubclass(base, Connection | Source) else {}
    return [option for option in options_of(declared).values() if option.name not in known]


BLOCKS = declared_blocks()
