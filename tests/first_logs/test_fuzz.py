"""Damaged logs: `init` finds a table or says that it cannot, and never fails or hangs."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.infer.kind import kind_of
from tailpipe.infer.places import open_target
from tailpipe.infer.recognise import Recogniser
from tailpipe.infer.sample import Sample, UnusableError
from tailpipe.model.artifact import Artifact
from tailpipe.plugin import Registry
from tailpipe.plugins.core import plugin as core

LOGS = sorted((Path(__file__).parent / "corpus").iterdir())
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
REGISTRY = Registry([core])
Mutation = Callable[[random.Random, bytes], bytes]


def flipped(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 40)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(chance: random.Random, data: bytes) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[start:end]


def shuffled(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def mixed(chance: random.Random, data: bytes) -> bytes:
    lines = [*data.split(b"\n"), *chance.choice(LOGS).read_bytes().split(b"\n")]
    return b"\n".join(chance.sample(lines, len(lines)))


def repeated(chance: random.Random, data: bytes) -> bytes:
    piece = chance.choice((b"[", b"(", b'"', b"{", b" ", b":", b"|", b"=", b"\\", b"2026-", b"\xff", b"\x00", b"\r"))
    place = chance.randrange(len(data) + 1)
    return data[:place] + piece * chance.randint(1, 20_000) + data[place:]


MUTATIONS: tuple[Mutation, ...] = (flipped, cut, shuffled, mixed, repeated)


@pytest.mark.parametrize(
    "count", [8, pytest.param(200, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.soak)]
)
def test_a_damaged_log_has_a_table_or_a_reason(count: int) -> None:
    recogniser, source = (
        Recogniser(REGISTRY.tables, NOW),
        open_target(str(LOGS[0].parent), REGISTRY.sources, None).source,
    )
    for seed in range(count):
        chance = random.Random(seed)
        path = chance.choice(LOGS)
        data = chance.choice(MUTATIONS)(chance, path.read_bytes())
        if not data.strip():
            continue
        try:
            data.decode()
            encoding = "utf-8"
        except UnicodeDecodeError:
            encoding = "latin-1"
        sample = Sample(Artifact(f"/logs/{path.name}"), data, is_whole=True, encoding=encoding)
        try:
            kind = kind_of(sample, source, recogniser, REGISTRY.presets, "made", NOW)
        except UnusableError:
            continue
        assert kind.fit.kept <= kind.fit.read, seed
