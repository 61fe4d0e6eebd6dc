"""Saved queries and dashboards, as the config has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailpipe.model.saved import SavedQuery
from tailpipe.query.json_values import json_of
from tailpipe.serve.body import Body

if TYPE_CHECKING:
    from tailpipe.home.home import Home


def saved(home: Home, body: Body) -> dict[str, Any]:
    """All saved queries with their parameters."""
    body.only()
    return {"queries": [_query(home.queries[name]) for name in sorted(home.queries)]}


def _query(query: SavedQuery) -> dict[str, Any]:
    return {
        "name": query.name,
        "title": query.title or query.name,
        "description": query.description,
        "tags": list(query.tags),
        "sql": query.text,
        "params": [
            {"name": one.name, "type": one.type, "default": json_of(one.default), "description": one.description}
            for one in query.params
        ],
    }


def dashboards(home: Home, body: Body) -> dict[str, Any]:
    """All dashboards with their panels."""
    body.only()
    return {
        "dashboards": [
            {
                "name": one.name,
                "title": one.title or one.name,
                "panels": [
                    {
                        "name": panel.name,
                        "title": panel.title or _title(home, panel.query),
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


def _title(home: Home, query: str) -> str:
    found = home.queries.get(query)
    return (found and found.title) or query
