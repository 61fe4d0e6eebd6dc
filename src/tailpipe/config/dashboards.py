"""Dashboards of a config: whether panels name saved queries, and values that fit their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from tailpipe.config.dashboard import Dashboard, Panel
from tailpipe.config.syntax import Block, Span
from tailpipe.config.text import Problem
from tailpipe.errors import UsageError
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.saved import SavedQuery

__all__ = ["dashboard_problems"]

_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def dashboard_problems(
    dashboard: Dashboard, block: Block, queries: Mapping[str, SavedQuery | None]
) -> Iterator[Problem]:
    """What is wrong with the panels of a dashboard; a query of None is known and has problems of its own."""
    inner = [one for one in block.body.blocks if one.type == "panel"]
    seen: set[str] = set()
    if not inner:
        yield Problem(f'dashboard "{dashboard.name}" has no panel', block.span, 'add one: panel "NAME" { query = "…" }')
    for panel, panel_block in zip(dashboard.panels, inner, strict=False):
        if panel.name in seen:
            yield Problem(f'panel "{panel.name}" is defined twice', panel_block.labels[0].span, "give it another name")
        seen.add(panel.name)
        yield from _panel_problems(panel, panel_block, queries)


def _panel_problems(panel: Panel, block: Block, queries: Mapping[str, SavedQuery | None]) -> Iterator[Problem]:
    if panel.query not in queries:
        hint = did_you_mean(panel.query, queries, "see: tailpipe saved list")
        yield Problem(f'unknown query "{panel.query}"', _span(block, "query"), hint)
        return
    query = queries[panel.query]
    if query is None:
        return
    try:
        query.values(panel.params, now=_SOME_TIME)
    except UsageError as error:
        span = _span(block, "params" if panel.params else "query")
        hint = error.hint if "--param" not in error.hint else "give it in params: params = { NAME = VALUE }"
        yield Problem(error.message, span, hint)


def _span(block: Block, name: str) -> Span:
    return next((one.value.span for one in block.body.attributes if one.name == name), block.span)
