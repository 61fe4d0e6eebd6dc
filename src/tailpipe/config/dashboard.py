"""Dashboards: panels over saved queries, which the explorer shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tailpipe.errors import UsageError
from tailpipe.model.names import check_reference_name
from tailpipe.model.option import Declared, label, nested, option

__all__ = ["Dashboard", "Panel"]

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
