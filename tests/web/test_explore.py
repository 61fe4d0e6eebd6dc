"""Explore in a browser: search, histogram, fields, rows, one row, and an address that restores it all."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.conftest import PATIENCE, Window
from tests.web.world import GAP, TODAY

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)


def total(page: Page) -> int:
    """The number of rows that the histogram counts."""
    text = page.locator(".histogram header b").inner_text()
    return int(text.split()[0].replace(",", ""))


def test_the_first_view_has_rows_counts_fields_and_the_sql(window: Window) -> None:
    page = window.open("explore?table=access_log")
    times = [row.inner_text() for row in window.rows().locator("td:first-child").all()]
    assert len(times) > 10
    assert times == sorted(times, reverse=True)
    assert total(page) > 100
    expect(page.locator(".top-value").first).to_be_visible()
    expect(page.locator(".sql-text")).to_contain_text("FROM access_log")
    assert "files" in page.locator(".cost").inner_text()


def test_the_search_box_is_reached_by_slash_and_completes_fields(window: Window) -> None:
    page = window.open("explore?table=access_log")
    before = total(page)
    page.keyboard.press("/")
    page.keyboard.type("stat")
    expect(page.locator(".suggestions li").first).to_contain_text("status")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("401 -method:GET path:/log*")
    page.keyboard.press("Enter")
    window.settled()
    assert parse_qs(window.query())["q"] == ["status:401 -method:GET path:/log*"]
    expect(window.rows().first).to_contain_text("/login")
    assert 0 < total(page) < before


def test_a_mistake_in_the_search_is_shown_with_its_place(window: Window) -> None:
    page = window.open("explore?table=access_log&q=path:/cart statsu:500")
    expect(page.get_by_role("alert")).to_contain_text('unknown field "statsu"')
    expect(page.get_by_role("alert")).to_contain_text("status")
    line, caret = page.locator(".error-place").inner_text().splitlines()
    assert line[caret.index("^")] == "s"
    assert all("400" in problem for problem in window.problems)  # the browser itself reports refused requests
    window.problems.clear()


def test_a_value_filters_by_click_and_is_excluded_by_alt_click(window: Window) -> None:
    page = window.open("explore?table=access_log&fields=status&last=7d")
    everything = total(page)
    page.locator(".top-value", has_text="401").click()
    window.settled()
    expect(page.locator(".search-box input")).to_have_value("status:401")
    some = total(page)
    page.locator(".top-value", has_text="401").click(modifiers=["Alt"])
    window.settled()
    expect(page.locator(".search-box input")).to_have_value("-status:401")
    assert some + total(page) == everything


def test_the_window_is_chosen_by_preset_or_typed(window: Window) -> None:
    page = window.open("explore?table=access_log")
    page.get_by_title("Time window").click()
    page.get_by_role("button", name="Last 7 days").click()
    window.settled()
    week = total(page)
    assert "last=7d" in window.query()
    day = TODAY - timedelta(days=2)
    page.get_by_title("Time window").click()
    page.get_by_label("From (UTC)").fill("yesterday")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("alert")).to_contain_text("Write times as")
    page.get_by_label("From (UTC)").fill(f"{day:%Y-%m-%d} 06:00")
    page.get_by_label("To (UTC)").fill(f"{day:%Y-%m-%d} 18:00")
    page.get_by_role("button", name="Apply").click()
    window.settled()
    assert 0 < total(page) < week
    assert parse_qs(window.query())["from"] == [f"{day:%Y-%m-%d}T06:00:00Z"]


def test_the_histogram_is_brushed_coloured_and_moved(window: Window) -> None:
    page = window.open("explore?table=access_log&last=7d")
    before = total(page)
    box = page.locator(".u-over").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=5)
    expect(page.locator(".tip")).to_contain_text("row")
    page.mouse.up()
    page.wait_for_url(re.compile("from="))
    window.settled()
    assert 0 < total(page) < before
    page.get_by_label("Colour by").select_option("status")
    expect(page.locator(".histogram .legend button").first).to_be_visible()
    narrow = total(page)
    page.get_by_role("button", name="Zoom out").click()
    expect(page.locator(".histogram header b")).not_to_have_text(f"{narrow:,} rows")
    window.settled()
    assert total(page) > narrow
    assert "color=status" in window.query()


def test_days_that_failed_are_hatched(window: Window) -> None:
    page = window.open("explore?table=access_log&last=30d")
    expect(page.locator(".histogram header")).to_contain_text("1 d not collected")
    hatched = page.evaluate("""() => {
      const canvas = document.querySelector(".histogram canvas");
      return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part > 0);
    }""")
    assert hatched
    assert GAP


def test_keys_walk_the_rows_and_open_one(window: Window) -> None:
    page = window.open("explore?table=app_log")
    for key in "jjjk":
        page.keyboard.press(key)
    expect(page.locator("tr.cursor")).to_have_attribute("id", "grid-row-1")
    page.keyboard.press("Enter")
    expect(page.locator(".detail .tree")).to_contain_text("duration_ms")
    first = page.locator(".detail h2").inner_text()
    page.keyboard.press("j")
    expect(page.locator(".detail h2")).not_to_have_text(first)
    page.keyboard.press("Escape")
    expect(page.locator(".detail")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()


def test_a_row_leads_on(window: Window) -> None:
    page = window.open("explore?table=access_log&q=status:401")
    window.rows().first.click()
    page.get_by_role("button", name="Filter by path").click()
    window.settled()
    expect(page.locator(".search-box input")).to_have_value(re.compile(r'status:401 path:"/'))
    page.get_by_role("button", name="Exclude bytes").click()
    window.settled()
    assert "-bytes:" in page.locator(".search-box input").input_value()
    page.get_by_role("button", name="tp_partition as column", exact=True).click()
    expect(page.locator("th", has_text="tp_partition")).to_be_visible()
    page.get_by_role("link", name="Around this moment").click()
    window.settled()
    expect(page.locator(".search-box input")).to_have_value("")
    assert total(page) < 100
    page.get_by_role("button", name="Same address or user in all tables").click()
    page.locator(".related a").first.click()
    window.settled()
    assert "table=*" in window.query().replace("%2A", "*")
    assert {"access_log"} <= {cell.inner_text() for cell in window.rows().locator("td:first-child").all()}


def test_more_rows_come_while_scrolling(window: Window) -> None:
    page = window.open("explore?table=flow_log&last=30d")
    first = int(page.locator(".grid").get_attribute("aria-rowcount") or 0)
    for _ in range(3):
        page.locator(".rows .grid-scroll").evaluate("box => box.scrollTop = box.scrollHeight")
        page.wait_for_timeout(200)
    expect(page.locator(f'.grid[aria-rowcount="{first}"]')).to_have_count(0)
    assert int(page.locator(".grid").get_attribute("aria-rowcount") or 0) > first
    assert window.rows().count() < 100  # only those in view are in the page


def test_the_address_restores_everything(window: Window) -> None:
    page = window.open("explore?table=access_log&q=status:401&last=7d&color=status&cols=path,status&fields=path")
    window.rows().nth(2).click()
    expect(page.locator(".detail .tree")).to_be_visible()
    shown = page.url
    again = page.context.new_page()
    again.goto(shown)
    expect(again.locator(".detail .tree")).to_be_visible()
    expect(again.locator(".search-box input")).to_have_value("status:401")
    expect(again.get_by_title("Time window")).to_contain_text("Last 7 days")
    expect(again.get_by_label("Colour by")).to_have_value("status")
    assert [head.inner_text() for head in again.locator(".grid th").all()] == ["time", "path", "status"]
    expect(again.locator(".field-name[aria-expanded=true]")).to_have_count(1)
    again.close()
    page.go_back()
    expect(page.locator(".detail")).to_have_count(0)


def test_a_newer_search_aborts_the_older(window: Window) -> None:
    page = window.open("explore?table=access_log")
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(f"{request.url} {request.failure}"))

    def slow(route: Route) -> None:
        if '"q":"status:401"' in (route.request.post_data or ""):
            return  # this answer never comes
        route.continue_()

    page.route("**/api/rows", slow)
    box = page.locator(".search-box input")
    box.fill("status:401")
    box.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    box.fill("status:500")
    box.press("Enter")
    window.settled()
    page.unroute("**/api/rows")
    assert any("/api/rows" in one and "ABORTED" in one for one in failed)
    expect(page.locator(".sql-text")).to_contain_text("500")


def test_no_rows_offer_a_way_on(window: Window) -> None:
    page = window.open("explore?table=access_log&q=path:/nowhere")
    expect(page.locator(".empty")).to_contain_text("No rows found")
    page.get_by_role("button", name="Clear the search").first.click()
    window.settled()
    assert window.rows().count() > 10


def test_the_sql_opens_in_the_sql_page_and_runs(window: Window) -> None:
    page = window.open("explore?table=access_log&q=status:401")
    page.get_by_role("button", name="Open in SQL").click()
    expect(page.locator(".cm-content")).to_contain_text("401")
    expect(page.locator(".summary")).to_contain_text("ms")
    assert window.rows().count() > 0


def test_a_search_becomes_config_to_paste(window: Window) -> None:
    page = window.open("explore?table=access_log&q=status:401")
    page.get_by_role("button", name="Save as detection").click()
    text = page.locator(".paste").inner_text()
    assert 'detection "my_detection"' in text
    assert "401" in text
    assert "TIMESTAMP" not in text  # the window is not part of the rule
