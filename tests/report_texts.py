"""The texts of reports: what commands print, what runs report, and the keys of their JSON, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.message_page import SOURCE, text_of

ROOMS = (
    "cli",
    "collect",
    "follow",
    "lifecycle",
    "mcp_server",
    "serve",
    "catalog/findings.py",
    "stores/examine.py",
    "stores/follow.py",
    "stores/pushing.py",
)
"""Where the texts of reports are written, below the source."""
_RECORDS = ("cli", "follow", "mcp_server", "serve")
_VALUES = (
    "catalog/changes.py",
    "follow/news.py",
    "lifecycle/compact.py",
    "model/maintenance.py",
    "stores/pulled.py",
    "stores/pushed.py",
    "stores/republish.py",
    "stores/sweep.py",
)
"""Values whose fields are keys of a report."""


def report_texts() -> Iterator[tuple[str, str]]:
    """Each text of several words with its place, and `…` for each value; documentation for developers is no report."""
    for path in _files(ROOMS):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        hidden = {id(node) for one in ast.walk(tree) for node in _hidden(one)}
        for node in ast.walk(tree):
            if id(node) in hidden or not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                continue
            text = text_of(node)
            if " " in text.strip("… "):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", text


def report_keys() -> Iterator[tuple[str, str]]:
    """Each key that a record is made with, and each field of a value that is reported, with its place."""
    for path in _files(_RECORDS):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for key in node.keys if isinstance(node, ast.Dict) else ():
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield f"{path.relative_to(SOURCE)}:{key.lineno}", key.value
            yield from ((str(path.relative_to(SOURCE)), name) for name in _listed(node))
    for path in _files(_VALUES):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.target.id


def _listed(node: ast.AST) -> Iterator[str]:
    """The fields that a constant such as `FIELDS` or `COLUMNS` names; a column may have a title after a colon."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=values) | ast.Call(args=values)):
            if name.isupper():
                for one in values:
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        yield one.value.partition(":")[0]


def _files(rooms: Iterable[str]) -> Iterator[Path]:
    for room in rooms:
        path = SOURCE / room
        yield from [path] if path.is_file() else sorted(path.glob("*.py"))


def _hidden(node: ast.AST) -> Iterator[ast.AST]:
    """What is not printed as it is: docstrings, and the parts of a text that is printed as a whole."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            yield node.value
        case ast.JoinedStr() | ast.BinOp():
            yield from (inner for inner in ast.walk(node) if inner is not node)
