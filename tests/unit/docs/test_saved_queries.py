"""The pages of shipped queries show exactly what is shipped."""

from __future__ import annotations

import re

import pytest

from tailpipe.plugin import Plugin
from tailpipe.plugins.aws import plugin as aws
from tailpipe.plugins.core import plugin as core
from tests.unit.docs.pages import read

ENTRY = re.compile(r"^### ([^\n]+)\n\n`(\w+)`(?:: ([^\n]+))?\n\n```sql\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "plugin"), [("docs/cloudtrail-queries.md", aws), ("docs/cookbook.md", core)])
def test_the_page_shows_every_query_as_it_is_shipped(page: str, plugin: Plugin) -> None:
    shown = {name: (title, about, sql) for title, name, about, sql in ENTRY.findall(read(page))}
    shipped = {one.name: (one.title, one.description or "", one.text) for one in plugin.loaded("query")}
    assert shown == shipped
    assert read(page).count("\n### ") == len(shown)


@pytest.mark.parametrize("plugin", [aws, core])
def test_every_parameter_of_a_shipped_query_is_described(plugin: Plugin) -> None:
    for query in plugin.loaded("query"):
        assert query.tags
        for parameter in query.params:
            assert parameter.description, f"{parameter.name} of {query.name}"
