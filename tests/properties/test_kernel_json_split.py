"""The splitter of documents finds what Python's own reader finds, however the bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.formats.json_guess import Guess, wrong_guesses
from tailpipe.formats.json_split import Splitter
from tailpipe.sql.connection import connect
from tests.examples import examples

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
    rest, problem = splitter.finish()
    if problem == "the document ends inside a record" and not path:
        found.append(json.loads(rest))  # a bare value at the end has nothing to end it
    return found, problem


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(values), values, values, st.integers(1, 50), st.sampled_from([None, 0, 2]))
def test_records_of_a_document(records: list[Any], before: Any, after: Any, size: int, indent: int | None) -> None:
    document = json.dumps({"x": before, "Records": records, "y": after}, indent=indent, ensure_ascii=False).encode()
    assert split(document, ("Records",), size) == (records, None)
    deeper = json.dumps({"x": before, "d": {"y": before, "Records": records}, "z": after}, indent=indent).encode()
    assert split(deeper, ("d", "Records"), size) == (records, None)
    assert split(json.dumps(records, indent=indent).encode(), (), size) == (records, None)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=3), values, max_size=3), max_size=5), st.integers(1, 50))
def test_documents_one_after_the_other(documents: list[Any], size: int) -> None:
    data = "\n".join(map(json.dumps, documents)).encode()
    assert split(data, (), size)[0] == documents


@settings(max_examples=examples(200), deadline=None)
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


@settings(max_examples=examples(150), deadline=None)
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
            assert splitter.finish()[1] is None


def pieces(data: bytes, path: tuple[str, ...], size: int) -> list[tuple[bool, bytes]]:
    """All that the splitter gives, in order: whether it is a record, and its text."""
    splitter = Splitter(path)
    found = []
    for start in range(0, len(data), size):
        for places in splitter.feed(data[start : start + size]):
            found += [(places.reason is None, text) for text in places.texts()]
    rest, problem = splitter.finish()
    return found + ([(False, rest)] if problem is not None else [])


def dumped(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()


objects = st.dictionaries(st.text('ab"\\{', max_size=3), values, max_size=3)
good = st.builds(
    lambda before, records, after: {"x": before, "Records": records, "y": after},
    values,
    st.lists(objects, max_size=4),
    values,
)
foreign = (
    st.dictionaries(st.sampled_from(["a", "Record", "x"]), values | good, max_size=2)
    | st.builds(lambda value: {"Records": value}, st.none() | st.booleans() | st.integers() | st.text("a[", max_size=3))
    | st.builds(lambda inner: {"Records": {"Records": inner}}, st.lists(objects, max_size=2))
)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(good | foreign, max_size=6),
    st.sampled_from([b"", b"\n", b" ", b",", b"\r\n\r\n"]),
    st.sampled_from([None, 0, 2]),
    st.integers(1, 60),
    st.booleans(),
)
def test_documents_of_another_kind_cost_themselves_only(
    documents: list[Any], between: bytes, indent: int | None, size: int, is_wrapped: bool
) -> None:
    texts = [dumped(document, indent) for document in documents]
    data = b"[" + b",".join(texts) + b"]" if is_wrapped else between.join(texts)
    expected: list[tuple[bool, Any]] = []
    for document in documents:
        records = document.get("Records")
        is_good = isinstance(records, list)
        expected += [(True, record) for record in records] if is_good else [(False, document)]
    assert [(is_record, json.loads(text)) for is_record, text in pieces(data, ("Records",), size)] == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(good, min_size=1, max_size=3), st.text("ab \"\\:,1'é", min_size=1), st.integers(1, 60))
def test_text_between_documents_costs_itself_only(documents: list[Any], junk: str, size: int) -> None:
    data = b"".join(dumped(document) + b"\n" + junk.encode() + b"\n" for document in documents)
    found = pieces(data, ("Records",), size)
    records = [record for document in documents for record in document["Records"]]
    assert [json.loads(text) for is_record, text in found if is_record] == records
    junk_found = b"".join(text for is_record, text in found if not is_record)
    assert junk_found.replace(b" ", b"").replace(b",", b"") == (
        junk.encode().replace(b" ", b"").replace(b",", b"") * len(documents)
    )


@settings(max_examples=examples(300), deadline=None)
@given(good, st.lists(good, min_size=2, max_size=3), st.data(), st.integers(1, 60), st.sampled_from([None, 2]))
def test_behind_a_document_that_was_cut_off_the_next_line_begins_another(
    first: Any, others: list[Any], data: Any, size: int, indent: int | None
) -> None:
    whole = dumped(first, indent)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    found = pieces(cut + b"\n" + b"\n".join(dumped(one, indent) for one in others), ("Records",), size)
    texts = [text for is_record, text in found if is_record]
    # Where a value may follow, the next document is taken for it: that one cannot be told apart.
    is_clear = cut.rstrip()[-1:] not in (b",", b":", b"[")
    expected = [record for one in others[0 if is_clear else 1 :] for record in one["Records"]]
    assert [json.loads(text) for text in texts[len(texts) - len(expected) :]] == expected
    if is_clear:
        kept = [json.loads(text) for text in texts[: len(texts) - len(expected)]]
        assert kept == first["Records"][: len(kept)]
        assert False in [is_record for is_record, _ in found]


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(objects | st.lists(objects, max_size=3), max_size=8), st.sampled_from([b"", b"\n"]), st.integers(1, 60))
def test_records_and_arrays_of_records_follow_one_another(documents: list[Any], between: bytes, size: int) -> None:
    found = pieces(between.join(map(dumped, documents)), (), size)
    expected = [record for one in documents for record in (one if isinstance(one, list) else [one])]
    assert [(is_record, json.loads(text)) for is_record, text in found] == [(True, record) for record in expected]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(objects, max_size=3), st.lists(objects, max_size=3), st.integers(30, 200), st.integers(1, 40))
def test_what_is_too_long_costs_itself_only(before: list[Any], after: list[Any], limit: int, size: int) -> None:
    long = {"k": ['x"\\'] * limit}
    records = [*before, long, *after]
    for data in (dumped({"Records": records}), b"".join(dumped({"Records": [record]}) for record in records)):
        splitter = Splitter(("Records",), limit)
        found = []
        for start in range(0, len(data), size):
            for places in splitter.feed(data[start : start + size]):
                found += [places.reason or json.loads(text) for text in places.texts()]
        is_long = [len(dumped(record)) > limit - size for record in records]
        assert splitter.finish()[1] is None
        assert len(found) == len(records)
        for record, one, may_be_refused in zip(records, found, is_long, strict=True):
            refused = isinstance(one, str) and "is longer than" in one
            assert refused if record == long else one == record or (may_be_refused and refused)
