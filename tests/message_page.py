"""The list of error messages: `python -m tests.message_page` writes it from the places that raise them.

A message is what the source says, with `…` for each value. Messages that are made elsewhere and only passed on have no
row.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tailpipe import errors

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "messages.md"
SOURCE = ROOT / "src" / "tailpipe"

_INTRO = """# Error messages

Every error message, by class, with the next step where the message has one. `…` stands for a value.
[Troubleshooting](../troubleshooting.md) starts from symptoms, and [Exit codes](cli.md#exit-codes) lists the classes.
"""
_HEADINGS = {"Problem": "Config", **{name: name for name in errors.__all__ if name.endswith("Error")}}
"""The heading of each class whose first text is a message."""


def page() -> str:
    """The whole page."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for kind, message, hint in sorted(messages()):
        known = found[kind].get(message, "")
        found[kind][message] = known or hint
    parts = [_INTRO]
    for kind, heading in _HEADINGS.items():
        if kind in found:
            rows = "".join(f"| {_cell(message)} | {_cell(hint)} |\n" for message, hint in found[kind].items())
            parts.append(f"\n## {heading}\n\n| message | next step |\n|---|---|\n{rows}")
    return "".join(parts)


def messages() -> Iterator[tuple[str, str, str]]:
    """The class, the message and the hint of each error that the source makes."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (kind := _name(node.func)) in _HEADINGS:
                texts = [text for one in node.args if (text := text_of(one)) and text.strip("… ")]
                hints = [text_of(one.value) for one in node.keywords if one.arg == "hint"]
                if texts:
                    yield kind, texts[0], hints[0] if hints else ""


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def text_of(node: ast.AST) -> str:
    """The text of an expression, with `…` for what is not known before it runs; empty if it is no text."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text_of(left) + text_of(right)
        case ast.IfExp(body=body, orelse=other):
            return text_of(body) or text_of(other)
    return ""


def _cell(text: str) -> str:
    """Text for a cell of a table: on one line, and nothing in it is markup."""
    line = " ".join(text.split()).replace("|", "\\|")
    if not line:
        return ""
    return f"`` {line} ``" if "`" in line else f"`{line}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
