"""Hostile log text stays text, everywhere that it is shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import PATIENCE, Window
from tests.web.world import HOSTILE, MARKUP

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)


def test_hostile_rows_are_text_in_the_grid_and_in_the_fields(window: Window) -> None:
    page = window.open("explore?table=hostile_log&fields=message,kind&cols=kind,message")
    assert window.rows().count() == len(HOSTILE)
    grid = page.locator(".grid")
    expect(grid).to_contain_text(MARKUP)
    expect(grid).to_contain_text("⟨U+001B⟩[31mred")
    expect(grid).to_contain_text("user ⟨U+202E⟩gnp.exe")
    expect(page.locator(".fields")).to_contain_text("<img src=x")
    longest = max(len(cell.inner_text()) for cell in page.locator(".grid td").all())
    assert longest < 1_000
    assert page.locator("main img, main script, main b b, iframe").count() == 0
    assert "owned" not in page.title()


@pytest.mark.parametrize("kind", ["markup", "escapes", "bidi", "huge", "lines"])
def test_a_hostile_row_is_text_in_the_tree(window: Window, kind: str) -> None:
    page = window.open(f"explore?table=hostile_log&q=kind:{kind}")
    window.rows().first.click()
    tree = page.locator(".detail .tree")
    wanted = {
        "markup": MARKUP,
        "escapes": "⟨U+001B⟩[31mred⟨U+001B⟩[0m ⟨U+0007⟩bell",
        "bidi": "user ⟨U+202E⟩gnp.exe⟨U+202C⟩",
        "huge": "truncated, 1.0 MB in total",
        "lines": "line one\nline two",
    }
    expect(tree).to_contain_text(wanted[kind], use_inner_text=True)
    assert len(tree.inner_text()) < 100_000
    assert page.locator(".detail img, .detail script").count() == 0
    assert "owned" not in page.title()


def test_hostile_names_can_be_filtered_by(window: Window) -> None:
    page = window.open("explore?table=hostile_log&q=kind:markup")
    window.rows().first.click()
    page.get_by_role("button", name='Filter by nested."<i>x</i>"').click()
    window.settled()
    page.get_by_role("button", name='Exclude "<b>key</b>"').click()
    window.settled()
    expect(page.locator(".empty")).to_contain_text("No rows found")
    value = page.locator(".search-box input").input_value()
    assert value.startswith('kind:markup nested."<i>x</i>":"<img')
    assert value.endswith('-"<b>key</b>":"bold key"')


def test_a_hostile_value_can_be_filtered_by(window: Window) -> None:
    page = window.open("explore?table=hostile_log&fields=message,kind")
    page.locator(".top-value", has_text="<img src=x").click()
    window.settled()
    expect(window.rows()).to_have_count(1)
    expect(page.locator(".sql-text")).to_contain_text("<img src=x")
    page.get_by_role("button", name="Save as query").click()
    expect(page.locator(".paste")).to_contain_text("<script>")
    assert "owned" not in page.title()


def test_a_hostile_address_is_text_too(window: Window) -> None:
    page = window.open(
        "sql?sql=SELECT '<img src=x onerror=1>' AS \"<b>head</b>\"&saved=<script>1</script>&view=</script>"
    )
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".grid th").first).to_have_text("<b>head</b>")
    expect(page.locator(".grid tbody td").first).to_have_text("<img src=x onerror=1>")
    page = window.open("nowhere?table=<img src=x onerror=1>")
    expect(page.get_by_role("alert").first).to_contain_text("<img src=x")
    window.problems.clear()  # the browser itself reports that the server refused the table


def test_without_a_session_the_page_says_what_to_do(window: Window) -> None:
    browser = window.page.context.browser
    assert browser is not None
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(window.address)
    assert answer is not None
    assert answer.status == 401
    expect(page.locator("body")).to_contain_text("tailpipe serve")
    context.close()
