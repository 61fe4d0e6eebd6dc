"""The documentation site: built without a network, searched in a real browser, from its own files alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.conftest import PATIENCE, Window, watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
WIDTHS = [390, 1280]

pytestmark = pytest.mark.slow


class Quiet(SimpleHTTPRequestHandler):
    """Files of a directory, without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site; the browser comes first, because without it nothing is tested."""
    assert browser
    directory = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    done = subprocess.run(build, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(directory))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_reader_finds_a_page_by_a_word(browser: Browser, site: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    window = Window(context.new_page(), site)
    watch(window)
    page = window.page
    page.goto(f"{site}/index.html")
    page.keyboard.press("/")
    page.locator("input[name=query]").fill("dedupe_key")
    found = page.locator(".md-search-result__item a", has_text="Deduplication").first
    found.click()
    expect(page.locator("#deduplication")).to_be_in_viewport(timeout=PATIENCE)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    context.close()
    assert not window.problems
