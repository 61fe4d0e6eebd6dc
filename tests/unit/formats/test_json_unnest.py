"""Records that hold lists: a row for each element, and bare documents between those that hold records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tailpipe.formats.json_split import Places, Splitter
from tailpipe.formats.json_unnest import unnested

FLOWS = ("flows", "groups", "tuples")


def rows(text: str, *paths: tuple[str, ...]) -> list[str]:
    return [row for some in unnested([text.encode()], paths) for row in some.to_pylist()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":[1,2]}', ['{"a":1}', '{"a":2}']),
        ('{"a":[]}', []),
        ('{"b":1}', ['{"b":1}']),
        ('{"a":"text"}', ['{"a":"text"}']),
        (
            '{"x":{"a":[1]},"a":[ "[", null ],"y":1e400}',
            ['{"x":{"a":[1]},"a":"[","y":1e400}', '{"x":{"a":[1]},"a":null,"y":1e400}'],
        ),
        ('{"\\"a\\":[1]":0,"a":[1.10]}', ['{"\\"a\\":[1]":0,"a":1.10}']),
    ],
)
def test_the_elements_of_a_list_take_its_place(text: str, expected: list[str]) -> None:
    assert rows(text, ("a",)) == expected


def test_the_first_path_that_is_there_counts() -> None:
    assert rows('{"b":[1],"a":[2,3]}', ("c",), ("a",), ("b",)) == ['{"b":[1],"a":2}', '{"b":[1],"a":3}']


def test_many_rows_of_a_long_record_come_some_at_a_time() -> None:
    around = "x" * 1_000_000
    record = json.dumps({"around": around, "a": list(range(20))}).encode()
    sizes = [len(some) for some in unnested([record], [("a",)])]
    assert sum(sizes) == 20
    assert max(sizes) < 10


def expected_rows(value: Any, path: tuple[str, ...]) -> list[Any] | None:
    """The same by taking the value apart: the oracle."""
    if not path or not isinstance(value, dict) or path[0] not in value:
        return None
    inner = value[path[0]]
    if isinstance(inner, list):
        found = []
        for element in inner:
            below = expected_rows(element, path[1:])
            found += [element] if below is None else below
    else:
        below = expected_rows(inner, path[1:])
        if below is None:
            return None
        found = below
    return [{**value, path[0]: one} for one in found]


def some_value(random: Random, depth: int) -> Any:
    kinds = ["text", "number", "null"] + (["list", "object"] * 3 if depth else [])
    match random.choice(kinds):
        case "list":
            return [some_value(random, depth - 1) for _ in range(random.randrange(3))]
        case "object":
            keys = random.sample(["flows", "groups", "tuples", 'a"b', "{["], random.randrange(4))
            return {key: some_value(random, depth - 1) for key in keys}
        case "text":
            return random.choice(["", '"', "[", "}", "\\", "flows", "ü\n"])
        case "number":
            return random.randrange(-5, 5)
    return None


def test_any_record_is_taken_apart_as_by_hand() -> None:
    random = Random(7)
    spread = 0
    for _ in range(800):
        record = {"flows": some_value(random, 6), "other": some_value(random, 2)}
        text = json.dumps(record, ensure_ascii=random.random() < 0.5, indent=random.choice([None, 1]))
        wanted = expected_rows(record, FLOWS)
        assert [json.loads(row) for row in rows(text, FLOWS)] == ([record] if wanted is None else wanted)
        spread += wanted is not None and len(wanted) > 1
    assert spread > 25


class OneByOne(Splitter):
    """Looks at each document by itself."""

    def _bare(self, found: list[Places]) -> bool:
        return False


def split(splitter: Splitter, text: bytes, cuts: list[int]) -> Iterator[tuple[str | None, bytes]]:
    ends = [*cuts, len(text)]
    for start, end in zip([0, *cuts], ends, strict=True):
        for places in splitter.feed(text[start:end]):
            yield from ((places.reason, one) for one in places.texts())
    rest, reason = splitter.finish()
    yield reason, rest if reason else b""


PIECES = [
    '{"id": 1}',
    '{"a": {"items": [1]}, "b": "items"}',
    '{"items": [{"id": 2}, {"id": 3}], "next": "x"}',
    '{"x": 1, "detail": {"id": 4}}',
    '{"detail": "text", "items": 7}',
    "{}",
    "[{}, {}]",
    '[{"id": 5}, {"items": [{"id": 6}]}]',
    "no json at all",
    '{"cut": "of',
    '{"cut": [1, 2',
    '"items"',
    "}",
    '{"text": "a\\\\", "b": "\\"items\\": ["}',
]


def test_many_bare_documents_are_split_like_each_by_itself() -> None:
    random = Random(11)
    choices = [("items",), ("detail",)]
    for _ in range(200):
        pieces = [
            random.choice(PIECES if random.random() < 0.4 else PIECES[:2]) for _ in range(random.randrange(1, 12))
        ]
        text = "".join(piece + random.choice(["\n", "\n", "\n\n", " \n", ",\n", "\r\n"]) for piece in pieces).encode()
        cuts = sorted(random.sample(range(1, len(text)), min(random.randrange(3), len(text) - 1)))
        fast = list(split(Splitter(choices=choices), text, cuts))
        assert fast == list(split(OneByOne(choices=choices), text, cuts)), text
