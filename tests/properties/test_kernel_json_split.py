"""The splitter of documents finds what Python's own reader finds, however the bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.kernel.engine import connect
from tailpipe.kernel.json_guess import Guess, wrong_guesses
from tailpipe.kernel.json_split import Splitter

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('a"\\{}[],: é\n', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\{', max_size=3), inner, max_size=3),
    max_leaves=8,
)


def split(data: bytes, path: tuple[str, ...], size: int) -> tuple[list[Any], str | None]:
    splitter = Splitter(path)
    found = []
    for start in range(0, len(data), size):
        for places in splitter.feed(data[start : start + size]):
            found += [json.loads(text) for text in places.texts()]
    rest = splitter.finish()
    if splitter.problem == "the document ends inside a record" and not path:
        found.append(json.loads(rest))  # a bare value at the end has nothing to end it
    return found, splitter.problem


@settings(max_examples=300, deadline=None)
@given(st.lists(values), values, values, st.integers(1, 50), st.sampled_from([None, 0, 2]))
def test_records_of_a_document(records: list[Any], before: Any, after: Any, size: int, indent: int | None) -> None:
    document = json.dumps({"x": before, "Records": records, "y": after}, indent=indent, ensure_ascii=False).encode()
    assert split(document, ("Records",), size) == (records, None)
    deeper = json.dumps({"x": before, "d": {"y": before, "Records": records}, "z": after}, indent=indent).encode()
    assert split(deeper, ("d", "Records"), size) == (records, None)
    assert split(json.dumps(records, indent=indent).encode(), (), size) == (records, None)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=3), values, max_size=3), max_size=5), st.integers(1, 50))
def test_documents_one_after_the_other(documents: list[Any], size: int) -> None:
    data = "\n".join(map(json.dumps, documents)).encode()
    assert split(data, (), size)[0] == documents


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=3), values, min_size=1, max_size=3)), st.data())
def test_a_document_cut_anywhere_gives_its_first_records(records: list[Any], data: Any) -> None:
    document = json.dumps({"Records": records}).encode()
    cut = data.draw(st.integers(0, len(document) - 1))
    found, problem = split(document[:cut], ("Records",), 7)
    assert found == records[: len(found)]
    assert cut == 0 or problem is not None


CONNECTION = connect()
keys = st.sampled_from(["a", 'a"', "b", "Records"])
alike: Any = st.recursive(
    st.sampled_from([1, None, '},{"a":', '"}]}', "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(keys, alike, min_size=1, max_size=3) | alike, max_size=5),
    st.sampled_from([(), ("Records",), ("d", "Records")]),
    st.sampled_from([None, 0, 2]),
    st.sampled_from([b"", b"}", b",{}", b"[]", b"\n"]),
    st.integers(0, 30),
)
def test_a_guess_is_either_right_or_known_to_be_wrong(
    records: list[Any], path: tuple[str, ...], indent: int | None, tail: bytes, cut: int
) -> None:
    whole: Any = records
    for key in reversed(path):
        whole = {key: whole}
    text = json.dumps(whole, indent=indent, ensure_ascii=False).encode()
    for data in (text, text + tail, text[: len(text) - cut]):
        guess = Guess(path, 1 << 20).places(data)
        if guess is None:
            continue
        is_wrong = wrong_guesses(CONNECTION, [pa.array([text.decode() for text in guess.texts()])])
        if not is_wrong:
            splitter = Splitter(path)
            assert [text for places in splitter.feed(data) for text in places.texts()] == guess.texts()
            splitter.finish()
            assert splitter.problem is None
