"""Artifacts are unpacked by what they are; nothing is lost without a word, and no bomb goes off."""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from contextlib import suppress

import pytest
import zstandard

from tailpipe.errors import TailpipeError, UnpackError
from tailpipe.model.ledger import fingerprints
from tailpipe.unpack.streams import Reader
from tailpipe.unpack.unpack import Skipped, Unpacking, UnpackLimits
from tests.unit.unpack.packed import PACKERS, Pipe, tar, unpack, zipped

TEXT = b"".join(b"line %d of a log\n" % number for number in range(500))
MEGABYTE = 1024 * 1024
SMALL = UnpackLimits(ratio_from_bytes=MEGABYTE, chunk_bytes=64 * 1024)


def problem(data: bytes, name: str = "x", limits: UnpackLimits | None = None, *, is_pipe: bool = False) -> UnpackError:
    with pytest.raises(UnpackError) as caught:
        unpack(data, name, limits=limits, is_pipe=is_pipe)
    return caught.value


def test_plain_bytes_are_one_member_without_a_name() -> None:
    assert unpack(TEXT, "app.log") == ({"": TEXT}, [])
    assert unpack(b"", "app.log") == ({"": b""}, [])


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", ["app.log.{}", "app.log", "APP.{}"])
def test_a_compression_is_told_by_its_content(kind: str, name: str) -> None:
    assert unpack(PACKERS[kind](TEXT), name.format(kind)) == ({"": TEXT}, [])


@pytest.mark.parametrize("kind", PACKERS)
def test_streams_that_follow_one_another_are_one_text(kind: str) -> None:
    data = b"".join(PACKERS[kind](part) for part in (TEXT, b"", b"more\n", TEXT))
    assert unpack(data) == ({"": TEXT + b"more\n" + TEXT}, [])
    assert unpack(data, is_pipe=True, step=7) == ({"": TEXT + b"more\n" + TEXT}, [])


def test_a_gzip_header_may_have_all_its_fields_and_come_in_pieces() -> None:
    header = b"\x1f\x8b\x08\x1e" + bytes(4) + b"\0\xff" + struct.pack("<H", 3) + b"abc" + b"name\0" + b"comment\0"
    header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    data = header + gzip.compress(TEXT)[10:]
    assert unpack(data * 2, is_pipe=True, step=1) == ({"": TEXT * 2}, [])


def test_zeros_after_gzip_are_padding_and_garbage_is_left_out_with_a_note() -> None:
    packed = gzip.compress(TEXT)
    assert unpack(packed + bytes(5000)) == ({"": TEXT}, [])
    found, skipped = unpack(packed + b"garbage")
    assert found == {"": TEXT}
    assert skipped == [Skipped("", f"7 bytes after the last gzip stream, from byte {len(packed):,}")]


@pytest.mark.parametrize("kind", ["zst", "xz"])
def test_garbage_after_other_streams_is_an_error_as_it_is_to_their_tools(kind: str) -> None:
    assert "byte" in str(problem(PACKERS[kind](TEXT) + b"garbage"))


@pytest.mark.parametrize("kind", PACKERS)
def test_an_empty_file_that_should_be_packed_is_truncated(kind: str) -> None:
    error = problem(b"", f"x.{kind}")
    assert str(error) == f'"x.{kind}" is truncated at compressed byte 0'
    assert error.hint


def test_text_under_the_name_of_a_compression_is_plain() -> None:
    assert unpack(TEXT, "app.log.gz") == ({"": TEXT}, [])
    assert str(problem(b"\0\1\2\3" * 200, "app.log.gz")) == '"app.log.gz" is not a gzip stream after byte 0'
    assert str(problem(TEXT, "logs.zip")) == '"logs.zip" is not a zip archive after byte 0'
    assert str(problem(TEXT, "logs.tar")) == '"logs.tar" is not a tar archive after byte 0'


def test_what_cannot_be_read_is_refused_by_its_name() -> None:
    assert "packed by lz4" in str(problem(b"\x04\x22\x4d\x18rest", "app.log.lz4"))
    found, skipped = unpack(zipped({"a.7z": b"7z\xbc\xaf\x27\x1crest", "b": TEXT}))
    assert (found, skipped) == ({"b": TEXT}, [Skipped("a.7z", "packed by 7z, which cannot be read")])


@pytest.mark.parametrize("kind", PACKERS)
def test_a_truncation_anywhere_is_an_error_with_its_place(kind: str) -> None:
    packed = PACKERS[kind](b"some text\n" * 20)
    for end in range(len(packed)):
        error = problem(packed[:end], f"app.{kind}")
        assert (error.reason, error.offset) == (f"is truncated at compressed byte {end:,}", end)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_flipped_bit_never_goes_by(kind: str) -> None:
    packed = PACKERS[kind](TEXT)
    for place in range(len(packed) // 2, len(packed), 3):
        damaged = packed[:place] + bytes([packed[place] ^ 0x10]) + packed[place + 1 :]
        with suppress(UnpackError):
            assert unpack(damaged, f"app.{kind}")[0] == {"": TEXT}


def test_an_error_keeps_its_facts_and_survives_pickling() -> None:
    error = problem(zipped({"in.gz": gzip.compress(TEXT)[:-3]}), "logs.zip")
    assert isinstance(error, TailpipeError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.file, again.member, again.offset) == ("logs.zip", "in.gz", len(gzip.compress(TEXT)) - 3)
    assert str(again) == f'"logs.zip", in its member "in.gz", {error.reason}'
    assert again.hint == error.hint != ""


def test_an_error_of_the_source_is_no_error_of_the_artifact() -> None:
    class Broken(Pipe):
        def read(self, size: int = -1) -> bytes:
            if self._data.tell() > 100:
                raise ConnectionResetError("gone")
            return super().read(min(size, 60))

    for data in (PACKERS["gz"](TEXT), PACKERS["zst"](TEXT), zipped({"a": TEXT}), tar({"a": TEXT})):
        with pytest.raises(ConnectionResetError):
            [list(member.chunks()) for member in Unpacking(Broken(data), "x")]  # type: ignore[arg-type]


@pytest.mark.parametrize("packer", ["", *PACKERS])
@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_of_a_tar_are_streamed(packer: str, format: int) -> None:
    name = "d/" * 60 + "ä.log" if format != tarfile.USTAR_FORMAT else "d/" * 60 + "a.log"
    members = {"a.log": TEXT, "empty": b"", name: b"x" * 512, "last": b"no newline"}
    data = tar(members, format=format)
    assert unpack(PACKERS[packer](data) if packer else data, is_pipe=True) == (members, [])


def test_links_and_devices_of_a_tar_are_left_out_and_directories_ignored() -> None:
    extra = []
    for name, kind in [
        ("dir", tarfile.DIRTYPE),
        ("soft", tarfile.SYMTYPE),
        ("hard", tarfile.LNKTYPE),
        ("null", tarfile.CHRTYPE),
        ("disk", tarfile.BLKTYPE),
        ("fifo", tarfile.FIFOTYPE),
    ]:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, "/etc/passwd"
        extra.append(info)
    found, skipped = unpack(tar({"../x": TEXT, "/etc/y": TEXT}, *extra))
    assert found == {"../x": TEXT, "/etc/y": TEXT}
    reasons = [(item.name, item.reason) for item in skipped]
    assert reasons == [
        ("soft", "symbolic link"),
        ("hard", "hard link"),
        ("null", "device"),
        ("disk", "device"),
        ("fifo", "pipe"),
    ]


def test_a_tar_cut_off_anywhere_is_an_error() -> None:
    data = tar({"a": TEXT[:700], "b": b"x"})
    end = len(data.rstrip(b"\0"))
    for size in [0, 1, 100, 511, 512, 600, 1024, 1535, 1536, 2047, 2048, end]:
        assert "truncated" in str(problem(data[:size], "logs.tar"))
    assert unpack(tar({}), "empty.tar") == ({}, [])


def test_a_damaged_tar_header_is_an_error() -> None:
    data = bytearray(tar({"a": TEXT, "b": TEXT}))
    place = data.index(b"b\0")
    data[place] = ord("c")
    assert f"not a tar archive after byte {place}".replace(",", "") in str(problem(bytes(data))).replace(",", "")


def test_a_tar_header_of_absurd_size_is_refused() -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = b"L", 8 * 1024**3
    data = info.tobuf(tarfile.GNU_FORMAT)
    assert "tar header" in str(problem(data + bytes(1024)))


@pytest.mark.parametrize("is_pipe", [False, True])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_of_a_zip_are_streamed(method: int, is_pipe: bool) -> None:
    members = {"../x": TEXT, "/abs/ä": TEXT, "empty": b"", "dir/": b"", "in.tar.gz": gzip.compress(tar({"t": TEXT}))}
    found, skipped = unpack(zipped(members, method=method), limits=SMALL, is_pipe=is_pipe)
    assert (found, skipped) == ({"../x": TEXT, "/abs/ä": TEXT, "empty": b"", "in.tar.gz!t": TEXT}, [])


def test_a_zip_written_as_a_stream_has_its_sizes_in_the_directory_only() -> None:
    class Sink(io.BytesIO):
        def seekable(self) -> bool:
            return False

    out = Sink()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a", TEXT)
        archive.writestr("b", TEXT)
    assert unpack(out.getvalue()) == ({"a": TEXT, "b": TEXT}, [])


def test_links_devices_and_encrypted_members_of_a_zip_are_left_out() -> None:
    link, device, strange = zipfile.ZipInfo("link"), zipfile.ZipInfo("device"), zipfile.ZipInfo("strange")
    link.external_attr, device.external_attr = 0o120777 << 16, 0o020666 << 16
    strange.compress_type = zipfile.ZIP_LZMA
    data = bytearray(zipped({"locked": TEXT, "a": TEXT}, (link, b"/etc/passwd"), (device, b""), (strange, TEXT)))
    place = data.index(b"PK\x01\x02")
    data[place + 8] |= 1
    found, skipped = unpack(bytes(data))
    assert found == {"a": TEXT}
    assert skipped == [
        Skipped("locked", "encrypted"),
        Skipped("link", "symbolic link"),
        Skipped("device", "device"),
        Skipped("strange", "compressed by the unknown method 14"),
    ]


@pytest.mark.parametrize("is_pipe", [False, True])
def test_a_zip_cut_off_anywhere_is_an_error(is_pipe: bool) -> None:
    data = zipped({"a": TEXT[:100], "b": TEXT[:50]})
    for size in range(len(data)):
        error = problem(data[:size], "logs.zip", is_pipe=is_pipe)
        assert error.reason == f"is truncated at compressed byte {size:,}"


def test_a_zip_is_held_to_the_checksum_and_length_in_its_directory() -> None:
    data = zipped({"a": TEXT}, method=zipfile.ZIP_STORED)
    place = data.index(b"line 7 ")
    assert "checksum" in str(problem(data[:place] + b"X" + data[place + 1 :]))
    directory = data.index(b"PK\x01\x02")
    longer = bytearray(data)
    longer[directory + 24] += 1
    assert "bytes" in str(problem(bytes(longer)))


def test_a_directory_of_a_zip_may_claim_anything() -> None:
    data = zipped({"a": TEXT, "b": TEXT})
    directory = data.index(b"PK\x01\x02")
    nameless = bytearray(data)
    nameless[directory + 28] = 0  # the length of the name: what follows is now taken for extra fields
    elsewhere = bytearray(data)
    elsewhere[-6:-2] = (len(data) - 1).to_bytes(4, "little")  # the directory, and so all members, begin before 0
    fewer = bytearray(data)
    fewer[-10] -= 47  # the length of the directory: the second member is no longer in it
    fewer[-6] += 47
    for damaged in (nameless, elsewhere, fewer):
        assert "zip archive" in str(problem(bytes(damaged)))


def test_a_size_that_is_no_number_is_an_error() -> None:
    header = bytearray(tar({"a": TEXT}))
    header[124:135] = b"00000\xff00100"
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    assert "not a tar archive" in str(problem(bytes(header), "x.tar"))


def test_archives_nest_two_deep_and_no_deeper() -> None:
    inner = zipped({"deep.log": TEXT})
    middle = tar({"inner.zip": inner, "b.gz": gzip.compress(TEXT)})
    found, skipped = unpack(zipped({"middle.tar": middle}))
    assert found == {"middle.tar!b.gz": TEXT}
    assert skipped == [Skipped("middle.tar!inner.zip", "an archive in more than 1 others")]
    twice = gzip.compress(lzma.compress(TEXT))
    assert unpack(twice) == ({"": TEXT}, [])
    assert "more than 2 compressions" in str(problem(gzip.compress(twice)))


@pytest.mark.parametrize("kind", PACKERS)
def test_a_bomb_is_stopped_soon_after_its_size_matters(kind: str) -> None:
    packed = PACKERS[kind](bytes(8 * MEGABYTE))
    error = problem(packed, f"bomb.{kind}", SMALL)
    assert error.reason == "expands more than 200:1 beyond 1 MB (limit max_ratio)"
    wide = UnpackLimits(ratio_from_bytes=16 * MEGABYTE)
    assert unpack(packed, limits=wide) == ({"": bytes(8 * MEGABYTE)}, [])


def test_bombs_in_archives_and_in_one_another_are_stopped() -> None:
    zeros = bytes(8 * MEGABYTE)
    for data in (zipped({"a": zeros}), gzip.compress(tar({"a": zeros})), gzip.compress(gzip.compress(zeros))):
        assert "200:1" in str(problem(data, "bomb", SMALL))
        assert "200:1" in str(problem(data, "bomb", SMALL, is_pipe=True))


def test_absolute_sizes_are_limits_whatever_the_ratio() -> None:
    noise = b"".join(bytes([number * 37 % 251]) * 3 for number in range(100_000))
    limits = UnpackLimits(max_artifact_bytes=200_000, chunk_bytes=50_000)
    assert "max_artifact_bytes" in str(problem(gzip.compress(noise), "x", limits))
    assert "max_artifact_bytes" in str(problem(zipped({"a": noise[:150_000], "b": noise[:150_000]}), "x", limits))
    assert unpack(noise, "x", limits=limits) == ({"": noise}, [])
    limits = UnpackLimits(max_member_bytes=100_000)
    assert "max_member_bytes" in str(problem(tar({"a": noise}), "x", limits))
    limits = UnpackLimits(max_members=5)
    assert "max_members" in str(problem(tar({str(number): b"" for number in range(6)}), "x", limits))


@pytest.mark.parametrize("kind", PACKERS)
def test_memory_is_bounded_by_the_chunk_and_not_by_the_artifact(kind: str) -> None:
    packed = PACKERS[kind](bytes(24 * MEGABYTE))
    limits = UnpackLimits(chunk_bytes=MEGABYTE, max_ratio=1_000_000)
    tracemalloc.start()
    size = sum(len(chunk) for member in Unpacking(io.BytesIO(packed), "x", limits=limits) for chunk in member.chunks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size == 24 * MEGABYTE
    assert peak < 14 * MEGABYTE  # xz has a dictionary of 8 MB


def test_a_window_that_needs_too_much_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=28)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    assert "memory" in str(problem(packer.compress(TEXT) + packer.flush()))
    packed = lzma.compress(TEXT, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 256 * MEGABYTE}])
    assert "memory" in str(problem(packed)).lower()


def test_chunks_have_the_size_asked_for() -> None:
    limits = UnpackLimits(chunk_bytes=1000)
    (sizes,) = [[len(chunk) for chunk in m.chunks()] for m in Unpacking(Pipe(TEXT, 300), "x", limits=limits)]  # type: ignore[arg-type]
    assert sizes == [1000] * (len(TEXT) // 1000) + [len(TEXT) % 1000]


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT)], ids=["plain", "gz"])  # a gz tells its time
@pytest.mark.parametrize("is_pipe", [False, True])
@pytest.mark.parametrize("start", [0, 1, 4000, len(TEXT)])
def test_reading_goes_on_at_any_decompressed_byte(data: bytes, is_pipe: bool, start: int) -> None:
    for is_seen in (False, True):
        seen: list[bytes] = []
        stream = Pipe(data) if is_pipe else io.BytesIO(data)
        for member in Unpacking(stream, "x"):  # type: ignore[arg-type]
            assert b"".join(member.chunks(start, seen.append if is_seen else None)) == TEXT[start:]
            assert member.opening == TEXT
        assert b"".join(seen) == (TEXT[:start] if is_seen else b"")


def test_a_plain_file_is_leapt_over_and_not_read() -> None:
    class Counting(io.BytesIO):
        count = 0

        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            self.count += len(data)
            return data

    stream = Counting(bytes(10 * MEGABYTE) + b"rest")
    (rest,) = [b"".join(member.chunks(10 * MEGABYTE)) for member in Unpacking(stream, "x")]
    assert rest == b"rest"
    assert stream.count < MEGABYTE


def test_an_artifact_that_has_become_shorter_is_an_error() -> None:
    for data in (TEXT, gzip.compress(TEXT)):
        member = next(iter(Unpacking(io.BytesIO(data), "x")))
        with pytest.raises(UnpackError, match="before the 99,999 bytes"):
            list(member.chunks(99_999))


def test_the_print_of_an_artifact_is_that_of_its_decompressed_bytes() -> None:
    spans = [(0, 0), (0, 10), (0, 1024), (100, len(TEXT)), (0, len(TEXT)), (0, len(TEXT) + 1)]
    for packer in PACKERS.values():
        for one in Unpacking(io.BytesIO(packer(TEXT)), "x"):
            assert fingerprints(one, spans) == fingerprints(Reader(io.BytesIO(TEXT).read, file="y"), spans)


def test_damage_behind_what_was_read_is_still_found() -> None:
    packed = bytearray(gzip.compress(TEXT * 20))
    packed[-6] ^= 1
    members = iter(Unpacking(io.BytesIO(bytes(packed)), "x", limits=UnpackLimits(chunk_bytes=100)))
    assert next(next(members).chunks()) == TEXT[:100]
    with pytest.raises(UnpackError, match=r"damaged after compressed byte .*: incorrect checksum found"):
        next(members)
