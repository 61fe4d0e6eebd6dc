"""Prose that must not come back: turns of phrase that readers stumbled over, each with what to write instead.

`python -m tests.prose` prints the words of the pages and every finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.message_page import messages
from tests.unit.docs.pages import PAGES, prose, read

TURNS = {
    r"ask(?:s|ed|ing)? for": "request, require",
    r"(?:is|are|was|were) told(?! apart)": "is reported",
    r"nothing there|there is nothing": "no results",
    r"what is (?:there|here)": "existing data",
    r"what(?:ever)? (?:it|they) (?:brings?|holds?|says?)": "its content",
    r"leaves? out|left out|leaving out": "skip, omit",
    r"whole,? or not at all|there whole": "atomically",
    r"logs of (?:AWS|your own)": "AWS logs, your own logs",
    r"so many|as many as there are": "a number",
    r"goes? on (?:from|where|with|after)": "continue",
    r"brings? (?:them |it )?back": "restore",
    r"put small files together": "merge small files",
    r"its own words": "the original message",
    r"(?:is|are) there already": "exist",
    r"nobody|somebody": "no one; name the actor",
    r"of (?:its|their|our|your) own\b(?! (?:config|tables?|logs?|data|code|server|plugin))": "own X, or a separate X",
    r"in place of": "instead of",
    r"beside (?:it|them|each|that|the|those|this)": "next to, in addition to",
    r"behind (?:it|the|that|a|\")": "after",
    r"stands? (?:in|for itself|there|under|behind|at|between|alone)": "is in, means",
    r"lies? (?:in|there|on|under)": "is in",
    r"a whole number": "an integer",
    r"with blanks between|blanks between": "separated by spaces",
    r"leads? (?:to it|there|somewhere)": "points to",
    r"in one go|in a go": "at once",
    r"of the kind|kinds of logs that": "name the kind",
    r"does not matter which": "any",
    r"please": "(drop it)",
    r"such that|insofar|hereby|thereof|therein|whereby|wherein": "plain words",
    r"found out from": "detected from",
    r"too much": "unexpected",
    r"is (?:a|one) .{1,20} too many": "unexpected",
    r"belong together": "must be set together",
    r"give(?:s)? no": "has no, returns no",
}
_FOUND = re.compile(r"\b(?:" + "|".join(f"(?P<t{i}>{turn})" for i, turn in enumerate(TURNS)) + r")", re.IGNORECASE)
_INSTEAD = list(TURNS.values())
_EXEMPT = re.compile(
    r"docs/adr/|docs/tables/|docs/shipped-detections|docs/reference/messages|CHANGELOG|CONTRIBUTING|tests/"
)
"""Generated pages follow their declarations, decisions keep the words of their time, CONTRIBUTING names the turns."""


def pages() -> list[str]:
    """The pages that are written by hand."""
    return [page for page in PAGES if not _EXEMPT.search(page)]


def findings_in(text: str) -> list[str]:
    """Each turn in a text, with what to write instead."""
    plain = re.sub(r"`[^`\n]*`", "`x`", text)
    found = _FOUND.finditer(plain)
    return [f'"{one[0]}": write {_INSTEAD[int((one.lastgroup or "t0")[1:])]}' for one in found]


def page_findings(page: str) -> list[str]:
    """Each turn in the prose of a page."""
    return findings_in(prose(read(page)))


def message_findings() -> Iterator[str]:
    """Each turn in a message, with the message."""
    for _, message, hint in messages():
        yield from (f"{message} ({hint}): {one}" for one in findings_in(f"{message} · {hint}"))


def words_of(page: str) -> int:
    """The words of a page that were written by hand: without code blocks and tables that are generated."""
    text = re.sub(r"^\| (?:option|flag) \|.*\n(?:\|.*\n)+", "", prose(read(page)), flags=re.MULTILINE)
    return len(text.split())


def main() -> None:
    """Print the counts and the findings."""
    counts = {page: words_of(page) for page in pages()}
    for page, count in sorted(counts.items(), key=lambda item: item[1]):
        print(f"{count:6} {page}")
        for finding in page_findings(page):
            print(f"         {finding}")
    print(f"{sum(counts.values()):6} words")
    for finding in message_findings():
        print(finding)


if __name__ == "__main__":
    main()
