"""One server and one browser for all tests of the explorer's pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import pytest

from tests.web.world import make_workspace, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = Path(__file__).parents[2] / "docs" / "images" / "explorer"
PATIENCE = 30_000
"""How long to wait for what a page shows, in milliseconds: the machine may be busy."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the browser in one worker of the run."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("browser"))


@dataclass
class Window:
    """A page of the explorer, and everything that it should not have done."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def open(self, where: str) -> Page:
        """Load the explorer anew at `#/page?state`, and wait until it has what it asks for."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/#/{quote(where, safe='/?=&:*~.,+')}")
        return self.settled()

    def settled(self) -> Page:
        """The page, when nothing is loading."""
        self.page.locator("h1").first.wait_for(state="attached")
        self.page.locator(".loading.on").first.wait_for(state="detached")
        return self.page

    def rows(self) -> Locator:
        """The rows of the grid in view."""
        return self.page.locator(".grid tbody tr[id]")

    def query(self) -> str:
        """What stands behind the `?` of the address."""
        return urlsplit(self.page.url).fragment.partition("?")[2]


def watch(window: Window) -> None:
    """Note console errors, CSP reports and requests elsewhere."""
    page = window.page
    page.on("pageerror", lambda error: window.problems.append(f"error: {error}"))
    page.on("console", lambda message: _message(window, message.type, message.text))
    page.on("request", lambda request: _elsewhere(window, request.url))
    page.on("dialog", lambda dialog: window.problems.append(f"dialog: {dialog.message}"))


def _message(window: Window, kind: str, text: str) -> None:
    if kind in {"error", "warning"}:
        window.problems.append(text)


def _elsewhere(window: Window, url: str) -> None:
    if not url.startswith((window.address, "blob:", "data:", "about:")):
        window.problems.append(f"request: {url}")


@pytest.fixture(scope="package")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that lead to the workspace."""
    home = tmp_path_factory.mktemp("world")
    if os.environ.get("UPDATE_SCREENSHOTS"):  # paths in the docs look the same wherever they were made
        home = Path("/tmp/demo")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
    return make_workspace(home)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, as Debian packages it.

    Not for the whole session: as long as it runs, its thread has a running event loop, and others need one there.
    """
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}: the explorer and the site are NOT tested; apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)


@pytest.fixture(scope="package")
def explorer(browser: Browser, env: dict[str, str]) -> Iterator[str]:
    """The address of the explorer, with its token; the browser comes first, because without it nothing is tested."""
    assert browser
    with served(env) as address:
        yield address


@pytest.fixture(scope="package")
def context(browser: Browser, explorer: str) -> Iterator[BrowserContext]:
    """A browser that has been let in."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(explorer)
    page.close()
    yield context
    context.close()


@pytest.fixture
def window(context: BrowserContext, explorer: str) -> Iterator[Window]:
    """A page that must end without a complaint."""
    page = context.new_page()
    opened = Window(page, explorer.partition("/?")[0])
    watch(opened)
    yield opened
    page.close()
    assert not opened.problems


@pytest.fixture(scope="session")
def rewrites_screenshots() -> bool:
    """Whether to write the screenshots of the docs anew: UPDATE_SCREENSHOTS=1."""
    return bool(os.environ.get("UPDATE_SCREENSHOTS"))
