"""The page about any log: `python -m tests.log_page` writes its list of times from the layouts."""

from __future__ import annotations

import re
from pathlib import Path

from tailpipe.infer.time_layouts import DATES, LAYOUTS, TimeLayout

PAGE = Path(__file__).parents[1] / "docs" / "any-log.md"
_BEGIN, _END = "<!-- layouts -->\n", "<!-- end of layouts -->\n"
_KINDS = {
    "instant": "Times with a zone",
    "local": "Times without a zone, or with an optional one",
    "no year": "Times without a year",
    "no date": "Times without a date",
}


def page(text: str) -> str:
    """The page with the layouts as they are."""
    return re.sub(f"{_BEGIN}.*{_END}", lambda _: _BEGIN + layouts() + _END, text, flags=re.DOTALL)


def by_hand(text: str) -> str:
    """The page without the layouts."""
    return re.sub(f"{_BEGIN}.*{_END}", "", text, flags=re.DOTALL)


def layouts() -> str:
    """The tables of all layouts, by what they leave open."""
    parts = []
    for kind, title in _KINDS.items():
        rows = "".join(map(_row, (one for one in LAYOUTS if one.kind == kind)))
        parts.append(f"\n### {title}\n\n| example | written by |\n|---|---|\n{rows}")
    rows = "".join(map(_row, DATES))
    return "".join(parts) + f"\n### Days, in fields only\n\n| example | written by |\n|---|---|\n{rows}\n"


def _row(layout: TimeLayout) -> str:
    where = ", in fields whose name is that of a time" if layout.needs_name else ""
    return f"| `{layout.example}` | {layout.used_by}{where} |\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
