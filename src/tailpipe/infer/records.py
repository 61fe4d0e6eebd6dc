"""JSON in a sample: its records, where documents keep them, and the paths that records have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tailpipe.infer.sample import Sample
from tailpipe.model.paths import EACH, Path

Record = dict[str, Any]

_MANY = 300
"""So many records tell what all of them are like."""
_DEPTH = 6
_ELEMENTS = 5


def records_in_lines(sample: Sample) -> tuple[list[Record], int]:
    """The objects that lines hold, and how many lines were looked at."""
    lines = sample.lines[:_MANY]
    found = []
    for line in lines:
        if line.lstrip().startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
    return found, len(lines)


def documents_in(sample: Sample) -> list[Any]:
    """The JSON values in the text, one after the other, up to the first thing that is none."""
    decoder = json.JSONDecoder()
    text, position = sample.text, 0
    found: list[Any] = []
    while len(found) < _MANY:
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
        if position >= len(text):
            break
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found


def records_at(documents: Sequence[Any], paths: Sequence[Sequence[str]]) -> list[Record]:
    """The records of documents, at the first of the paths that is there; the documents themselves without one."""
    found: list[Record] = []
    for document in documents:
        values = next((value for path in paths if (value := _at(document, path)) is not None), document)
        found += [one for one in (values if isinstance(values, list) else [values]) if isinstance(one, dict)]
        if len(found) >= _MANY:
            break
    return found[:_MANY]


def record_path(documents: Sequence[Any]) -> str | None:
    """Where documents keep most of their text as a list of objects; None if a document is itself a record."""
    found: Counter[tuple[str, ...]] = Counter()
    for document in documents:
        sizes = {path: len(json.dumps(value)) for path, value in _lists(document, ())}
        whole = len(json.dumps(document))
        best = max(sizes, key=lambda path: (sizes[path], -len(path)), default=None)
        if best is not None and sizes[best] > 0.5 * whole:
            found[best] += 1
    if not found or max(found.values()) < 0.5 * len(documents):
        return None
    return ".".join(found.most_common(1)[0][0])


def paths_of(records: Sequence[Record]) -> Counter[Path]:
    """All paths of the records, those of objects too, and how many records have each."""
    found: Counter[Path] = Counter()
    for record in records:
        found.update({path for path, _ in _walk(record, ())})
    return found


def leaves_of(records: Sequence[Record]) -> Counter[Path]:
    """The paths of the values that are no objects, and how many records have each."""
    found: Counter[Path] = Counter()
    for record in records:
        found.update({path for path, is_leaf in _walk(record, ()) if is_leaf})
    return found


def _at(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def _lists(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(value, dict) or len(path) > 3:
        return
    for key, inner in value.items():
        if not key or "." in key:
            continue
        if isinstance(inner, list) and inner and all(isinstance(one, dict) for one in inner):
            yield (*path, key), inner
        yield from _lists(inner, (*path, key))


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, bool]]:
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict) and value:
        if path:
            yield path, False
        for key, inner in value.items():
            yield from _walk(inner, (*path, key))
    elif isinstance(value, list) and value and any(isinstance(one, dict) for one in value):
        yield path, False
        for one in value[:_ELEMENTS]:
            yield from _walk(one, (*path, EACH))
    else:
        yield path, True
