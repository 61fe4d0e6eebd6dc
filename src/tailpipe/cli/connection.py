"""`tailpipe connection`: how services are reached."""

from __future__ import annotations

from typing import Any

from tailpipe.cli import render
from tailpipe.cli.describe import connection_record
from tailpipe.cli.listing import noun_group
from tailpipe.home.home import Home


def _records(home: Home) -> list[dict[str, Any]]:
    made = {f"{name}.default": declared() for name, declared in home.registry.connections.items()}
    connections = sorted({**made, **home.config.connections}.items())
    return [connection_record(value, home.registry.owner("connection", value.type)) for _, value in connections]


command = noun_group(
    "connection",
    _records,
    render.columns("name:connection", "plugin", "description"),
    example="aws.default",
    also_named="connection.",
    has_built_ins=True,
)
