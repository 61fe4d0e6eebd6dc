"""Saved queries and dashboards, as the config has them."""

from __future__ import annotations

from typing import Any

from tailpipe.home.home import Home
from tailpipe.query.json_values import json_of
from tailpipe.serve.body import Body


def saved(home: Home, body: Body) -> dict[str, Any]:
    """All saved queries with their parameters."""
    body.only()
    return {
        "queries": [
            {
                "name": one.name,
                "title": one.title or one.name,
                "description": one.description,
                "tags": list(one.tags),
                "sql": one.text,
                "params": [
                    {"name": p.name, "type": p.type, "default": json_of(p.default), "description": p.description}
                    for p in one.params
                ],
            }
            for _, one in sorted(home.queries.items())
        ]
    }


def dashboards(home: Home, body: Body) -> dict[str, Any]:
    """All dashboards with their panels."""
    body.only()
    titles = {name: one.title for name, one in home.queries.items()}
    return {
        "dashboards": [
            {
                "name": one.name,
                "title": one.title or one.name,
                "panels": [
                    {
                        "name": panel.name,
                        "title": panel.title or titles.get(panel.query) or panel.query,
                        "kind": panel.kind,
                        "query": panel.query,
                        "params": {name: json_of(value) for name, value in panel.params.items()},
                        "width": panel.width,
                    }
                    for panel in one.panels
                ],
            }
            for one in home.config.dashboards.values()
        ]
    }
