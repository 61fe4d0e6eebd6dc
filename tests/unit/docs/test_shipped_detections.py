"""The page of shipped detections shows exactly what is shipped."""

from __future__ import annotations

from tests.detection_pages import PAGE, page


def test_the_page_is_made_of_what_is_shipped() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make pages"
