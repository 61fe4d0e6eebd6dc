"""What holds for every page: accessible in light and dark, in every width; screenshots for the docs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import PATIENCE, SCREENSHOTS, Window
from tests.web.png import smaller

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)

SQL = """SELECT tp_date, count(*) AS requests, count(*) FILTER (status >= 400) AS errors
FROM access_log
GROUP BY ALL
ORDER BY tp_date"""
PAGES = {
    "explore": (
        "explore?table=access_log&last=all&color=status&fields=path,status"
        "&cols=method,path,status,tp_source_ip,user_agent"
    ),
    "row": "explore?table=app_log&q=path:/pay&fields=level,user",
    "sql": f"sql?sql={SQL}&view=line",
    "dashboards": "dashboards",
    "hits": "hits",
    "status": "status?partition=access_log.web",
}
WIDTHS: dict[int, ViewportSize] = {390: {"width": 390, "height": 844}, 1280: {"width": 1280, "height": 720}}
SIZE = 150_000


def show(window: Window, name: str) -> Page:
    """A page with something in it."""
    page = window.open(PAGES[name])
    if name == "row":
        window.rows().first.click()
        expect(page.locator(".detail .tree")).to_be_visible()
    elif name == "sql":
        expect(page.locator(".cm-content")).to_contain_text("FILTER")
        page.locator(".toolbar .run").click()
        expect(page.locator(".result canvas")).to_be_visible()
    elif name == "hits":
        page.locator(".hit-head").first.click()
    return window.settled()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(window: Window, name: str, scheme: Literal["light", "dark"]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window.page.emulate_media(color_scheme=scheme)
    page = show(window, name)
    assert page.locator("html").get_attribute("data-theme") == scheme
    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in {"serious", "critical"}]
    assert not [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in serious]


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_the_screen(window: Window, name: str) -> None:
    page = show(window, name)
    for width in (390, 768, 1024, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)  # charts follow the width in the next frames
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("main").evaluate("one => one.scrollWidth - one.clientWidth") <= 0, width


def test_the_window_is_chosen_on_a_phone(window: Window) -> None:
    window.page.set_viewport_size(WIDTHS[390])
    page = window.open("explore?table=access_log")
    page.get_by_title("Time window").click()
    box = page.get_by_role("dialog", name="Time window").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_the_switch_changes_the_theme_and_is_remembered(window: Window) -> None:
    page = window.open("status")
    before = page.locator("html").get_attribute("data-theme")
    page.get_by_role("button", name="Switch to").click()
    after = page.locator("html").get_attribute("data-theme")
    assert {before, after} == {"light", "dark"}
    page.reload()
    window.settled()
    assert page.locator("html").get_attribute("data-theme") == after
    page.evaluate("localStorage.clear()")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_screenshots(window: Window, name: str, width: int, rewrites_screenshots: bool) -> None:
    path = SCREENSHOTS / f"{name}-{width}.png"
    if rewrites_screenshots:
        window.page.set_viewport_size(WIDTHS[width])
        page = show(window, name)
        page.mouse.move(0, 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(smaller(page.screenshot(animations="disabled", caret="hide")))
    assert path.stat().st_size < SIZE
