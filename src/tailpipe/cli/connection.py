"""`tailpipe connection`: how services are reached."""

from __future__ import annotations

from typing import Any

from tailpipe.cli.describe import connection_record
from tailpipe.cli.listing import noun_group
from tailpipe.home.home import Home

__all__ = ["command"]


def _records(home: Home) -> list[dict[str, Any]]:
    registry = home.registry
    made = {f"{name}.default": declared() for name, declared in registry.connections.items()}
    connections = {**made, **home.config.connections}
    return [
        connection_record(value, registry.owner("connection", value.type)) for _, value in sorted(connections.items())
    ]


command = noun_group(
    "connection",
    _records,
    {"name": "connection", "plugin": "plugin", "description": "description"},
    example="aws.default",
    also_named="connection.",
    has_built_ins=True,
)
