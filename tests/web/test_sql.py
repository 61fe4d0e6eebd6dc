"""The SQL page in a browser: editor, stream, Stop, history, charts, export, saved queries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import PATIENCE, Window

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)


def write(page: Page, sql: str) -> None:
    """Replace the text of the editor."""
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(sql)


def test_a_statement_is_completed_run_and_kept(window: Window) -> None:
    page = window.open("sql")
    page.locator(".cm-content").click()
    page.keyboard.type("SELECT status, count(*) AS n FROM acc")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("access_log")
    page.wait_for_timeout(150)  # the editor takes no choice before its list has been in view for a moment
    page.keyboard.press("Enter")
    page.keyboard.type(" GROUP BY ALL ORDER BY n DESC")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".summary")).to_contain_text("ms")
    expect(window.rows().first).to_contain_text("200")
    assert "FROM+access_log" in page.url
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".side-list button").first).to_contain_text("SELECT status")


def test_a_mistake_is_shown_in_its_line(window: Window) -> None:
    page = window.open("sql")
    write(page, "SELECT status,\n  statsu\nFROM access_log")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("statsu")
    expect(page.locator(".error-place")).to_contain_text("2 │")
    assert all("400" in problem for problem in window.problems)
    window.problems.clear()


def test_a_long_statement_streams_and_stops(window: Window) -> None:
    page = window.open("sql")
    write(page, "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE hash(a.range) = b.range")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".summary")).to_contain_text("stopped")
    write(page, "SELECT range AS n, 'row ' || range AS text FROM range(30000)")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".summary")).to_contain_text("truncated")
    assert window.rows().count() < 100  # only those in view are in the page
    page.locator(".result .grid-scroll").evaluate("box => box.scrollTop = box.scrollHeight")
    expect(page.locator(".grid")).to_contain_text("row 9999")


def test_an_answer_is_charted(window: Window) -> None:
    page = window.open("sql?saved=requests_per_day")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".summary")).to_contain_text("ms")
    page.get_by_role("button", name="Line").click()
    expect(page.locator(".result-chart canvas")).to_be_visible()
    expect(page.locator(".result-chart .legend")).to_contain_text("errors")
    page.get_by_role("button", name="Bar").click()
    expect(page.locator(".bars li").first).to_be_visible()
    page.get_by_role("button", name="Number").click()
    expect(page.locator(".numbers")).to_contain_text("requests")
    assert "view=number" in page.url


def test_a_saved_query_takes_parameters(window: Window) -> None:
    page = window.open("sql")
    page.get_by_role("tab", name="Saved").click()
    page.get_by_label("Find a saved query").fill("failed logins by")
    page.locator(".side-list button", has_text="Failed logins by address").click()
    expect(page.locator(".cm-content")).to_contain_text("$days")
    page.get_by_label(re.compile("^days")).fill("0")
    page.locator(".toolbar .run").click()
    expect(page.locator(".summary")).to_contain_text("0 rows")
    page.get_by_label(re.compile("^days")).fill("30")
    page.locator(".toolbar .run").click()
    expect(window.rows().first).to_contain_text("198.51.100.66")


@pytest.mark.parametrize(("label", "start"), [("CSV", b"n,text"), ("JSON Lines", b'{"n"'), ("Parquet", b"PAR1")])
def test_an_answer_is_exported(window: Window, label: str, start: bytes) -> None:
    page = window.open("sql")
    write(page, "SELECT range AS n, 'a' AS text FROM range(20000)")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as coming:
        page.get_by_role("button", name=label, exact=True).click()
    content = Path(coming.value.path()).read_bytes()
    assert content.startswith(start)
    if label != "Parquet":
        assert content.count(b"\n") >= 20_000
