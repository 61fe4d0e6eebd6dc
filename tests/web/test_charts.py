"""Charts of answers in a browser: on a phone and a desk, with the keyboard alone, and of every odd answer."""

from __future__ import annotations

import re
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import PATIENCE, Window

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)

PER_STATUS = "SELECT tp_date, status, count(*) AS n FROM access_log GROUP BY ALL ORDER BY 1"
WIDTHS = (390, 1280)


def charted(window: Window, sql: str, view: str = "line", width: int = 1280, more: str = "") -> Page:
    """The chart of a statement that has ended."""
    window.page.set_viewport_size({"width": width, "height": 800})
    page = window.open(f"sql?view={view}{more}")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(sql)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".summary")).to_contain_text("read")
    return page


def names(page: Page) -> list[str]:
    return page.locator(".legend bdi").all_inner_texts()


def reach(page: Page, wanted: Locator) -> None:
    """Go to an element with the Tab key alone."""
    for _ in range(60):
        if wanted.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no way to {wanted}")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_number_beside_the_time_is_a_series_on_every_screen(window: Window, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = charted(window, PER_STATUS, width=width)
    expect(page.locator(".result canvas")).to_be_visible()
    assert {"200", "401", "404"} <= set(names(page))
    assert page.locator(".chart-notes").inner_text() == ""
    page.get_by_role("button", name="Bar", exact=True).click()
    expect(page.locator(".bars figcaption")).to_have_text("n by tp_date and status")
    first = page.locator(".bars > ol > li").first
    expect(first.locator("b")).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d$"))
    expect(first.locator(".bar .bar-name").first).to_have_text("200")
    assert int(first.locator(".bar-value").first.inner_text().replace(",", "")) > 200
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("main").evaluate("one => one.scrollWidth - one.clientWidth") <= 0
    found = Axe().run(page).response["violations"]
    assert not [one["id"] for one in found if one["impact"] in {"serious", "critical"}]


@pytest.mark.parametrize("width", WIDTHS)
def test_columns_are_chosen_by_keys_and_the_address_has_them(window: Window, width: int) -> None:
    page = charted(window, PER_STATUS, width=width)
    page.get_by_role("button", name="Run").focus()
    reach(page, page.get_by_label("Series"))
    assert page.get_by_label("Series").input_value() == "status"
    page.keyboard.press("n")  # the option "none"
    expect(page.get_by_label("Values")).to_have_value("-")
    assert names(page) == ["status", "n"]
    expect(page.locator(".chart-notes")).to_contain_text("Several rows have the same tp_date: each is drawn.")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("n")
    expect(page.locator(".legend bdi")).to_have_text(["n"])
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("s")
    expect(page.get_by_label("X axis")).to_have_value("status")
    chosen = parse_qs(window.query())
    assert (chosen["x"], chosen["y"], chosen["series"]) == (["status"], ["n"], ["-"])
    page.reload()
    window.settled()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("X axis")).to_have_value("status")
    expect(page.get_by_label("Series")).to_have_value("-")


@pytest.mark.parametrize(
    ("sql", "view", "text"),
    [
        (
            "SELECT range AS n, range AS m FROM range(20000)",
            "line",
            "The result is truncated: only 10,000 rows",
        ),
        ("SELECT range AS n FROM range(20000)", "bar", "The first 30 of 10,000 rows are drawn."),
        (
            "SELECT DATE '2026-01-01' AS d, 'a' AS s, range AS n FROM range(9)",
            "line",
            "the same d and s: each is drawn",
        ),
        ("SELECT DATE '2026-01-01' + range::INT AS d, 1e300 * (range - 5) AS n FROM range(9)", "line", ""),
        ("SELECT DATE '2026-01-01' + range::INT AS d, -1e-300 AS n FROM range(9)", "line", ""),
        ("SELECT DATE '2026-01-01' AS d, 17e307 AS n", "line", ""),
        ("SELECT range AS n, NULL::INT AS m FROM range(3)", "line", ""),
        ("SELECT 'a' AS s, 'nan'::DOUBLE AS n", "bar", "1 value of n is not a finite number and is not drawn."),
        ("SELECT DATE '2026-01-01' AS d, unnest(range(25)) AS s, 1 AS n", "line", "The 20 largest of 25 values of s"),
        (
            "SELECT unnest([1, 2]) AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS e",
            "number",
            "first of 2",
        ),
    ],
)
def test_an_odd_answer_is_drawn_and_says_what_is_not(window: Window, sql: str, view: str, text: str) -> None:
    page = charted(window, sql, view)
    expect(
        page.locator({"line": ".chart canvas", "bar": ".bars .bar", "number": ".numbers dd"}[view]).first
    ).to_be_visible()
    expect(page.locator(".chart-notes")).to_contain_text(text)


def test_an_answer_that_cannot_be_a_line_says_why(window: Window) -> None:
    page = charted(window, "SELECT 'a' AS s, 1 AS n")
    expect(page.locator(".result-chart")).to_contain_text("A line needs a column of times")
    page = charted(window, "SELECT 'a' AS s, 'b' AS t", "bar")
    expect(page.locator(".result-chart")).to_contain_text("A bar needs a column of numbers.")


def test_a_number_that_is_not_there_is_not_zero(window: Window) -> None:
    page = charted(
        window, "SELECT NULL::INT AS a, 0.00042 AS b, 12345678901234567890::HUGEINT AS c, 1.239 AS d", "number"
    )
    expect(page.locator(".numbers dd")).to_have_text(["–", "0.00042", "1.23e19", "1.24"])


def test_bars_of_negative_values_go_to_the_left(window: Window) -> None:
    page = charted(window, "SELECT * FROM (VALUES ('a', -30), ('b', 10), ('c', NULL)) t(s, n)", "bar")
    expect(page.locator(".bar-value")).to_have_text(["-30", "10", "–"])
    low, high = (bar.bounding_box() for bar in page.locator(".bar-track i").all())
    assert low is not None
    assert high is not None
    assert low["x"] + low["width"] == pytest.approx(high["x"], abs=1)
    assert low["width"] == pytest.approx(3 * high["width"], abs=3)


def test_a_panel_draws_its_series(window: Window) -> None:
    page = window.open("dashboards")
    panel = page.get_by_role("region", name="Requests by status")
    expect(panel.locator("canvas")).to_be_visible()
    assert {"200", "401", "404"} <= set(panel.locator(".legend bdi").all_inner_texts())
