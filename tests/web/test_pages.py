"""Dashboards, hits and status in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import PATIENCE, Window
from tests.web.world import GAP

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)


def test_a_dashboard_shows_its_panels(window: Window) -> None:
    page = window.open("dashboards")
    expect(page.get_by_role("heading", name="Web server")).to_be_visible()
    assert int(page.locator(".numbers dd").first.inner_text().replace(",", "")) > 5_000
    expect(page.locator(".panel-card")).to_have_count(5)
    expect(page.locator(".panel-body.line canvas").first).to_be_visible()
    expect(page.locator(".bars li").first).to_contain_text("/")
    expect(page.locator(".panel-body.table .grid")).to_contain_text("198.51.100.66")
    page.get_by_role("link", name="Open Requests by path in SQL").click()
    expect(page.locator(".cm-content")).to_contain_text("GROUP BY ALL")


def test_a_hit_is_acknowledged_opened_again_and_leads_to_its_row(window: Window) -> None:
    page = window.open("hits")
    before = page.locator(".hit").count()
    assert before > 2
    first = page.locator(".hit").first
    title = first.locator(".hit-title").inner_text()
    first.locator(".hit-head").click()
    first.get_by_label("Note").fill("a <b>test</b> of ours")
    first.get_by_role("button", name="Acknowledge").click()
    expect(page.locator(".hit")).to_have_count(before - 1)
    page.get_by_label("Show").select_option("true")
    expect(page.locator(".hit")).to_have_count(1)
    page.locator(".hit-head").first.click()
    expect(page.locator(".hit-body q")).to_have_text("a <b>test</b> of ours")
    expect(page.locator(".hit-title")).to_have_text(title)
    page.get_by_role("button", name="Open again").click()
    expect(page.locator(".hit")).to_have_count(0)
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Severity").select_option("high")
    expect(page.locator(".severity.medium")).to_have_count(0)
    page.locator(".hit-head").first.click()
    page.get_by_role("link", name="Jump to the row").click()
    expect(page.locator(".detail .tree")).to_contain_text("401")
    expect(page.locator("tr.opened")).to_have_count(1)


def test_status_shows_coverage_and_rejected_rows(window: Window) -> None:
    page = window.open("status")
    page.get_by_role("link", name="access_log.web").click()
    window.settled()
    expect(page.locator(".outcome").first).to_be_visible()
    expect(page.get_by_label(f"{GAP:%Y-%m-%d}: missing")).to_be_visible()
    expect(page.get_by_role("region", name="Coverage")).to_contain_text(f"Missing: {GAP:%Y-%m-%d}")
    expect(page.locator(".rejected li").first).to_contain_text("does not match the layout")
    expect(page.locator(".rejected li").first).to_contain_text("line ")
    expect(page.get_by_role("region", name="Stores")).to_be_visible()
    page.locator("a.day.covered.shade-4").first.click()
    window.settled()
    assert window.rows().count() > 10


def test_pages_are_reached_by_keys(window: Window) -> None:
    page = window.open("explore")
    for key, heading in (("h", "Hits"), ("t", "Status"), ("d", "Web server"), ("e", "Explore")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", level=1, name=heading)).to_be_attached()
