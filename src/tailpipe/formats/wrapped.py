"""Lines that a delivery stream or a container log has wrapped, each as a JSON object: `{"message": "… ACCEPT OK"}`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.frozen import frozen
from tailpipe.plugin import LineParser, Lines, Parsed

_TIMES = ("time", "@timestamp", "timestamp")


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


@frozen
class UnwrappingParser:
    """Reads lines of which some are wrapped by a container log; puts the time of the object before the text."""

    lines: LineParser
    keys: Sequence[str]

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """One row to a line."""
        plain = []
        for run in runs:
            text = run.text.cast(pa.string())
            is_object = pc.starts_with(text, "{")
            if pc.any(is_object).as_py():
                found = [_timed_text(line, self.keys) for line in text.filter(is_object).to_pylist()]
                text = pc.replace_with_mask(text, is_object, pa.array(found, pa.string()))
            plain.append(replace(run, text=text))
        return self.lines.parse(plain)


def _timed_text(line: str, keys: Sequence[str]) -> str:
    """The time and the text of an object; the line itself if it is none or has no text."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return line
    values = found if isinstance(found, dict) else {}
    text = next((values[key] for key in keys if isinstance(values.get(key), str)), None)
    time = next((values[key] for key in _TIMES if isinstance(values.get(key), str)), None)
    if text is None:
        return line
    return " ".join(filter(None, (time, text.strip("\r\n"))))
