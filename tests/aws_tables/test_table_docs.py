"""The page of a table is true: its configs have no problem, and its queries find something in the golden rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailpipe.query.session import Session
from tests.aws_tables.golden import TABLES

PAGES = Path(__file__).parents[2] / "docs" / "tables"
_SQL = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    return sorted(PAGES.glob("aws_*.md"))


def queries() -> list[tuple[str, str]]:
    return [(page.stem, sql) for page in pages() for sql in _SQL.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_a_page_with_four_queries_and_two_configs(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    assert len(_SQL.findall(text)) >= 4
    assert re.search(r'source "aws_(s3_bucket|cloudwatch_log_group)"', text)
    assert 'source "file"' in text
    assert f"]({name}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "sql"), queries(), ids=lambda value: value.partition("\n")[0])
def test_every_query_of_a_page_finds_something(page: str, sql: str, golden_session: Session) -> None:
    assert page in sql
    assert list(golden_session.run(sql).rows)
