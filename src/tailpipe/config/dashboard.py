"""Dashboards: panels over saved queries, which the explorer shows, and whether their queries and values fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from tailpipe.config.syntax import Block
from tailpipe.config.text import Problem
from tailpipe.errors import UsageError
from tailpipe.model.names import check_reference_name
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import Declared, label, nested, option
from tailpipe.model.saved import SavedQuery

_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)
Kind = Literal["line", "bar", "number", "table"]


def _check_width(width: int) -> None:
    if not 1 <= width <= 12:
        raise UsageError("width must be from 1 to 12", hint="12 is the whole width of the page")


class Panel(Declared):
    """The answer to a saved query, as a chart or a table."""

    name: str = label("Name of the panel.", check=check_reference_name)
    query: str = option("Name of the saved query.")
    title: str | None = option("Heading of the panel; the title of the query without it.", default=None)
    kind: Kind = option("How the answer is shown.", default="table")
    params: Mapping[str, Any] = option("Values of the query's parameters, by name.", default={})
    width: int = option("Width in twelfths of the page.", default=6, check=_check_width)


class Dashboard(Declared):
    """A page of panels."""

    name: str = label("Name of the dashboard.", check=check_reference_name)
    title: str | None = option("Heading of the page; the name without it.", default=None)
    panels: Sequence[Panel] = nested("The panels of the dashboard, in order.", block="panel", default=())


def dashboard_problems(
    dashboard: Dashboard, block: Block, queries: Mapping[str, SavedQuery | None]
) -> Iterator[Problem]:
    """What is wrong with the panels of a dashboard; a query of None is known and has problems of its own."""
    inner = block.inner("panel")
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
        yield Problem(f'unknown query "{panel.query}"', block.span_of("query"), hint)
        return
    query = queries[panel.query]
    if query is None:
        return
    try:
        query.values(panel.params, now=_SOME_TIME)
    except UsageError as error:
        span = block.span_of("params" if panel.params else "query")
        hint = error.hint if "--param" not in error.hint else "give it in params: params = { NAME = VALUE }"
        yield Problem(error.message, span, hint)
