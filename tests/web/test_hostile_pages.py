"""Hostile text on every page: nothing runs, hides or overflows, and `constructor` is a name like others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tailpipe.home.home import Home
from tests.web.conftest import PATIENCE, Window
from tests.web.test_charts import charted
from tests.web.world import BIDI, ENDING, HIDDEN, NAMES, TITLE, environment

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)

HIDING = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufe0f\u3164\u034f]|[\U000e0000-\U000e007f]"
)
ALL_TEXT = """() => {
  const texts = [document.title];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(".cm-editor")) texts.push(walk.currentNode.data);
  for (const one of document.querySelectorAll("main *")) {
    for (const name of ["title", "aria-label", "placeholder"]) texts.push(one.getAttribute(name) || "");
  }
  return texts.join("\\n");
}"""
RUNNING = (
    "main :is(iframe, object, embed, script, base, link, img:not(.cm-editor *)),"
    "a[href^='javascript' i], [onerror], [onload]"
)


def check(page: Page) -> str:
    """The text of the page, which neither hides nor runs anything, nor is wider than the screen."""
    text: str = page.evaluate(ALL_TEXT)
    assert not HIDING.search(text), HIDING.search(text)
    assert page.locator(RUNNING).count() == 0
    assert page.title() == "" or "owned" not in page.title()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("main").evaluate("one => one.scrollWidth - one.clientWidth") <= 0, width
    return text


@pytest.mark.parametrize(
    "where",
    [
        "explore?table=hostile_log&fields=message,kind,constructor,__proto__",
        "explore?table=*",
        "explore?table=hostile_log&color=message",
        "dashboards?name=hostile",
        "hits?detection=hostile",
        "status?partition=hostile_log.test",
        "sql",
        "sql?saved=hostile",
    ],
)
def test_no_page_runs_or_hides_what_a_log_or_a_title_says(window: Window, where: str) -> None:
    page = window.open(where)
    for shown in page.locator(".hit-head").all():
        shown.click()
    for shown in page.locator(".side-list summary").all():
        shown.click()
    text = check(page)
    if "hostile" in where and "status" not in where:
        assert "⟨U+202E⟩" in text
    if "name=hostile" in where:
        expect(page.locator("h1")).to_contain_text(TITLE)
        page.get_by_role("link", name=re.compile("Open <img")).first.click()
        check(window.settled())


@pytest.mark.parametrize("kind", ["markup", "escapes", "bidi", "huge", "lines", "names", "ending", "hidden"])
def test_no_row_runs_or_hides_anything(window: Window, kind: str) -> None:
    page = window.open(f"explore?table=hostile_log&q=kind:{kind}")
    window.rows().first.click()
    expect(page.locator(".detail .tree")).to_be_visible()
    page.get_by_role("button", name="Show the whole SQL").click()
    page.get_by_role("button", name="Same address or user").click()
    text = check(page)
    if kind == "hidden":
        for code in ("E0041", "3164", "115F", "034F", "FE0F", "180E", "2028"):
            assert f"⟨U+{code}⟩" in text
        assert HIDDEN[:4] in text


@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_any_name_is_counted_shown_and_filtered_by(window: Window, name: str) -> None:
    page = window.open("explore?table=hostile_log&q=kind:names&fields=-&cols=kind")
    field = page.locator(".field").filter(has=page.get_by_text(name, exact=True))
    field.locator(".field-name").click()
    expect(field.locator(".top-value")).to_contain_text("a value")
    field.locator(".as-column").click()
    window.settled()
    assert name in page.locator(".grid th .th > span").all_inner_texts()
    page.get_by_label("Colour by").select_option(name)
    window.settled()
    expect(page.locator(".histogram .legend")).to_contain_text("a value")
    page.reload()
    window.settled()
    expect(field.locator(".top-value")).to_contain_text("a value")
    page.locator(".top-value", has_text="a value").click()
    window.settled()
    expect(window.rows()).to_have_count(1)
    expect(page.locator(".grid tbody")).to_contain_text("a value")


@pytest.mark.parametrize(
    "where",
    [
        "status?days=zzz&partition=__proto__",
        "explore?from=zzz&to=1e99&row=a~b~c&cols=__proto__,,%2C&fields=constructor&color=toString&last=constructor",
        "hits?severity=__proto__&last=constructor&acknowledged=zzz&detection=<b>",
        "dashboards?name=constructor",
        "sql?view=constructor&x=__proto__&y=toString&series=-&p.constructor=1&saved=__proto__",
        "__proto__?constructor=1",
    ],
)
def test_a_hostile_address_never_breaks_the_page(window: Window, where: str) -> None:
    page = window.open(where)
    expect(page.locator("main h1")).to_be_attached()
    check(page)
    window.problems[:] = [one for one in window.problems if not re.search(r"status of 4\d\d", one)]
    page.get_by_role("link", name="Status", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Status")).to_be_visible()


@pytest.mark.parametrize("view", ["table", "line", "bar", "number"])
def test_ten_thousand_columns_are_shown_in_part(window: Window, view: str) -> None:
    columns = "SELECT tp_date, " + ", ".join(f"{n} AS c{n}" for n in range(10_000)) + " FROM access_log LIMIT 1"
    page = charted(window, columns, view)
    check(page)
    # The editor itself warns about the long line.
    window.problems[:] = [one for one in window.problems if not one.startswith("Measure loop")]
    if view == "table":
        expect(page.locator(".grid-note")).to_have_text(
            "The first 200 of 10,001 columns are shown: select fewer to see others."
        )
        assert page.locator(".grid th").count() <= 201
    elif view != "number":
        expect(page.locator(".chart-notes")).to_contain_text("The 20 largest of 10,000 columns are drawn.")


def test_columns_and_labels_of_any_name_are_charted(window: Window) -> None:
    rows = f"(VALUES ('{BIDI}', 1), ('__proto__', 2)) t(s, n)"
    sql = f'SELECT s AS "{BIDI}", n AS "__proto__", n AS "<b>n</b>" FROM {rows}'
    for view in ("table", "bar", "number"):
        assert "⟨U+202E⟩" in check(charted(window, sql, view)) or view == "number"


@pytest.mark.parametrize("kind", ["query", "detection"])
@pytest.mark.parametrize(
    "text", [ENDING, BIDI, "a\r\nEOT\r\n}", "%{x} LIMIT ${y}", "tp_timestamp >= TIMESTAMP 'x' AND", "\n\n  x"]
)
def test_config_to_paste_is_one_block_with_the_same_sql(window: Window, tmp_path: Path, kind: str, text: str) -> None:
    page = window.open("status")
    condition = "message = '" + text.replace("'", "''") + "'"
    sql = f"SELECT *\nFROM hostile_log\nWHERE {condition}"
    window_of = "tp_timestamp >= TIMESTAMP '2026-01-01' AND tp_timestamp < TIMESTAMP '2026-01-02' AND "
    whole = (
        sql if kind == "query" else f"SELECT a FROM t WHERE {window_of}{condition} ORDER BY tp_timestamp DESC LIMIT 9"
    )
    code = f"async (sql) => (await import('/static/app/paste.js')).{kind}('mine', sql, 'hostile_log')"
    config = page.evaluate(code, whole)
    table = 'table "hostile_log" {\n  format = format.jsonl.default\n  column "tp_timestamp" { source = "time" }\n}\n'
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "mine.tpc").write_bytes(f"{table}{config}\n".encode())
    found = Home.open(env=environment(tmp_path)).config
    assert not found.notifiers
    block = found.queries["mine"].text if kind == "query" else found.detections["mine"].where
    assert (block or "").strip() == (sql if kind == "query" else condition)
