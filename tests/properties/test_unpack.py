"""Whatever is packed by Python's own modules comes back, however it is cut; what is damaged never does in part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tailpipe.errors import UnpackError
from tailpipe.unpack.unpack import Unpacking, UnpackLimits
from tests.unit.unpack.packed import PACKERS, Pipe, tar, unpack, zipped

BYTES = st.one_of(st.binary(max_size=300), st.text("ab \n", max_size=50).map(lambda text: text.encode() * 40))
PLAIN = BYTES.filter(lambda data: unpack_or_none(data) == {"": data})
NAMES = st.text(st.characters(exclude_characters="\0!", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda name: not name.endswith("/") and "." not in name
)
MEMBERS = st.dictionaries(NAMES, PLAIN, max_size=4)
KINDS = st.lists(st.sampled_from(sorted(PACKERS)), max_size=2)


def unpack_or_none(data: bytes) -> dict[str, bytes] | None:
    with suppress(UnpackError):
        return unpack(data)[0]
    return None


def pack(data: bytes, kinds: Sequence[str], name: str = "log") -> tuple[bytes, str]:
    for kind in kinds:
        data, name = PACKERS[kind](data), f"{name}.{kind}"
    return data, name


def archive(members: dict[str, bytes], kind: str) -> bytes:
    if kind == "tar":
        return tar(members)
    return zipped(members, method=zipfile.ZIP_STORED if kind == "stored" else zipfile.ZIP_DEFLATED)


@given(st.lists(BYTES, min_size=1, max_size=3), KINDS, st.integers(1, 400), st.integers(1, 400), st.booleans())
def test_compressions_come_back(
    texts: list[bytes], kinds: list[str], step: int, chunk_bytes: int, is_pipe: bool
) -> None:
    text = b"".join(texts)
    assume(unpack_or_none(text) == {"": text})
    streams = b"".join(pack(part, kinds[:1])[0] for part in texts)
    packed, name = pack(streams, kinds[1:], ".".join(["log", *kinds[:1]]))
    found = unpack(packed, name, limits=UnpackLimits(chunk_bytes=chunk_bytes), is_pipe=is_pipe, step=step)
    assert found == ({"": text}, [])


@given(MEMBERS, st.sampled_from(["tar", "zip", "stored"]), KINDS, st.integers(1, 400), st.booleans())
def test_archives_come_back(members: dict[str, bytes], kind: str, kinds: list[str], step: int, is_pipe: bool) -> None:
    packed, name = pack(archive(members, kind), kinds, "log.tar" if kind == "tar" else "log.zip")
    assert unpack(packed, name, is_pipe=is_pipe, step=step) == (members, [])


@given(MEMBERS, MEMBERS, st.sampled_from(["tar", "zip"]), st.sampled_from(["tar", "zip"]), KINDS, KINDS)
def test_archives_in_archives_come_back(
    outer: dict[str, bytes],
    inner: dict[str, bytes],
    kind: str,
    inner_kind: str,
    kinds: list[str],
    inner_kinds: list[str],
) -> None:
    nested, label = pack(archive(inner, inner_kind), inner_kinds, f"nested.{inner_kind}")
    packed, name = pack(archive({**outer, label: nested}, kind), kinds, f"log.{kind}")
    assert unpack(packed, name) == ({**outer, **{f"{label}!{key}": data for key, data in inner.items()}}, [])


@given(BYTES, st.lists(st.sampled_from(sorted(PACKERS)), min_size=1, max_size=2), st.data())
def test_a_packed_text_that_is_cut_off_gives_nothing(text: bytes, kinds: list[str], draw: st.DataObject) -> None:
    packed, name = pack(text, kinds)
    end = draw.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(UnpackError) as caught:
        unpack(packed[:end], name)
    assert caught.value.reason == f"is truncated at compressed byte {end:,}"


@given(MEMBERS.filter(bool), st.sampled_from(["tar", "zip", "stored"]), st.booleans(), st.data())
def test_an_archive_that_is_cut_off_gives_nothing(
    members: dict[str, bytes], kind: str, is_pipe: bool, draw: st.DataObject
) -> None:
    packed = archive(members, kind)
    end = draw.draw(st.integers(0, len(packed.rstrip(b"\0")) if kind == "tar" else len(packed) - 1))
    with pytest.raises(UnpackError, match="truncated"):
        unpack(packed[:end], "log.tar" if kind == "tar" else "log.zip", is_pipe=is_pipe)


@given(st.binary(max_size=600), st.sampled_from(["log", "log.gz", "log.zst", "log.tar", "log.zip", "log.tgz"]))
def test_any_bytes_are_unpacked_or_refused(data: bytes, name: str) -> None:
    with suppress(UnpackError):
        unpack(data, name)


@given(MEMBERS.filter(bool), st.sampled_from(["tar", "zip", "stored"]), KINDS, st.data())
def test_a_damaged_archive_is_unpacked_or_refused(
    members: dict[str, bytes], kind: str, kinds: list[str], draw: st.DataObject
) -> None:
    packed = bytearray(pack(archive(members, kind), kinds)[0])
    for _ in range(draw.draw(st.integers(1, 4))):
        packed[draw.draw(st.integers(0, len(packed) - 1))] = draw.draw(st.integers(0, 255))
    with suppress(UnpackError):
        unpack(bytes(packed), "log")


@given(PLAIN, st.lists(st.sampled_from(sorted(PACKERS)), max_size=1), st.integers(0, 2000), st.booleans())
def test_reading_goes_on_where_it_stopped(text: bytes, kinds: list[str], start: int, is_pipe: bool) -> None:
    packed, name = pack(text, kinds)
    stream = Pipe(packed) if is_pipe else io.BytesIO(packed)
    member = next(iter(Unpacking(stream, name)))  # type: ignore[arg-type]
    if start > len(text):
        with pytest.raises(UnpackError):
            list(member.chunks(start))
    else:
        assert b"".join(member.chunks(start)) == text[start:]
