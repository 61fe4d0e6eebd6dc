"""The detections that we ship: each is described, tested by events, and unlike all others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tailpipe.detect.trial import try_detection
from tailpipe.model.detection import Detection
from tailpipe.plugin.registry import Registry

REGISTRY = Registry.installed()
SHIPPED = list(REGISTRY.detections.values())
_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+\b")
_LIST = re.compile(r"\?(?:\s*,\s*\?)+")


def test_there_are_many_of_them() -> None:
    assert len(SHIPPED) >= 60


def test_each_is_described_rated_and_tagged() -> None:
    for one in SHIPPED:
        assert one.title, one.name
        assert one.description, one.name
        assert one.mitre, one.name
        assert one.is_shipped
        assert one.must_hit, one.name
        assert one.must_not_hit, one.name
        assert one.name.startswith(one.table.split("_")[0]), one.name


def fields(event: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of an event with their paths."""
    if isinstance(event, dict):
        for key, value in event.items():
            yield from fields(value, f"{path}.{key}")
    elif isinstance(event, tuple) and any(isinstance(one, dict) for one in event) and not path.count("."):
        for number, one in enumerate(event):
            yield from fields(one, f"{path}[{number}]")
    else:
        yield path, event


def test_what_must_not_hit_differs_in_one_field_from_what_must() -> None:
    for one in SHIPPED:
        hit, other = dict(fields(one.must_hit[0])), dict(fields(one.must_not_hit[0]))
        different = {path for path in {*hit, *other} if hit.get(path) != other.get(path)}
        assert len(different) == 1, f"{one.name}: {different}"


def shape(one: Detection) -> str:
    """A rule without its literals."""
    parts = [one.table, one.where, one.sql, *one.group_by, "by", *one.first_seen, "first", one.distinct]
    text = _LITERAL.sub("?", " | ".join(str(part) for part in parts))
    return f"{_LIST.sub('?', text)} {one.threshold is not None} {one.suppress is not None}"


def test_no_two_differ_in_literals_alone() -> None:
    shapes: dict[str, str] = {}
    for one in SHIPPED:
        twin = shapes.setdefault(shape(one), one.name)
        assert twin == one.name, f"{one.name} and {twin}"


@pytest.mark.slow
def test_each_hits_what_it_must_and_nothing_else() -> None:
    files, now, failed = REGISTRY.sources["file"], datetime.now(UTC), []
    for one in SHIPPED:
        cases = try_detection(one, REGISTRY.tables[one.table], files, now)
        failed += [f"{one.name}: {case}" for case in cases if not case.is_passed]
    assert failed == []
