"""Lines that a delivery stream has wrapped, each as a JSON object: `{"message": "2 123456789010 … ACCEPT OK"}`."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.plugin import Lines

__all__ = ["unwrapped"]


def unwrapped(run: Lines, key: str) -> Lines:
    """The lines without their wrapping; a line that has none, or is another object, stays as it is."""
    text = run.text.cast(pa.string())
    if not pc.any(pc.starts_with(text, "{")).as_py() and not any(line.startswith("{") for line in run.head):
        return replace(run, text=text)
    # Most lines need no unescaping, and Arrow takes those apart at once.
    plain = rf'^\{{\s*{re.escape(json.dumps(key))}\s*:\s*"([^"\\]*)"\s*\}}\s*$'
    text = pc.replace_substring_regex(text, plain, r"\1")
    is_left = pc.starts_with(text, "{")
    if pc.any(is_left).as_py():
        others = [_text_in(line, key) for line in text.filter(is_left).to_pylist()]
        text = pc.replace_with_mask(text, is_left, pa.array(others, pa.string()))
    return replace(run, text=text, head=[_text_in(line, key) for line in run.head])


def _text_in(line: str, key: str) -> str:
    try:
        found = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):  # ten thousand brackets are no wrapping
        return line
    text = found.get(key) if isinstance(found, dict) else None
    return text.strip("\r\n") if isinstance(text, str) else line
