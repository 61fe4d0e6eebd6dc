"""Prose that must not come back: turns of phrase that readers stumbled over, each with what to write instead.

`python -m tests.prose` prints the words of the pages and every finding; with names of rooms, those of their code.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.command_page import written_by_hand
from tests.log_page import by_hand as log_by_hand
from tests.message_page import messages
from tests.reference_pages import config_by_hand
from tests.report_texts import report_keys, report_texts
from tests.unit.docs.pages import PAGES, prose, read

TURNS = {
    r"ask(?:s|ed|ing)? for(?! confirmation)": "request, require",
    r"(?:is|are|was|were) told(?! apart)": "is reported",
    r"nothing there|there is nothing": "no results",
    r"what is (?:there|here)": "existing data",
    r"what(?:ever)? (?:it|they) (?:brings?|holds?|says?)": "its content",
    r"leaves? out|left out|leaving out": "skip, omit",
    r"whole,? or not at all|there whole": "atomically",
    r"logs of (?:AWS|your own)": "AWS logs, your own logs",
    r"(?:only|just|takes?) so many|as many as there are": "a number",
    r"goes? on (?:from|where|after)": "continue",
    r"brings? (?:them |it )?back": "restore",
    r"put small files together": "merge small files",
    r"its own words": "the original message",
    r"(?:is|are) there (?:already|twice)": "exist, is duplicated",
    r"nobody|somebody": "no one; name the actor",
    r"of (?:its|their|our|your) own\b": "own X, or a separate X",
    r"in place of": "instead of",
    r"beside (?:it|them|each|that|the|those|this)": "next to, in addition to",
    r"behind (?:it|that|\"|the (?:argument|colon|dot|header|label|layout|line|name|point|tag|time|value)s?)\b": "after",
    r"stands? (?:in|for itself|there|under|behind|at|between|alone)": "is in, means",
    r"lies? (?:in|there|on|under|between|outside)": "is in",
    r"(?:a|no) whole number": "an integer",
    r"blanks between": "separated by spaces",
    r"leads? (?:to it|there|somewhere|in a circle)": "points to",
    r"please": "(drop it)",
    r"insofar|hereby|thereof|therein|whereby|wherein": "plain words",
    r"found out from": "detected from",
    r"is too much": "unexpected",
    r"belong(?:s)? together": "must be set together",
    r"gives no": "has no, returns no",
    r"is (?:a|an) .{1,20} too many": "unexpected",
    r"says? nothing about": "plain words",
    r"tell (?:the )?whole": "plain words",
    r"without a word": "silently",
    r"in the place of": "instead of",
    r"of (?:ours|yours|theirs)": "our, your, their",
    r"keeps? to (?:it|them|that|the first)|which the \w+ keeps to": "respect",
    r"without any config": "by default",
    r"what you see": "message",
    r"worth an alarm": "alert if",
    r"(?:is|are) waited for": "waits",
    r"by which (?:it|they|queries|detections|a \w+) (?:is|are)": "that identify, that select",
}
REPORT_TURNS = {
    r"repair with": "to repair:",
    r"put(?:s)? back|brings? .{1,20}back": "restore, upload again",
    r"swept": "removed",
    r"(?:in the store|here|there) alone|committed here|from here\b": "only in the store, only on this disk",
    r"(?<!there )(?:is|are) no (?:text|event|file|directory|log)s?\b": "is not",
    r"not ours|none of ours": "not a file of tailpipe",
    r"(?:logs?|files?|they|it) (?:is|are) (?:still )?there\b": "exist",
    r"next try": "retry",
    r"it hangs": "is stuck",
    r"the one before": "the previous one",
    r"go(?:es)? on\b": "continue",
    r"what was found": "details",
    r"trouble": "problem",
    r"holds? nothing": "is empty",
    r"tells? (?:the rest|what|how)": "list, show",
    r"means? nothing": "does not apply",
    r"run takes it|takes the other": "collects",
    r"already taken": "already collected",
    r"catches up": "name what happens next",
    r"any ?more\b": "no longer",
    r"not collected: because": "the reason alone",
}
"""The same for what commands print: phrases of earlier reports."""
REPLACED_KEYS = {
    "accepted": "kept",
    "accounts": "row_counts",
    "again_seconds": "retry_seconds",
    "begun_at": "started_at",
    "bytes_there": "bytes_in_store",
    "chore": "task",
    "copied": "is_materialized",
    "cut": "truncated",
    "files_there": "files_in_store",
    "found_in": "columns",
    "freed_size": "freed_bytes",
    "held": "clock_warning",
    "is_on": "enabled",
    "left": "offloaded_files",
    "left_out": "omitted_columns",
    "misfits": "type_errors",
    "new_size": "new_bytes",
    "not_pushed": "unpushed_commits",
    "not_pushed_since": "unpushed_since",
    "noticed": "warnings",
    "pulled": "pulled_commits",
    "refused": "unmatched_files",
    "tidied": "maintenance",
    "trouble": "problem",
    "unfilled": "empty_columns",
    "unfinished": "incomplete_artifacts",
    "unpushed": "unpushed_commits",
    "withheld": "unavailable_artifacts",
    "without_rows": "empty_tables",
}
"""Keys of reports that were replaced before the first release, each with the key to use."""
CODE_TURNS = {
    r"^the same\b": "what it does, without its neighbours",
    r"again and again": "repeatedly",
    r"\banew\b": "again",
    r"\b(?:whoever|somebody|nobody)\b": "name the actor",
    r"\b(?:told|tells?|telling)\b": "report, replay, distinguish, contain",
    r"\b(?:asked|asks?)\b": "request",
    r"\b(?:stranger|wish|wishes)\b": "plain words",
    r"\bbeside\b": "next to, in addition to",
    r"\bso that none\b": "plain words",
    r"\bwhat (?:is there|became)\b": "existing data, the outcome",
    r"\bstands?\b": "is",
    r"\blies?\b": "is",
}
"""The same for the first lines of docstrings."""
CODE_NAMES = {
    "anew": "again",
    "ask": "request, send, query",
    "asked": "requested",
    "asks": "names, needs",
    "beside": "next_to, other",
    "keeping": "retention",
    "said": "words, reported",
    "stranger": "unknown",
    "tell": "report, replay",
    "tells": "report, contain",
    "told": "render, explain, known",
    "wish": "request",
}
"""Words that no name in the code has, with what to write instead."""
_BY_HAND = {
    "docs/reference/cli.md": written_by_hand,
    "docs/reference/config.md": config_by_hand,
    "docs/any-log.md": log_by_hand,
}
_EXEMPT = re.compile(r"docs/adr/|docs/tables/|docs/shipped-detections|docs/reference/messages")
"""Generated pages follow their declarations, and decisions keep the words of their time."""


def pages() -> list[str]:
    """The pages that are written by hand."""
    return [page for page in PAGES if page.startswith(("README", "docs/")) and not _EXEMPT.search(page)]


@cache
def _any_of(turns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(f"(?P<t{i}>{turn})" for i, turn in enumerate(turns)) + r")", re.IGNORECASE)


def findings_in(text: str, turns: Mapping[str, str] = TURNS) -> list[str]:
    """Each turn in a text, with what to write instead."""
    plain, instead = re.sub(r"`[^`\n]*`", "`x`", text), list(turns.values())
    found = _any_of(tuple(turns)).finditer(plain)
    return [f'"{one[0]}": write {instead[int((one.lastgroup or "t0")[1:])]}' for one in found]


def page_findings(page: str) -> list[str]:
    """Each turn in the prose of a page."""
    return findings_in(prose(read(page)))


def message_findings() -> Iterator[str]:
    """Each turn in a message, with the message."""
    for _, message, hint in messages():
        yield from (f"{message} ({hint}): {one}" for one in findings_in(f"{message} · {hint}"))


def report_findings() -> Iterator[str]:
    """Each turn in a text that a command prints, and each key that was replaced, with its place."""
    for place, text in report_texts():
        yield from (f"{place}: {text}: {one}" for one in findings_in(text, TURNS | REPORT_TURNS))
    for place, key in report_keys():
        if key in REPLACED_KEYS:
            yield f'{place}: "{key}": write {REPLACED_KEYS[key]}'


_OF_PYTHON = {("unpack/archives.py", "tell")}
"""Names that Python requires, of files."""


def code_findings(rooms: tuple[str, ...] = ()) -> Iterator[str]:
    """Each turn in the first line of a docstring, and each name with a word that was replaced, with its place."""
    root = Path(__file__).parent.parent / "src" / "tailpipe"
    for path in sorted(root.rglob("*.py")):
        short = path.relative_to(root)
        if rooms and short.parts[0].removesuffix(".py") not in rooms:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                line = getattr(node, "lineno", 1)
                yield from (f"{short}:{line}: {first}: {one}" for one in findings_in(first, CODE_TURNS))
            for name, line in _names_in(node):
                for word in re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()):
                    if word in CODE_NAMES and (short.as_posix(), name) not in _OF_PYTHON:
                        yield f'{short}:{line}: "{name}": write {CODE_NAMES[word]}'


def _names_in(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a node gives to something."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.lineno
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr, node.lineno


def words_of(page: str) -> int:
    """The words of a page that were written by hand: without code blocks, addresses of links, and generated parts."""
    by_hand = _BY_HAND.get(page, str)(read(page))
    return len(re.findall(r"\S*\w\S*", re.sub(r"\]\([^)]*\)", "]", prose(by_hand))))


def main() -> None:
    """Print the counts and the findings."""
    if rooms := tuple(sys.argv[1:]):
        print(*code_findings(rooms), sep="\n")
        return
    counts = {page: words_of(page) for page in pages()}
    for page, count in sorted(counts.items(), key=lambda item: item[1]):
        print(f"{count:6} {page}")
        for finding in page_findings(page):
            print(f"         {finding}")
    print(f"{sum(counts.values()):6} words")
    for finding in (*message_findings(), *report_findings(), *code_findings()):
        print(finding)


if __name__ == "__main__":
    main()
